"""Simulated coverage of intervals and rates of false verdicts: ``python -m experiments.judge.coverage``.

The results are written to ``coverage.json`` in the same folder, from which ``tables.py`` makes the table of
``docs/comparing.md``. Data are drawn again in each of 2,000 repeats; intervals and tests are computed by the functions
that pages use.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.judge.paired import paired_difference
from fairlab.metrics.bootstrap import FEWEST_ITEMS, RESAMPLES, expanded_interval, folded_interval
from fairlab.metrics.permutation_test import coin_draws, exceeding_p
from fairlab.record import Reading
from fairlab.reporting.tables.grouping import FEWEST_SEEDS, over_seeds

FILE = Path(__file__).with_name("coverage.json")
REPEATS = 2_000
ITEMS = (8, 30, 120)
Array = NDArray[np.float64]
SHAPES: dict[str, tuple[float, Callable[[np.random.Generator, tuple[int, ...]], Array]]] = {
    "normal": (0.0, lambda rng, size: rng.normal(size=size)),
    "absolute normal": (math.sqrt(2 / math.pi), lambda rng, size: np.abs(rng.normal(size=size))),
    "exponential": (1.0, lambda rng, size: rng.exponential(size=size)),
}


def simulate(repeats: int = REPEATS) -> list[dict[str, Any]]:
    """Run all simulations, and return one row per simulation with its description and the proportion of hits."""
    return [*means(repeats), *absolute_shares(repeats), *equivalence(repeats), *seeds(repeats), *paired(repeats)]


def row(kind: str, what: str, n: int, measure: str, hits: Array | None) -> dict[str, Any]:
    """Return a row of the record.

    Args:
        kind: Kind of statistic.
        what: Description of the simulated data.
        n: Number of items.
        measure: Name of the measured rate.
        hits: Whether each repeat is a hit; None if pages print no interval, which gives no proportion.
    """
    share = None if hits is None else round(float(np.mean(hits)), 4)
    return {"kind": kind, "what": what, "n": n, "measure": measure, "share": share}


def percentiles(values_RN: Array) -> tuple[Array, Array]:
    """Return the percentile intervals of the means of all repeats, with the same resampled items for each repeat."""
    n = values_RN.shape[1]
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n
    low, high = np.quantile(values_RN @ weights.T, [0.025, 0.975], axis=1)
    return low, high


def means(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the coverage of a mean's percentile interval, plain and widened for few items."""
    rng = np.random.default_rng(1)
    for name, (truth, draw) in SHAPES.items():
        for n in (*ITEMS[:1], 20, *ITEMS[1:]):
            values = draw(rng, (repeats, n))
            low, high = percentiles(values)
            yield row("mean", name, n, "coverage, percentiles", (low <= truth) & (truth <= high))
            found = np.array([expanded_interval(*one, n) for one in zip(values.mean(axis=1), low, high, strict=True)])
            covered = (found[:, 0] <= truth) & (truth <= found[:, 1])
            yield row("mean", name, n, "coverage, widened", covered if n >= FEWEST_ITEMS else None)


def absolute_shares(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield coverage and false positives for a mean of absolute distances from one half, over six proportions."""
    rng = np.random.default_rng(2)
    for n in ITEMS:
        weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=(RESAMPLES, 6)) / n
        null = coin_draws([np.zeros(n)] * 6)
        for truth in (0.0, 0.1, 0.25):
            values = (rng.random((repeats, 6, n)) < 0.5 + truth).astype(float)
            value = np.abs(values.mean(axis=2) - 0.5).mean(axis=1)
            draws = np.mean([np.abs(values[:, k] @ weights[:, k].T - 0.5) for k in range(6)], axis=0)
            low, high = np.quantile(draws, [0.025, 0.975], axis=1)
            p = np.array([exceeding_p(one, null) for one in value])
            found = np.array([folded_interval(*one) for one in zip(value, low, high, p, strict=True)])
            what = f"true distance {truth:g}"
            yield row("mean distance from even", what, n, "coverage, percentiles", (low <= truth) & (truth <= high))
            covered = (found[:, 0] <= truth) & (truth <= found[:, 1])
            yield row("mean distance from even", what, n, "coverage, corrected", covered if n >= FEWEST_ITEMS else None)
            if not truth:
                yield row("mean distance from even", what, n, "off by percentiles", low > 0)
                yield row("mean distance from even", what, n, "off by its test", p < 0.05)


def equivalence(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield how often a mean is declared equivalent to the ideal, for a true mean at the margin and at the ideal."""
    rng = np.random.default_rng(3)
    for n in ITEMS[1:]:
        for truth in (0.5, 0.0):
            values = rng.normal(size=(repeats, n)) + truth
            low, high = percentiles(values)
            found = np.array([expanded_interval(*one, n) for one in zip(values.mean(axis=1), low, high, strict=True)])
            even = (found[:, 0] > -0.5) & (found[:, 1] < 0.5)
            yield row("even within 0.5", f"true distance {truth:g}", n, "called even", even)


def seeds(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the coverage of a mean's interval over seeds and items, as on pages, or over only one of them."""
    rng = np.random.default_rng(4)
    for runs in (2, 3, 5, 8):
        for n in ITEMS[1:]:
            for deviation in (0.0, 0.1, 0.5):
                items = rng.normal(size=(repeats, 1, n)) + rng.normal(size=(repeats, runs, 1)) * deviation
                items = items + 0.3 * rng.normal(size=(repeats, runs, n))
                intervals = [percentiles(items[:, k]) for k in range(runs)]
                covered = []
                for k in range(repeats):
                    readings = [
                        Reading("x", "", "y", float(items[k, s].mean()), "", 0.0, n, float(low[k]), float(high[k]))
                        for s, (low, high) in enumerate(intervals)
                    ]
                    point = over_seeds(readings)
                    alone = point.over_seeds or (-math.inf, math.inf)
                    first = readings[0]
                    covered.append(
                        [
                            math.nan if runs < FEWEST_SEEDS else abs(point.value) <= (point.high - point.low) / 2,
                            alone[0] <= 0 <= alone[1],
                            first.low <= 0 <= first.high,
                        ]
                    )
                what = f"{runs} seeds, deviation {deviation:g}"
                measures = ("seeds and items", "seeds alone", "items of one seed")
                for measure, hits in zip(measures, np.array(covered).T, strict=True):
                    if measure != "seeds alone" or runs < 8:
                        found = None if np.isnan(hits).any() else hits
                        yield row("mean over seeds", what, n, f"coverage, {measure}", found)


def paired(repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the coverage and false positives of the paired comparison of two models without a true difference."""
    rng = np.random.default_rng(5)
    for n in ITEMS:
        found = [paired_difference(*rng.normal(size=(2, n))) for _ in range(repeats)]
        yield row("paired difference", "normal", n, "coverage", np.array([one.low <= 0 <= one.high for one in found]))
        yield row("paired difference", "normal", n, "false positives", np.array([one.p < 0.05 for one in found]))


if __name__ == "__main__":
    FILE.write_text(
        json.dumps({"repeats": REPEATS, "rows": simulate()}, separators=(",", ":")) + "\n", encoding="utf-8"
    )
