"""Table of runs for a paper, with short names, a baseline row, fixed decimals and marks for significant differences.

Daggers mark significant differences between a trained model and the model before training, over seeds and over the
items on which both were measured. The test divides the mean difference by the root of the sum of its variance over
seeds and its variance over items, which is derived from the intervals of the paired differences in the records. With
one seed, or seeds with equal results, the p-value comes from the paired bootstrap. The p-values of a column are
adjusted by Holm's method.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairlab.checks.escapes import frame_of
from fairlab.checks.progress import with_progress
from fairlab.metrics.bootstrap import Z
from fairlab.metrics.significance import ALPHA, adjust_tested
from fairlab.record import Comparison, Reading, Record
from fairlab.reporting.collapse import collapsed_readings
from fairlab.reporting.exports.measured_model import model_given
from fairlab.reporting.headlines import title
from fairlab.reporting.tables.comparing import CHANGE, Place, Side, place_of, sides_of
from fairlab.reporting.tables.grouping import FEW_ITEMS, TWO_SEEDS, Point, identity, point_over, settings_of
from fairlab.reporting.tables.marks import COLLAPSED, marks_beside
from fairlab.reporting.tables.method_tests import best_method, pairwise, reading_of_method, wanted
from fairlab.reporting.tables.naming import distinct_names, model_called
from fairlab.reporting.tables.rendering import Printed, latex, markdown
from fairlab.reporting.tables.tool_records import results_file
from fairlab.types import FairlabError

if TYPE_CHECKING:  # pandas takes a second to import
    import pandas

Spread = Literal["interval", "deviation", "none"]
SPREADS = {
    "interval": "In brackets: 95 % intervals over items and seeds.",
    "deviation": "±: standard deviation over seeds.",
    "none": "",
}
STRONG = 0.01  # p-value below which a double dagger is printed
UNSAID = ("default", "none", "None", "")  # setting values that are left out of names
SHORT = re.compile(r"\(([^()]+)\)$")  # short name at the end of a method's title
SMALL = 0.1  # value below which a column has three significant digits instead of three decimals
LONGEST = 60  # maximum length of the settings added to equal names; if they are longer, folders are added
MOST = {"interval": 3, "deviation": 4, "none": 5}  # maximum number of readings per table; further ones are split off


@dataclass
class PaperRow:
    """Row of the table: one method with its runs.

    Attributes:
        name: Short name of the method.
        sides: Model of the method in each run.
        readings: Readings of each run, by benchmark, subset and quantity.
        changes: Changes during training in each run, by benchmark, subset and quantity.
    """

    name: str
    sides: list[Side]
    readings: dict[Place, list[Reading]] = field(default_factory=dict)
    changes: dict[Place, list[Comparison]] = field(default_factory=dict)

    def point(self, place: Place) -> Point | None:
        """Return the average of a reading over the runs, with interval and warnings, or None if no run has it."""
        return point_over([(side.record, side.readings[place]) for side in self.sides if place in side.readings])

    def judged(self, place: Place) -> bool:
        """Return whether the row has a reading with enough items for a verdict."""
        point = self.point(place)
        return point is not None and FEW_ITEMS not in point.marks

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Return the warnings on the row's readings. They are computed once, when all readings are set."""
        found = {
            mark: None
            for place in self.readings
            for side in self.sides
            if place in side.readings
            for mark in [
                *marks_beside(side.record, side.readings[place]),
                *[COLLAPSED] * (side.readings[place].key in collapsed_readings(side.record)),
            ]
        }
        return tuple(found)


@dataclass(frozen=True)
class PaperTable:
    """Table for a paper, with methods in rows and readings in columns.

    Attributes:
        rows: Rows in the order of the runs, after the baseline.
        places: Reading of each column.
        best: Name of the row that is significantly better than all others, by reading. Readings without such a row are
            left out.
        pairs: Adjusted p-values of the differences between rows, by reading and names of two rows. Pairs that cannot
            be tested are left out.
        p_values: Adjusted p-value of the change from the baseline, by name of the row and reading.
        spread: Statistic printed next to each mean.
        decimals: Number of decimals. None for two decimals if values reach 10, three if they reach 0.1, and three
            significant digits otherwise.
    """

    rows: Sequence[PaperRow]
    places: Sequence[Place]
    best: Mapping[Place, str]
    pairs: Mapping[Place, Mapping[tuple[str, str], float]]
    p_values: Mapping[tuple[str, Place], float]
    spread: Spread
    decimals: int | None

    @property
    def caption(self) -> str:
        """Return a caption that states the items, the seeds, the tests and the adjustment."""
        seeds = sorted({len(row.sides) for row in self.rows if row.changes or len(self.rows) == 1} or {1})
        runs = f"{seeds[0]} seed{'s' * (seeds[0] > 1)}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
        items = "; ".join(f"{title(self._first(place))}, n = {self._first(place).n:,}" for place in self.places)
        single = all(len(row.sides) == 1 for row in self.rows)
        said = [items[:1].upper() + items[1:] + "." if single else f"Means over {runs} of {items}."]
        said.append(SPREADS[self.spread].replace(" and seeds", "") if single else SPREADS[self.spread])
        said += ["One seed."] if single and any(any(row.changes.values()) for row in self.rows) else []
        if self.p_values:
            said.append(
                "†, ‡: changed from the first row beyond chance, p < .05 and p < .01, paired by item and over seeds, "
                "adjusted by Holm's method for all rows of a column."
            )
        if any(self.best.values()):
            said.append("Bold: the best, if it differs beyond chance from every other (adjusted for all pairs).")
        spoiled = {row.name: row.marks for row in self.rows if row.marks}
        said += [f"{name}: {'; '.join(marks)}." for name, marks in spoiled.items()]
        return " ".join(filter(None, said))

    def to_latex(self, caption: str = "") -> str:
        """Return the table in LaTeX (booktabs package). Many readings are split into several tables.

        A given caption replaces :attr:`caption`.
        """
        most = MOST[self.spread]
        made = []
        for part in (self.places[k : k + most] for k in range(0, len(self.places), most)):
            named = map(self._first, part)
            header = ["", *(" ".join(filter(None, (title(one), _direction(one)))) for one in named)]
            said = caption or replace(self, places=part).caption
            made.append(latex(header, self._cells(part), caption=said, width=16))
        return "\n\n".join(made)

    def to_markdown(self) -> str:
        """Return the table in GitHub Markdown, with its caption."""
        header = ["", *(title(self._first(place)) for place in self.places)]
        return f"{markdown(header, self._cells(self.places))}\n\n{self.caption}"

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per method and reading: the mean with its interval, its spread and its tests."""
        found = [(row, place, row.point(place)) for row in self.rows for place in self.places]
        columns = [
            {
                "method": row.name,
                **dict(zip(("benchmark", "subset", "quantity"), place, strict=True)),
                "mean": point.value,
                "low": point.low,
                "high": point.high,
                "deviation": float(np.std([one.value for one in readings], ddof=1)) if len(readings) > 1 else math.nan,
                "seeds": len(readings),
                "n": readings[0].n,
                "unit": readings[0].unit,
                "ideal": point.ideal,
                "best": self.best.get(place) == row.name,
                "p_change": self.p_values.get((row.name, place), math.nan),
            }
            for row, place, point in found
            if point is not None and (readings := row.readings[place])
        ]
        return frame_of(columns)

    def _first(self, place: Place) -> Reading:
        return next(row.readings[place][0] for row in self.rows if place in row.readings)

    def _cells(self, places: Sequence[Place]) -> list[list[Printed]]:
        return [
            [
                Printed(row.name),
                *(Printed(self._cell_text(row, place), self.best.get(place) == row.name) for place in places),
            ]
            for row in self.rows
        ]

    def _cell_text(self, row: PaperRow, place: Place) -> str:
        point = row.point(place)
        if point is None:
            return "–"
        values = [reading.value for reading in row.readings[place]]
        digits = self._digits(place)
        text = f"{point.value:.{digits}f}"
        if self.spread == "interval":
            bounds = f"[{point.low:.{digits}f}, {point.high:.{digits}f}]"
            text += f" {bounds}" if point.interval else " (two seeds)" if TWO_SEEDS in point.marks else " (few items)"
        elif self.spread == "deviation" and point.n > 1:
            text += f" ± {np.std(values, ddof=1):.{digits}f}"
        p = self.p_values.get((row.name, place), 1.0)
        return text + ("‡" if p < STRONG else "†" if p < ALPHA else "")

    def _digits(self, place: Place) -> int:
        if self.decimals is not None:
            return self.decimals
        largest = max(abs(r.value) for row in self.rows for r in row.readings.get(place, []))
        if largest >= 10:
            return 2
        return 3 if largest >= SMALL or not largest else min(2 - math.floor(math.log10(largest)), 9)


def paper_table(
    records: Sequence[Record],
    readings: Sequence[str] | None = None,
    *,
    baseline: bool = True,
    spread: Spread = "interval",
    decimals: int | None = None,
    progress: str = "",
) -> PaperTable:
    """Return a table of finished runs. Runs that differ only in their seed share a row.

    Args:
        records: Records of runs.
        readings: Keys ``benchmark/subset/quantity`` of the columns; None for all headline readings.
        baseline: Whether to add the model before training as the first row, and to mark significant changes from it.
        spread: Statistic printed next to each mean: ``interval``, ``deviation`` or ``none``.
        decimals: Number of decimals; None to choose it by the size of the values in a column.
        progress: Title of a progress bar, which is shown only on a terminal.

    Raises:
        FairlabError: No run is finished, no run has one of the readings, or an argument is invalid.
    """
    if spread not in list(SPREADS):  # the value can have any type
        raise FairlabError(f"spread must be {', '.join(SPREADS)}, not {spread!r}")
    if decimals is not None and decimals not in range(10):
        raise FairlabError(f"decimals must be 0 to 9, not {decimals!r}")
    done = [record for record in records if record.status == "finished"]
    if not done:
        raise FairlabError(f"none of the {len(records)} runs has finished; let at least one finish")
    rows = _rows(done, baseline)
    places = wanted([side for row in rows for side in row.sides], readings)
    for row in rows:
        for place in places:
            if having := [side for side in row.sides if place in side.readings]:
                row.readings[place] = [side.readings[place] for side in having]
                row.changes[place] = [one for side in having if (one := _change(side, place)) is not None]
    rows = [row for row in rows if row.readings]
    pairs, best = _compare(rows, with_progress(places, progress))
    return PaperTable(rows, places, best, pairs, _daggers(rows) if baseline else {}, spread, decimals)


def _rows(records: Sequence[Record], baseline: bool) -> list[PaperRow]:
    grouped: dict[tuple[str, ...], PaperRow] = {}
    own: dict[tuple[str, ...], dict[str, str]] = {}
    for record, settings in zip(records, settings_of(records), strict=True):
        started = [Side(record, "before")] if baseline and "before" in record.phases else []
        for side in [*started, *sides_of(record)]:
            start = _model(record) if side.phase == "before" else ""
            key = ("before", start) if start else (side.phase, *map("=".join, sorted(identity(record).items())))
            seeds = [one.record.config.get("seed") for one in grouped[key].sides] if key in grouped else []
            if key not in grouped:
                grouped[key], own[key] = PaperRow(start, [side]), {} if start else settings
            elif not start and record.config.get("seed") not in seeds:
                grouped[key].sides.append(side)
    for row in grouped.values():
        row.name = row.name or short_name(row.sides)
    _make_distinct([(row, own[key]) for key, row in grouped.items()])
    return sorted(grouped.values(), key=lambda row: row.sides[0].phase != "before")


def _make_distinct(rows: Sequence[tuple[PaperRow, Mapping[str, str]]]) -> None:
    """Add distinguishing settings to the names of rows that have the same name. Default settings are left out."""
    more = []
    for row, settings in rows:
        alike = [other for one, other in rows if one.name == row.name]
        keys = [key for key in settings if key != "experiment" and len({other.get(key) for other in alike}) > 1]
        said = ", ".join(_setting(key, settings[key]) for key in keys if settings[key] not in UNSAID)
        more.append(said if len(said) <= LONGEST else _place_of(row.sides[0].record))
    for (row, _), name in zip(rows, distinct_names([row.name for row, _ in rows], more), strict=True):
        row.name = name


def _setting(key: str, value: str) -> str:
    """Return a setting in short form: the name of a class, or the last part of the key with the value."""
    if key.endswith("_target_"):
        return value.rpartition(".")[2]
    if key == "results":  # the results file of another tool
        return "/".join(Path(value).parts[-2:])
    return (
        f"{key.rpartition('.')[2]} {Path(value).name if key.endswith('path') or Path(value).is_absolute() else value}"
    )


def _place_of(record: Record) -> str:
    """Return the name of a run's folder. For results of another tool, return the names of the folder and the file."""
    file = results_file(record)
    return "/".join(file.parts[-2:]) if file else record.folder.name


def short_name(sides: Sequence[Side]) -> str:
    """Return a short name for a model and its seeds.

    The name is the first of the following that exists: the user-given name of the runs, the model's label, the name of
    the method, the name of the measured model.
    """
    record, label = sides[0].record, sides[0].phase.removeprefix("after")
    if called := model_called([side.record for side in sides], label):
        return called
    if label:
        return label
    if method := record.provenance.get("method", {}).get("title"):
        found = SHORT.search(method)
        return found[1] if found else str(method)
    if target := (record.config.get("method") or {}).get("_target_"):
        return str(target).rpartition(".")[2]
    return _model(record) or record.folder.name


def _model(record: Record) -> str:
    """Return the last part of the name of a run's only model, or an empty string if there is not exactly one."""
    name = model_given(record)
    return Path(str(name)).name if name and not isinstance(name, dict | list) else ""


def _change(side: Side, place: Place) -> Comparison | None:
    if side.phase != "after":
        return None
    return next((one for one in side.record.comparisons if one.phase == CHANGE and place_of(one) == place), None)


def _daggers(rows: Sequence[PaperRow]) -> dict[tuple[str, Place], float]:
    """Return the p-values of all changes from the baseline, adjusted over the rows of each column."""
    found: dict[tuple[str, Place], float] = {}
    for place in dict.fromkeys(place for row in rows for place in row.changes):
        having = [row for row in rows if row.changes.get(place) and row.judged(place)]
        found |= adjust_tested({(row.name, place): change_p(row.changes[place]) for row in having})
    return found


def change_p(changes: Sequence[Comparison]) -> float:
    r"""Return the two-sided p-value for the hypothesis of no change, over items and seeds (one change per seed).

    For S changes with mean d, :math:`t = d / \sqrt{s^2 / S + e^2}`, where s is the standard deviation of the changes
    and e the mean standard error over items, which is not divided by S because all seeds have the same items. The
    degrees of freedom are S - 1, a conservative choice. If all changes are equal, they count as one computation, and
    the p-value of this computation is returned.
    """
    if len({(one.difference, one.low, one.high) for one in changes}) == 1:
        return changes[0].p
    from scipy.stats import t  # takes a second to import, which would slow down --help

    differences = np.array([one.difference for one in changes])
    error = float(np.mean([(one.high - one.low) / (2 * Z) for one in changes]))
    variance = float(differences.var(ddof=1)) / len(changes) + error**2
    if not variance:
        return math.nan
    return float(2 * t.sf(abs(float(differences.mean())) / math.sqrt(variance), len(changes) - 1))


def _compare(
    rows: Sequence[PaperRow], places: Iterable[Place]
) -> tuple[dict[Place, dict[tuple[str, str], float]], dict[Place, str]]:
    """Test the differences between rows, and find the best row of each reading. Rows with warnings are never best."""
    pairs, best = {}, {}
    for place in places:
        column = {row.name: found for row in rows if (found := reading_of_method(row.sides, place)) is not None}
        pairs[place] = pairwise(column)
        sound = {row.name: column[row.name] for row in rows if row.name in column and not row.marks}
        if name := best_method(sound, pairs[place]):
            best[place] = name
    return pairs, best


def _direction(reading: Reading) -> str:
    """Return the ideal value in parentheses, which shows the direction in which values are better."""
    return "" if reading.ideal is None else f"({reading.ideal:g})"
