"""Permutation test of SEAT and WEAT, compared with a Python loop of shuffles.

The plain loop shuffles the pooled associations as a list, sums the first half and counts. fairlab (*ours*) calls
``weat_p_value``. Both sample 99,999 splits of 80 + 80 associations, the size of SEAT 6b. The loop samples a twentieth
of them, and its time is scaled up.

    python perf/seat_permutations.py [--repeats 5] [--write]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics

import numpy as np

from fairlab.metrics.permutation_test import SAMPLED_SPLITS, weat_p_value
from harness import interleaved_seconds, machine, results

RESULTS = results("seat_permutations")
TARGETS = 80  # number of associations per side
PART = 20


def loop(x: list[float], y: list[float], shuffles: int) -> float:
    """Compute the p-value with a loop of shuffles."""
    pooled, bound = x + y, sum(x)
    rng = random.Random(0)
    hits = 1
    for _ in range(shuffles):
        rng.shuffle(pooled)
        hits += sum(pooled[: len(x)]) >= bound
    return hits / (shuffles + 1)


def measure(repeats: int, shuffles: int = SAMPLED_SPLITS // PART) -> dict[str, object]:
    """Measure and return all figures of the script."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(0.2, 1, TARGETS), rng.normal(0, 1, TARGETS)
    p_values: dict[str, float] = {}
    ways = {
        "loop": lambda: p_values.update(loop=loop(list(x), list(y), shuffles)),
        "ours": lambda: p_values.update(ours=weat_p_value(x, y, np.random.default_rng(0))),
    }
    seconds = interleaved_seconds(ways, repeats)
    per_split = {
        name: [second / count for second in seconds[name]]
        for name, count in (("loop", shuffles), ("ours", SAMPLED_SPLITS))
    }
    ratios = [a / b for a, b in zip(per_split["loop"], per_split["ours"], strict=True)]
    return {
        "machine": machine(),
        "settings": {"targets": TARGETS, "splits": SAMPLED_SPLITS, "loop_splits": shuffles, "repeats": repeats},
        "p_values": p_values,
        "microseconds_per_split": {name: 1e6 * statistics.median(taken) for name, taken in per_split.items()},
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    settings, machine_, p = result["settings"], result["machine"], result["p_values"]
    cost = result["microseconds_per_split"]
    return "\n".join(
        [
            f"{machine_['processor']}, threads: {machine_['threads']}; {settings['targets']} + {settings['targets']} "
            f"targets, medians of {settings['repeats']} interleaved repeats. The loop uses fewer splits and gives "
            f"p = {p['loop']:.3f}; ours gives p = {p['ours']:.3f}.",
            "",
            "| implementation | µs per split | speedup |",
            "|---|---|---|",
            f"| Python loop of shuffles | {cost['loop']:.2f} | 1 |",
            f"| ours | {cost['ours']:.3f} | {result['ratio']:.0f} ({min(result['ratios']):.0f} to "
            f"{max(result['ratios']):.0f}) |",
        ]
    )


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    result = measure(arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
