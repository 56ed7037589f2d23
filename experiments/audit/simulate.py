"""Simulation of audit statistics: coverage of the interval of a planted excess, and false positives.

    python -m experiments.audit.simulate [--count 1000]

Each simulation draws changed predictions of pairs and controls, and a checked sheet of 100 pairs, and passes them to
:func:`fairlab.audit.excess.excess_of`. Every second *biased* classifier reacts to a cue that is not in the lexicon, so
its bias appears only in the sheet, and in no rule-based rewrite. A *fair* classifier changes predictions at random, in
few texts, and an *unstable* one in many texts. Wrong rewrites leave people unchanged. The proportions are written to
``simulated.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from fairlab.audit.excess import Corrections, Excess, excess_of
from fairlab.metrics.significance import wilson_interval

FILE = Path(__file__).with_name("simulated.json")
PAIRS = (150, 1000)  # minimum and maximum number of pairs in an audit
SHEET = 100
WRONG = 0.05  # proportion of rewrites that leave the person unchanged


def simulated(rng: np.random.Generator, bias: float, noise: float, *, listed: bool, sheet: bool) -> Excess:
    """Simulate an audit, and return the excess that it finds.

    Args:
        rng: Source of random numbers.
        bias: Proportion of texts whose prediction depends on the person's attribute.
        noise: Proportion of texts whose prediction changes with any change of words.
        listed: Whether the lexicon contains the cue that the classifier reacts to.
        sheet: Whether the excess is corrected by a sheet.
    """
    n = int(rng.integers(*PAIRS))
    reacts, wrong = rng.random(n) < bias, rng.random(n) < WRONG
    missed = wrong | (reacts if not listed else False)
    by_rules, by_person, control = (rng.random(n) < noise for _ in range(3))
    changed = by_rules | (reacts & ~missed)
    truly = np.where(missed, by_person | reacts, changed)
    if not sheet:
        return excess_of(changed, control)
    read = rng.permutation(n)[:SHEET]
    more, fewer = (truly & ~changed)[read], (changed & ~truly)[read]
    return excess_of(changed, control, Corrections(len(read), int(more.sum()), int(fewer.sum())))


def coverage(rng: np.random.Generator, k: int) -> bool:
    """Return whether the interval for a biased classifier contains the planted excess.

    For odd ``k``, the lexicon does not contain the cue that the classifier reacts to.
    """
    bias, noise = rng.uniform(0.05, 0.3), rng.uniform(0.01, 0.1)
    found = simulated(rng, bias, noise, listed=k % 2 == 0, sheet=True)
    return found.low <= bias * (1 - noise) <= found.high


def called_biased(rng: np.random.Generator, k: int, low: float, high: float) -> bool:
    """Return whether a fair classifier is called biased.

    The excess is corrected by a sheet for even ``k``.

    Args:
        rng: Source of random numbers.
        k: Number of the simulation.
        low: Lower bound of the proportion of random changes.
        high: Upper bound of the proportion of random changes.
    """
    found = simulated(rng, 0.0, rng.uniform(low, high), listed=True, sheet=k % 2 == 0)
    return found.p < 0.05 and found.value > 0


KINDS: dict[str, Callable[[np.random.Generator, int], bool]] = {
    "coverage_listed": lambda rng, k: coverage(rng, 2 * k),
    "coverage_unlisted": lambda rng, k: coverage(rng, 2 * k + 1),
    "coverage": coverage,
    "fair_called_biased": lambda rng, k: called_biased(rng, k, 0.0, 0.05),
    "unstable_called_biased": lambda rng, k: called_biased(rng, k, 0.15, 0.45),
}


def main() -> None:
    """Simulate, then write and print the proportions with their intervals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="simulations of each kind")
    count = parser.parse_args().count
    hits = {}
    for seed, (name, holds) in enumerate(KINDS.items()):
        rng = np.random.default_rng(seed)
        hits[name] = sum(holds(rng, k) for k in range(count))
    save_shares(hits, count, FILE)


def save_shares(hits: Mapping[str, int], count: int, file: Path) -> None:
    """Write and print the proportion of simulations with a positive outcome, with its interval, by kind."""
    found = {}
    for name, hit in hits.items():
        low, high = wilson_interval(hit, count)
        found[name] = {"share": hit / count, "low": round(low, 4), "high": round(high, 4), "simulations": count}
        print(name, found[name])
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
