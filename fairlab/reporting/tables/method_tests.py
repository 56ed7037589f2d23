"""Tests for differences between the methods of a table, over measured items and seeds.

On each reading, all pairs of methods are compared. The difference of two means varies with the measured items and with
the seeds of the runs, and the test includes both variances:

- over items: the variance of the difference over bootstrap draws that resample the same items for all runs;
- over seeds: the variance of the differences if the runs have the same seeds, otherwise the pooled variance of both
  methods.

With one seed each, the p-value comes from the paired bootstrap, as in the record of a single run. With more seeds, the
difference divided by the root of the summed variances is compared with Student's t-distribution, with degrees of
freedom by Welch and Satterthwaite. Runs without stored draws are compared only over seeds. The p-values of a reading
are adjusted over all pairs by Holm's method. Readings of different versions of a benchmark or of different data are not
tested against each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.versions import definition
from fairlab.metrics.bootstrap import two_sided_p
from fairlab.metrics.significance import ALPHA, adjust_tested
from fairlab.record import DATA, Reading, Record
from fairlab.reporting.headlines import too_few
from fairlab.reporting.tables.comparing import Place, Side, other_data, place_of
from fairlab.types import FairlabError


@dataclass(frozen=True)
class Measured:
    """Reading of one method, with one value per seed.

    Attributes:
        values: Value by seed.
        draws: Bootstrap draws (2,000,) by seed, for the runs that stored them.
        reading: Reading of the first seed, which provides the unit, the ideal value and the number of items.
        versions: Versions of the benchmark with which the runs were measured.
        few: Whether there are too few items for a verdict.
        record: Record of the first seed's run, whose data must be the same in all methods; None if it is unknown.
    """

    values: dict[int | None, float]
    draws: dict[int | None, NDArray[np.float64]]
    reading: Reading
    versions: frozenset[int] = frozenset({1})
    few: bool = False
    record: Record | None = None

    @property
    def mean(self) -> float:
        """Return the mean over seeds."""
        return float(np.mean(list(self.values.values())))

    def above(self) -> Measured:
        """Reflect values whose mean is below the ideal value to the other side of it.

        The means of two methods on either side of the ideal value can then be compared by their distance from it.
        """
        ideal = self.reading.ideal
        if ideal is None or self.mean >= ideal:
            return self
        values = {seed: 2 * ideal - value for seed, value in self.values.items()}
        return replace(self, values=values, draws={seed: 2 * ideal - drawn for seed, drawn in self.draws.items()})

    @property
    def distance(self) -> float:
        """Return the distance of the mean from the ideal value, or nan if there is no ideal value."""
        return math.nan if self.reading.ideal is None else abs(self.mean - self.reading.ideal)


def wanted(sides: Sequence[Side], readings: Sequence[str] | None) -> list[Place]:
    """Return the readings that the table has columns for.

    Raises:
        FairlabError: No model has a requested reading, no model has a headline reading, or ``readings`` is not a list
            of texts.
    """
    listed = isinstance(readings, Sequence) and not isinstance(readings, str)
    if readings is not None and not (listed and all(isinstance(one, str) for one in readings)):
        raise FairlabError(f"readings must be a list of texts such as cced/embedded/gap, not {readings!r}")
    known = {place: reading for side in sides for place, reading in side.readings.items() if reading.phase != DATA}
    if readings is None:
        found = [place for place, reading in known.items() if reading.headline]
        if not found:
            raise FairlabError("these runs have no headline reading; name the readings to show")
        return found
    by_name = {"/".join(place): place for place in known}
    if unknown := [name for name in readings if name not in by_name]:
        raise FairlabError(f"no run has the reading {unknown[0]}; there are: {', '.join(by_name)}")
    return [by_name[name] for name in readings]


def reading_of_method(sides: Sequence[Side], place: Place) -> Measured | None:
    """Return the reading of one method, or None if no run has it."""
    having = {side.record.config.get("seed"): side for side in sides if place in side.readings}
    if not having:
        return None
    readings = [side.readings[place] for side in having.values()]
    return Measured(
        {seed: side.readings[place].value for seed, side in having.items()},
        {seed: side.draws[place] for seed, side in having.items() if place in side.draws},
        readings[0],
        frozenset(map(definition, readings)),
        any(too_few(side.record, side.readings[place]) for side in having.values()),
        next(iter(having.values())).record,
    )


def pairwise(column: Mapping[str, Measured]) -> dict[tuple[str, str], float]:
    """Return Holm-adjusted p-values for every pair of methods that can be tested.

    The null hypothesis is that both methods have the same distance to the ideal value, or the same value if there is no
    ideal value.
    """
    return adjust_tested(
        {(a, b): difference_p(column[a].above(), column[b].above()) for a, b in combinations(column, 2)}
    )


def best_method(column: Mapping[str, Measured], p_values: Mapping[tuple[str, str], float]) -> str | None:
    """Return the method nearest to the ideal value if it differs significantly from every other method, or None.

    The result is None if any method has too few items, or exactly two distinct values over seeds.
    """
    if len(column) < 2 or any(math.isnan(cell.distance) for cell in column.values()):
        return None
    if any(cell.few or len(set(cell.values.values())) == 2 for cell in column.values()):
        return None  # for two seeds, no interval has the right coverage
    first = min(column, key=lambda name: column[name].distance)
    others = [other for other in column if other != first]
    return first if all(_p_of(p_values, first, other) < ALPHA for other in others) else None


def _p_of(p_values: Mapping[tuple[str, str], float], first: str, second: str) -> float:
    return p_values.get((first, second), p_values.get((second, first), 1.0))


def difference_p(first: Measured, second: Measured) -> float:
    """Return the two-sided p-value for the hypothesis that two methods have equal means, over items and seeds.

    Returns:
        P-value; nan if each method has one seed and there are no draws over the same items, if there is no variance, or
        if the methods were measured with different versions of the benchmark or on different data.
    """
    if len(first.versions | second.versions) > 1:
        return math.nan
    if first.record and second.record and other_data(first.record, second.record, place_of(first.reading)):
        return math.nan
    draws = _difference_draws(first, second)
    if len(first.values) == len(second.values) == 1:
        return two_sided_p(draws) if draws is not None else math.nan
    over_items = float(draws.var(ddof=1)) if draws is not None else 0.0
    over_seeds, freedom = _variance_over_seeds(first, second)
    variance = over_items + over_seeds
    if not variance > 0:
        return math.nan

    from scipy import stats  # takes a second to import

    spread = over_seeds**2 / freedom + over_items**2 / max(first.reading.n - 1, 1)
    t = (first.mean - second.mean) / math.sqrt(variance)
    return float(2 * stats.t.sf(abs(t), variance**2 / spread))


def _difference_draws(first: Measured, second: Measured) -> NDArray[np.float64] | None:
    """Return bootstrap draws (2,000,) of the difference between two means over seeds.

    The result is None if a run has no draws or the methods were measured on different numbers of items.
    """
    complete = len(first.draws) == len(first.values) and len(second.draws) == len(second.values)
    if not complete or first.reading.n != second.reading.n:
        return None
    found = np.mean(list(first.draws.values()), axis=0) - np.mean(list(second.draws.values()), axis=0)
    return np.asarray(found[~np.isnan(found)], dtype=np.float64)


def _variance_over_seeds(first: Measured, second: Measured) -> tuple[float, int]:
    """Return the variance over seeds of the difference between two means, and its degrees of freedom."""
    a, b = (np.array(list(one.values.values())) for one in (first, second))
    if first.values.keys() == second.values.keys():
        differences = np.array([first.values[seed] - second.values[seed] for seed in first.values])
        return float(differences.var(ddof=1)) / len(differences), len(differences) - 1
    freedom = len(a) + len(b) - 2
    pooled = (((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()) / freedom
    return float(pooled) * (1 / len(a) + 1 / len(b)), freedom
