"""Generation of 30-character continuations in batches, compared with ``generate`` for one context at a time.

The plain way is greedy ``generate`` of transformers with its cache for a single context, which stops after 30
characters. fairlab (*ours*) calls ``continuations``. Contexts are sampled from StereoSet. The model is
SmolLM2-135M-Instruct.

    python perf/continuations.py [--contexts 64] [--repeats 3] [--write]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from pathlib import Path

import torch
from omegaconf import OmegaConf
from transformers import StoppingCriteriaList

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.continuations import continuations
from fairlab.backbones.loading import load_backbone
from fairlab.data.published.download import locate
from fairlab.data.published.stereoset import read_stereoset
from harness import interleaved_seconds, machine, results

RESULTS = results("continuations")
CONF = Path(__file__).parents[1] / "conf" / "backbone" / "smollm2.yaml"
CHARACTERS = 30


def load() -> Backbone:
    """Load the model as configured in ``conf/backbone``."""
    return load_backbone(**{key: value for key, value in OmegaConf.load(CONF).items() if key != "_target_"})


def drawn_contexts(count: int) -> list[str]:
    """Sample contexts from StereoSet's intersentence task."""
    examples = read_stereoset(locate("stereoset/stereoset.json"))
    return random.Random(0).sample([example.context for example in examples if example.task == "intersentence"], count)


def plain(backbone: Backbone, contexts: list[str], start_id: int) -> list[str]:
    """Generate the continuations with one call per context."""
    tokenizer, found = backbone.tokenizer, []
    for context in contexts:
        ids = [start_id, *tokenizer.encode(context, add_special_tokens=False)]
        given = len(tokenizer.decode(ids, skip_special_tokens=True))

        def enough(input_ids: torch.Tensor, scores: object, given: int = given, **_: object) -> torch.Tensor:
            text = tokenizer.decode(input_ids[0], skip_special_tokens=True)[given:]
            return torch.tensor([len(text.rstrip("\N{REPLACEMENT CHARACTER}")) >= CHARACTERS])

        made = backbone.model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids)),
            do_sample=False,
            max_length=backbone.max_length,
            eos_token_id=[start_id, tokenizer.eos_token_id],
            pad_token_id=start_id,
            stopping_criteria=StoppingCriteriaList([enough]),
        )
        found.append(tokenizer.decode(made[0], skip_special_tokens=True)[given:][:CHARACTERS])
    return found


def measure(backbone: Backbone, count: int, repeats: int) -> dict[str, object]:
    """Measure and return all figures of the script."""
    scorer, contexts = CausalLM(backbone), drawn_contexts(count)
    results: dict[str, list[str]] = {}
    ways = {
        "plain": lambda: results.update(plain=plain(backbone, contexts, scorer.start_id)),
        "ours": lambda: results.update(ours=continuations(scorer, contexts, characters=CHARACTERS)),
    }
    seconds = interleaved_seconds(ways, repeats)
    same = sum(a == b for a, b in zip(results["plain"], results["ours"], strict=True))
    ratios = [a / b for a, b in zip(seconds["plain"], seconds["ours"], strict=True)]
    return {
        "machine": machine(),
        "settings": {"contexts": count, "characters": CHARACTERS, "repeats": repeats},
        "plain_per_second": count / statistics.median(seconds["plain"]),
        "ours_per_second": count / statistics.median(seconds["ours"]),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "same": same,
    }


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    machine_, settings = result["machine"], result["settings"]
    return "\n".join(
        [
            f"{machine_['processor']}, threads: {machine_['threads']}, torch {machine_['torch']}, transformers "
            f"{machine_['transformers']}; SmolLM2-135M-Instruct in float32, {settings['contexts']} contexts, medians "
            f"of {settings['repeats']} interleaved repeats.",
            "",
            "| implementation | contexts/s | speedup | contexts with the same text |",
            "|---|---|---|---|",
            f"| plain | {result['plain_per_second']:.2f} | 1.0 | |",
            f"| ours | {result['ours_per_second']:.2f} | {result['ratio']:.1f} ({min(result['ratios']):.1f} to "
            f"{max(result['ratios']):.1f}) | {result['same']} of {settings['contexts']} |",
        ]
    )


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contexts", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    result = measure(load(), arguments.contexts, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
