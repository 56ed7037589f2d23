"""Simulation of whole audits: the conclusion about fair classifiers, and the intervals of planted gaps.

    python -m experiments.audit.whole [--count 1000]

Each simulation draws labelled texts of two regions, rewritten texts, controls, and a classifier's probabilities for
them. It passes them to :class:`fairlab.audit.measuring.Audit` and :func:`fairlab.audit.answer.answer_of`, including all
tests of an audit, Holm's adjustment and the answer. A *fair* classifier's probabilities change as much with people as
with other words, and its error rates are equal in both regions. An *unstable* classifier's probabilities change a lot,
and in every second simulation they change in one direction for controls, as with a synonym that the classifier does not
know. A *biased* classifier shifts the probability for women and has another false-positive rate in the south. The
proportions are written to ``whole.json``.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from experiments.audit.simulate import save_shares
from fairlab.audit.answer import answer_of
from fairlab.audit.any_classifier import AnyClassifier
from fairlab.audit.data import LabelledRows
from fairlab.audit.measuring import Audit
from fairlab.audit.pairs import Pair, Pairs
from fairlab.record import Reading

FILE = Path(__file__).with_name("whole.json")
TEXTS = (150, 400)  # minimum and maximum number of labelled texts in an audit
ERRORS = 0.2  # error rate without a planted gap
ATTRIBUTES, REGIONS = ("man", "woman"), ("north", "south")


def audited(
    rng: np.random.Generator, noise: float, *, drift: float = 0.0, shift: float = 0.0, gap: float = 0.0
) -> list[Reading]:
    """Simulate one audit, and return its readings.

    Args:
        rng: Source of random numbers.
        noise: Standard deviation of the change in the probability that any change of words causes.
        drift: Mean change in the probability of controls of men's texts, which is not caused by people.
        shift: Planted change in the probability from man to woman.
        gap: Planted difference in the false-positive rate between the two regions.
    """
    n = int(rng.integers(*TEXTS))
    truth, region, women = (rng.random(n) < share for share in (0.5, 0.5, rng.uniform(0.2, 0.8)))
    wrong = rng.random(n) < ERRORS + gap * (region & ~truth)
    probabilities = np.where(truth ^ wrong, 0.5, 0.3) + rng.uniform(0, 0.2, n)
    turned = probabilities + shift * np.where(women, -1, 1) + rng.normal(0, noise, n)
    control = probabilities + drift * ~women + rng.normal(0, noise, n)
    names = [str(k) for k in range(n)]
    sides = [[f"{name}{side}" for name in names] for side in ("", " turned", " control")]
    texts = zip(*([[text] for text in side] for side in sides), strict=True)
    pairs = [
        Pair(k, "gender", ATTRIBUTES[int(woman)], ATTRIBUTES[1 - int(woman)], before, after, other, 1, 1)
        for k, (woman, (before, after, other)) in enumerate(zip(women, texts, strict=True))
    ]
    values = np.clip(np.concatenate([probabilities, turned, control]), 0, 1).tolist()
    known = dict(zip(chain(*sides), values, strict=True))
    model = AnyClassifier("simulated", lambda texts: [known[text] for (text,) in texts])
    rows = LabelledRows(
        names, [[name] for name in names], truth.astype(float), ("0", "1"), "one", {"region": _named(region)}
    )
    of_axis = Pairs("gender", ATTRIBUTES, pairs, n, n, {}, "")
    return Audit(rows, [of_axis]).measure(SimpleNamespace(model=model)).readings


def _named(region: NDArray[np.bool_]) -> list[str]:
    return [REGIONS[int(south)] for south in region]


def called_biased(readings: Sequence[Reading]) -> bool:
    """Return whether the answer says that people are not treated alike."""
    return answer_of(readings).sentence.startswith("No, ")


def _holds(readings: Sequence[Reading], quantity: str, planted: float) -> bool:
    (found,) = (one for one in readings if one.quantity == quantity and one.n and "label" not in one.subset)
    return found.low <= planted <= found.high


def simulated(rng: np.random.Generator, k: int) -> dict[str, bool]:
    """Simulate audits of a fair, an unstable and a biased classifier, and return the outcomes by name."""
    fair = audited(rng, rng.uniform(0.0, 0.05))
    unstable = audited(rng, rng.uniform(0.15, 0.45), drift=0.1 * (k % 2))
    shift, gap = rng.uniform(0.05, 0.15), rng.uniform(0.1, 0.4)
    biased = audited(rng, rng.uniform(0.02, 0.05), shift=shift, gap=gap)
    return {
        "fair": called_biased(fair),
        "unstable": called_biased(unstable),
        "biased": called_biased(biased),
        "coverage_shift": _holds(biased, "shift", 100 * shift),
        "coverage_gap": _holds(biased, "false_positive_rate_gap", 100 * gap),
    }


def main() -> None:
    """Simulate, then write and print the proportions with their intervals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="simulations of each kind")
    count = parser.parse_args().count
    rng = np.random.default_rng(0)
    hits = Counter[str]()
    for k in range(count):
        hits.update(simulated(rng, k))
    save_shares(hits, count, FILE)


if __name__ == "__main__":
    main()
