"""Table of methods by readings, with means over seeds and marks for significant differences.

On each reading, all pairs of methods are compared. The difference of two means varies with the measured items and with
the seeds of the runs, and the test includes both variances:

- over items: the variance of the difference over bootstrap draws that resample the same items for all runs;
- over seeds: the variance of the differences if the runs have the same seeds, otherwise the pooled variance of both
  methods.

With one seed each, the p-value comes from the paired bootstrap, as in the record of a single run. With more seeds, the
difference divided by the root of the summed variances is compared with Student's t-distribution, with degrees of
freedom by Welch and Satterthwaite. Runs without stored draws are compared only over seeds. The p-values of a reading
are adjusted over all pairs by Holm's method. Readings of different versions of a benchmark are not tested against each
other, and readings of an outdated version are marked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.versions import definition
from fairlab.checks.escapes import frame_of
from fairlab.metrics.bootstrap import two_sided_p
from fairlab.metrics.significance import ALPHA, adjust_tested
from fairlab.record import DATA, Reading, Record
from fairlab.reporting.collapse import collapsed_readings
from fairlab.reporting.headlines import too_few
from fairlab.reporting.tables.comparing import Place, Side, sides_of
from fairlab.reporting.tables.grouping import identity, settings_of
from fairlab.reporting.tables.marks import COLLAPSED, is_spoiled, marked, marks_of_runs
from fairlab.reporting.tables.naming import differing, distinct_names, model_called, overrides_text
from fairlab.reporting.tables.rendering import Printed, latex, markdown
from fairlab.types import FairlabError

if TYPE_CHECKING:  # pandas takes a second to import
    import pandas

NOTE = (
    "Mean ± standard deviation over seeds (number of seeds). Bold: the best, if it differs beyond chance from every "
    "other method, over items and seeds (p < 0.05, adjusted by Holm's method for all pairs of the column)."
)


@dataclass(frozen=True)
class Measured:
    """Reading of one method, with one value per seed.

    Attributes:
        values: Value by seed.
        draws: Bootstrap draws (2,000,) by seed, for the runs that stored them.
        reading: Reading of the first seed, which provides the unit, the ideal value and the number of items.
        versions: Versions of the benchmark with which the runs were measured.
        marks: Warnings shown with the value, for example that the method did not train, with the number of seeds that
            have them.
        few: Whether there are too few items for a verdict.
    """

    values: dict[int | None, float]
    draws: dict[int | None, NDArray[np.float64]]
    reading: Reading
    versions: frozenset[int] = frozenset({1})
    marks: tuple[str, ...] = ()
    few: bool = False

    @property
    def mean(self) -> float:
        """Return the mean over seeds."""
        return float(np.mean(list(self.values.values())))

    @property
    def deviation(self) -> float:
        """Return the standard deviation over seeds, or nan for a single seed."""
        return float(np.std(list(self.values.values()), ddof=1)) if len(self.values) > 1 else math.nan

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

    @property
    def text(self) -> str:
        """Return the mean, the deviation and the number of seeds, such as ``0.0312 ± 0.0021 (3)``, and the warnings.

        The deviation and the number are left out if there is one seed, or if all seeds have the same value.
        """
        seeds = f" ± {self.deviation:.2g} ({len(self.values)})" if len(set(self.values.values())) > 1 else ""
        return marked(f"{self.mean:.4g}{seeds}", self.marks)


@dataclass(frozen=True)
class MethodTable:
    """Table with methods or models in rows and readings in columns.

    Attributes:
        cells: Measured values by name of the method and by reading.
        p_values: Adjusted p-values of tests for equal distance to the ideal value, by reading and by pair of methods.
            Pairs that cannot be tested are left out.
        titles: Column heading of each reading.
    """

    cells: dict[str, dict[Place, Measured]]
    p_values: dict[Place, dict[tuple[str, str], float]]
    titles: dict[Place, str]

    def best(self, place: Place) -> str | None:
        """Return the significantly best method as :func:`best_method` does, or None.

        Methods that did not train, or whose gap fell only because their embeddings collapsed, are ignored.

        Args:
            place: Benchmark, subset and quantity of the reading.

        Raises:
            FairlabError: The table has no column ``place``.
        """
        self._refuse_unknown(place)
        having = {name: row[place] for name, row in self.cells.items() if place in row}
        having = {name: cell for name, cell in having.items() if not is_spoiled(cell.marks)}
        return best_method(having, self.p_values.get(place, {}))

    def p(self, place: Place, first: str, second: str) -> float:
        """Return the adjusted p-value of the test for no difference between two methods, or 1 if they were not tested.

        Raises:
            FairlabError: The table has no column ``place``, or no row for one of the methods.
        """
        self._refuse_unknown(place, first, second)
        return _p_of(self.p_values.get(place, {}), first, second)

    def _refuse_unknown(self, place: object, *methods: object) -> None:
        """Check that the table has a column for a reading and a row for each method.

        The arguments can have any type.

        Raises:
            FairlabError: The reading or a method is not in the table.
        """
        if place not in list(self.titles):
            raise FairlabError(
                f"the table has no reading {place!r}; name one by (benchmark, subset, quantity): "
                f"{', '.join(map(str, self.titles))}"
            )
        if unknown := [method for method in methods if method not in list(self.cells)]:
            raise FairlabError(f"the table has no method {unknown[0]!r}; there are: {', '.join(self.cells)}")

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per method and reading.

        The columns include the mean, the deviation, the numbers of seeds and items, the unit, the ideal value, and
        whether the method is the best one.
        """
        rows = [
            {
                "method": name,
                "benchmark": place[0],
                "subset": place[1],
                "quantity": place[2],
                "mean": cell.mean,
                "deviation": cell.deviation,
                "seeds": len(cell.values),
                "n": cell.reading.n,
                "unit": cell.reading.unit,
                "ideal": cell.reading.ideal,
                "best": self.best(place) == name,
            }
            for name, row in self.cells.items()
            for place, cell in row.items()
        ]
        return frame_of(rows)

    def to_markdown(self) -> str:
        """Return the table in GitHub Markdown, with an explanatory note."""
        return f"{markdown(self._header, self._rows)}\n\n{NOTE}"

    def to_latex(self, caption: str = "") -> str:
        """Return the table in LaTeX (booktabs package), with an explanatory note."""
        return latex(self._header, self._rows, caption=caption, note=NOTE)

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    @property
    def _header(self) -> list[str]:
        return ["", *self.titles.values()]

    @property
    def _rows(self) -> list[list[Printed]]:
        best = {place: self.best(place) for place in self.titles}
        return [
            [Printed(name), *(Printed(row[p].text, best[p] == name) if p in row else Printed("") for p in self.titles)]
            for name, row in self.cells.items()
        ]


def method_table(records: Sequence[Record], readings: Sequence[str] | None = None) -> MethodTable:
    """Return a table of methods by readings. Finished runs that differ only in their seed count as one method.

    Args:
        records: Records of runs.
        readings: Keys ``benchmark/subset/quantity`` of the columns, as in ``metrics.json`` but without the phase; None
            for all headline readings.

    Raises:
        FairlabError: No run is finished, or no run has one of the readings.
    """
    done = [record for record in records if record.status == "finished"]
    if not done:
        raise FairlabError(f"none of the {len(records)} runs has finished; let at least one finish")
    grouped: dict[tuple[str, ...], dict[int | None, Side]] = {}
    told: dict[tuple[str, ...], dict[str, str]] = {}
    for record, settings in zip(done, settings_of(done), strict=True):
        for side in sides_of(record):
            label = "" if side.phase == "after" else side.phase
            key = (label, *(f"{name}={value}" for name, value in sorted(identity(record).items())))
            grouped.setdefault(key, {})[record.config.get("seed")] = side
            told[key] = settings
    called = [model_called([side.record for side in by_seed.values()], key[0]) for key, by_seed in grouped.items()]
    distinct = distinct_names(called, differing(list(told.values()), called))
    fallbacks = [" ".join(filter(None, (key[0], overrides_text(told[key])))) or "model" for key in grouped]
    names = {key: name or other for key, name, other in zip(grouped, distinct, fallbacks, strict=True)}
    places = wanted([side for by_seed in grouped.values() for side in by_seed.values()], readings)
    cells = {names[key]: measured_row(by_seed, places) for key, by_seed in grouped.items()}
    tested = {place: pairwise({n: row[place] for n, row in cells.items() if place in row}) for place in places}
    return MethodTable(cells, tested, {place: "/".join(place) for place in places})


def wanted(sides: Sequence[Side], readings: Sequence[str] | None) -> list[Place]:
    """Return the readings that the table has columns for.

    Raises:
        FairlabError: No model has a requested reading, no model has a headline reading, or ``readings`` is not a list
            of texts.
    """
    if readings is not None and (isinstance(readings, str) or not _all_texts(readings)):
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


def _all_texts(values: object) -> bool:
    return isinstance(values, Sequence) and all(isinstance(one, str) for one in values)


def measured_row(by_seed: Mapping[int | None, Side], places: Sequence[Place]) -> dict[Place, Measured]:
    """Return the values of one method, by reading.

    Args:
        by_seed: Measured model of the run with each seed.
        places: Readings to return; readings that no run has are skipped.
    """
    row = {}
    for place in places:
        having = {seed: side for seed, side in by_seed.items() if place in side.readings}
        if having:
            readings = [side.readings[place] for side in having.values()]
            values = {seed: side.readings[place].value for seed, side in having.items()}
            draws = {seed: side.draws[place] for seed, side in having.items() if place in side.draws}
            versions = frozenset(map(definition, readings))
            found = [(side.record, side.readings[place]) for side in having.values()]
            collapsed = any(reading.key in collapsed_readings(record) for record, reading in found)
            marks = marks_of_runs(found) + (COLLAPSED,) * collapsed
            few = any(too_few(record, reading) for record, reading in found)
            row[place] = Measured(values, draws, readings[0], versions, marks, few)
    return row


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
        if the methods were measured with different versions of the benchmark.
    """
    if len(first.versions | second.versions) > 1:
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
