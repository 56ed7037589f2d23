"""CrowS-Pairs and StereoSet on a masked language model, compared with one forward pass per masked token.

The plain way masks each scored token in a separate copy of the text, runs the copy on its own, and computes the
log-softmax over the whole vocabulary. fairlab (*ours*) runs the code of the benchmarks: CrowS-Pairs with the protocol
``nangia`` before rounding, and StereoSet's intrasentence task with ``nadeem``. Items are sampled from the published
datasets. The model is ``minilm_mlm``.

    python perf/likelihoods.py [--pairs 60] [--examples 120] [--repeats 3] [--write]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from omegaconf import OmegaConf
from torch.utils.flop_counter import FlopCounterMode

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.loading import load_backbone
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.benchmarks.crows_pairs import NANGIA, positions_to_score
from fairlab.benchmarks.stereoset import INTRA, word_probabilities
from fairlab.data.published.crows_pairs import CrowsPair, read_crows_pairs
from fairlab.data.published.download import locate
from fairlab.data.published.stereoset import BLANK, StereoSetItem, read_stereoset
from harness import interleaved_seconds, machine, matmul_peak, results

RESULTS = results("likelihoods")
CONF = Path(__file__).parents[1] / "conf" / "backbone"
TOLERANCE = 1e-4  # nats
TASKS = {"crows_pairs": "CrowS-Pairs", "stereoset": "StereoSet, intrasentence"}


def load(name: str = "minilm_mlm") -> Backbone:
    """Load a model as configured in ``conf/backbone``."""
    found = OmegaConf.merge(OmegaConf.load(CONF / "minilm.yaml"), OmegaConf.load(CONF / f"{name}.yaml"))
    return load_backbone(**{key: value for key, value in found.items() if key not in ("_target_", "defaults")})


def drawn_pairs(count: int) -> list[CrowsPair]:
    """Sample pairs from CrowS-Pairs."""
    return random.Random(0).sample(read_crows_pairs(locate("crows_pairs/crows_pairs_anonymized.csv")), count)


def drawn_examples(count: int) -> list[StereoSetItem]:
    """Sample examples from StereoSet's intrasentence task."""
    examples = read_stereoset(locate("stereoset/stereoset.json"))
    return random.Random(0).sample([example for example in examples if example.task == INTRA], count)


@torch.no_grad()
def log_probability(backbone: Backbone, token_ids: list[int], position: int, target: int) -> float:
    """Return the log-probability of one token in a masked copy of a text."""
    logits = backbone.model(input_ids=torch.tensor([token_ids])).logits[0, position]
    return torch.log_softmax(logits, dim=-1)[target].item()


def shared_tokens(backbone: Backbone, pairs: list[CrowsPair]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the token ids of the sentences, and the positions that CrowS-Pairs scores in each sentence."""
    token_ids = backbone.tokenize(text.lower() for pair in pairs for text in (pair.more, pair.less))
    positions = []
    for pair, more, less in zip(pairs, token_ids[::2], token_ids[1::2], strict=True):
        positions += positions_to_score(NANGIA, more, less, pair.stereotype)
    return token_ids, positions


def plain_sentences(backbone: Backbone, pairs: list[CrowsPair]) -> list[float]:
    """Compute the pseudo-log-likelihood of each sentence's shared tokens with one pass per token."""
    mask, found = backbone.tokenizer.mask_token_id, []
    for ids, positions in zip(*shared_tokens(backbone, pairs), strict=True):
        copies = [([*ids[:k], mask, *ids[k + 1 :]], k, ids[k]) for k in positions]
        found.append(sum(log_probability(backbone, *copy) for copy in copies))
    return found


def our_sentences(scorer: MaskedLM, pairs: list[CrowsPair]) -> list[float]:
    """Compute the pseudo-log-likelihood of each sentence's shared tokens with fairlab."""
    return scorer.pseudo_log_likelihoods(*shared_tokens(scorer.backbone, pairs)).sums.tolist()


def plain_words(backbone: Backbone, examples: list[StereoSetItem]) -> list[float]:
    """Compute the log of the mean subword probability of each candidate word with one pass per subword.

    Each subword is predicted from the sentence and the preceding subwords.
    """
    tokenizer, found = backbone.tokenizer, []
    for example in examples:
        for word in example.words:
            pieces = tokenizer.encode(word, add_special_tokens=False)
            logs = []
            for k, piece in enumerate(pieces):
                filled = example.context.replace(BLANK, tokenizer.decode(pieces[:k]) + tokenizer.mask_token)
                ids = tokenizer.encode(filled)
                logs.append(log_probability(backbone, ids, ids.index(tokenizer.mask_token_id), piece))
            found.append(math.log(statistics.mean(map(math.exp, logs))))
    return found


def our_words(scorer: MaskedLM, examples: list[StereoSetItem]) -> list[float]:
    """Compute the log of the mean subword probability of each candidate word with fairlab."""
    return np.log(word_probabilities(scorer, examples, blank=False)).ravel().tolist()


def measure(backbone: Backbone, pairs: int, examples: int, repeats: int) -> dict[str, object]:
    """Measure and return all figures of the script.

    Raises:
        AssertionError: The results of the two ways differ by more than ``TOLERANCE``.
    """
    scorer = MaskedLM(backbone)
    items = {"crows_pairs": drawn_pairs(pairs), "stereoset": drawn_examples(examples)}
    ways = {
        ("crows_pairs", "plain"): lambda: plain_sentences(backbone, items["crows_pairs"]),
        ("crows_pairs", "ours"): lambda: our_sentences(scorer, items["crows_pairs"]),
        ("stereoset", "plain"): lambda: plain_words(backbone, items["stereoset"]),
        ("stereoset", "ours"): lambda: our_words(scorer, items["stereoset"]),
    }
    results: dict[tuple[str, str], list[float]] = {}
    peak = matmul_peak(torch.float32)
    seconds = interleaved_seconds(
        {name: lambda name=name, way=way: results.update({name: way()}) for name, way in ways.items()}, repeats
    )
    tasks = {}
    for task, chosen in items.items():
        plain, ours = seconds[task, "plain"], seconds[task, "ours"]
        difference = np.abs(np.subtract(results[task, "plain"], results[task, "ours"])).max()
        assert difference <= TOLERANCE, f"{task}: the two ways differ by {difference}"
        flops = {way: flops_of(ways[task, way]) for way in ("plain", "ours")}
        ratios = [a / b for a, b in zip(plain, ours, strict=True)]
        tasks[task] = {
            "items": len(chosen),
            "plain_per_second": len(chosen) / statistics.median(plain),
            "ours_per_second": len(chosen) / statistics.median(ours),
            "ratio": statistics.median(ratios),
            "ratios": ratios,
            "largest_difference": float(difference),
            "flops": flops,
            "share_of_peak": flops["ours"] / statistics.median(ours) / peak,
        }
    return {"machine": machine() | {"matmul_peak": peak}, "settings": {"repeats": repeats}, "tasks": tasks}


def flops_of(way: Callable[[], object]) -> int:
    """Return the FLOPs of all matrix products in one call, including attention."""
    with FlopCounterMode(display=False) as counter:
        way()
    return int(counter.get_total_flops())


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    machine_ = result["machine"]
    lines = [
        f"{machine_['processor']}, threads: {machine_['threads']}, torch {machine_['torch']}, transformers "
        f"{machine_['transformers']}; `minilm_mlm` (6 layers of width 384), medians of {result['settings']['repeats']} "
        f"interleaved repeats; measured matmul peak {machine_['matmul_peak'] / 1e9:.0f} GFLOP/s.",
        "",
        "| benchmark | items | plain, items/s | ours, items/s | speedup | reduction of FLOP | share of peak, ours "
        "| largest difference, nats |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for task, row in result["tasks"].items():
        lines.append(
            f"| {TASKS[task]} | {row['items']} | {row['plain_per_second']:.2f} | {row['ours_per_second']:.2f} | "
            f"{row['ratio']:.1f} ({min(row['ratios']):.1f} to {max(row['ratios']):.1f}) | "
            f"{row['flops']['plain'] / row['flops']['ours']:.1f} | {row['share_of_peak']:.0%} | "
            f"{row['largest_difference']:.1e} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--examples", type=int, default=120)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    result = measure(load(), arguments.pairs, arguments.examples, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
