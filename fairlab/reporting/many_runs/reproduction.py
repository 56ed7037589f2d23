"""Comparison of published tables with our readings: the run behind each row, and a verdict on each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import yaml

from fairlab.benchmarks.versions import outdated
from fairlab.record import Comparison, Record
from fairlab.reporting.collapse import collapsed_readings
from fairlab.reporting.headlines import titled, too_few
from fairlab.reporting.many_runs.fine_tuned import task_runs, with_tasks
from fairlab.reporting.many_runs.matrix_form import PUBLISHED, read_matrix_content, require_columns, require_row
from fairlab.reporting.tables.marks import COLLAPSED, marked, marks_of_runs
from fairlab.types import FairlabError

MATCH, WITHIN_NOISE, DIFFERS = "match", "within noise", "differs"
NOT_RUN, NOT_REPRODUCIBLE, OTHER_SCALE = "not run", "not reproducible", "another scale"
TOO_FEW = "too few items"


@dataclass(frozen=True)
class TableRow:
    """Row of a published table, with the runs that reproduce it.

    Attributes:
        name: Name of the row in the paper, or our own name if the paper has no such row.
        run: Id of the run; empty if no run is available, or if each column has its own run.
        runs: Id of each column's run, if a separate model is trained for each task.
        phase: Phase of the run's readings: ``before`` or ``after`` training, or empty for a model that was evaluated
            without training. The runs of single columns always use ``after``.
        reason: Reason why there is no run.
    """

    name: str
    run: str = ""
    phase: str = "after"
    reason: str = ""
    runs: dict[str, str] = field(default_factory=dict)

    def of(self, column: str) -> str:
        """Return the id of the run that provides the value of a column."""
        return self.runs.get(column, self.run)


@dataclass(frozen=True)
class Table:
    """Table of a paper.

    Attributes:
        id: Id with which the table is selected, such as ``3`` or ``study``.
        title, where, setting: Title of the table, its number in the paper, and the models and data with which it was
            measured.
        columns: Keys of readings, without the phase.
        rows: Rows of the table, in the published order.
        published: Published value by row and column. Rows that are not in the paper have no published values.
        recomputed: Value that follows from other numbers in the paper, if it differs from the printed value.
        tolerance: Distance that counts as a match, by quantity (the last part of a column's key).
        against: Key of the setting that differs between rows and is the x axis of plots; empty if there is none.
        averages: For each column that is an average, the columns from which it is computed.
    """

    id: str
    title: str
    where: str
    setting: str
    columns: list[str]
    rows: list[TableRow]
    published: dict[str, dict[str, float]]
    recomputed: dict[str, dict[str, float]] = field(default_factory=dict)
    tolerance: dict[str, float] = field(default_factory=dict)
    against: str = ""
    averages: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Matrix:
    """Runs and tables that reproduce a paper at one scale.

    Attributes:
        paper: Short name of the paper.
        scale: Scale of models and data: ``quickstart`` or ``paper``.
        seeds: Seeds of each run, in the order in which they are run.
        runs: Overrides of ``fairlab.train`` by run id.
        unavailable: Reason why a run is unavailable, by run id.
        tables: Tables of the paper, by id.
        before: Id of the run whose readings before training are used for all other runs; empty if each run measures its
            own.
        made: Overrides of ``fairlab.augment`` for training data, by the NAME in ``data.path=made/NAME`` of a run.
        evaluations: Ids of runs without training, whose overrides are for ``fairlab.evaluate``.
        overrides: Additional overrides for all training runs, such as ``trainer=ddp``.
    """

    paper: str
    scale: str
    seeds: list[int]
    runs: dict[str, list[str]]
    unavailable: dict[str, str]
    tables: dict[str, Table]
    before: str = ""
    made: dict[str, list[str]] = field(default_factory=dict)
    evaluations: frozenset[str] = frozenset()
    overrides: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Cell:
    """Published number, together with our value.

    Attributes:
        verdict: Comparison of the two numbers: ``match`` (within the table's tolerance), ``within noise`` (inside our
            interval), ``differs``, ``another scale`` (our value comes from another model or other data, so it is not
            compared), ``too few items`` (no interval to compare with), ``not run`` or ``not reproducible``.
        published: Published number; None if the paper has no such number.
        recomputed: Number that follows from other numbers in the paper, if it differs from the printed number.
        value: Mean of our readings over all seeds.
        deviation: Standard deviation over the seeds (n - 1); None for a single seed, or if all seeds have exactly the
            same value, because they are one computation.
        marks: Warnings shown with the value, for example that the method did not train.
        low, high: Smallest lower and largest upper bound of the seeds' 95 % intervals.
        moved: Whether the change from the model before training is significant in every seed (p below 0.05, without
            adjustment). False if a reading has too few items or an outdated version of the benchmark, or is a gap that
            fell only through collapse.
        reason: Reason why the cell has no value; empty if it has one.
    """

    verdict: str
    published: float | None = None
    recomputed: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    moved: bool = False
    reason: str = ""
    deviation: float | None = None
    marks: tuple[str, ...] = ()


def read_matrix(file: Path, scale: str) -> Matrix:
    """Read the matrix of a paper, ``experiments/PAPER/matrix.yaml``, for a scale.

    Raises:
        FairlabError: The file does not exist, or a table refers to a run, row or published table that does not exist.
    """
    if not file.is_file():
        there = ", ".join(sorted(found.parent.name for found in file.parents[1].glob("*/matrix.yaml")))
        raise FairlabError(f"there is no {file}; papers with a matrix: {there or 'none here, run in a checkout'}")
    content = read_matrix_content(file)
    paper = file.parent.name
    published = _published_tables(content)
    options = content["options"].get(scale, [])
    found = content["runs"] | task_runs(content, scale)
    tables = {}
    for id_, table in content["tables"].items():
        if "published" in table and table["published"] not in published:
            raise FairlabError(
                f"{file}: table {id_} names the published table '{table['published']}', which is not there"
            )
        printed = published[table["published"]] if "published" in table else table | {"rows": {}}
        for key in {"title", "columns"} - printed.keys() - table.keys():
            raise FairlabError(f"{file}: tables.{id_}.{key} has no value; give it, or a published table")
        ours = table | {name: of_scale(table[name], scale) for name in ("columns",) if name in table}
        columns = list(ours.get("columns", printed["columns"]))
        keys = list(ours["columns"].values()) if isinstance(ours.get("columns"), dict) else columns
        require_columns(file, str(id_), keys)
        rows = {name: of_scale(row, scale) for name, row in table["rows"].items()}
        for name, row in rows.items():
            require_row(file, str(id_), name, row)
        rows = {name: with_tasks(row, keys, content) for name, row in rows.items()}
        tables[str(id_)] = read_table(str(id_), ours | {"rows": rows}, printed, content.get("tolerance", {}))
        for row in tables[str(id_)].rows:
            for run in filter(None, [row.run, *row.runs.values()]):
                if run not in found:
                    raise FairlabError(f"{file}: table {id_} names the run '{run}', which is not among runs")
    named = {run for table in tables.values() for row in table.rows for run in row.runs.values()}
    found = {name: run for name, run in found.items() if name in content["runs"] or name in named}
    runs = {
        name: [*in_one_list(run[scale]), *(options if run.get("options", True) else [])]
        for name, run in found.items()
        if isinstance(run.get(scale), list)
    }
    nothing = f"the matrix has no run at {scale} scale"
    unavailable = {name: str(run.get(scale, nothing)) for name, run in found.items() if name not in runs}
    before, made = content.get("before", {}).get(scale, ""), content.get("made", {})
    evaluations = frozenset(name for name, run in found.items() if run.get("entry") == "evaluate")
    return Matrix(paper, scale, content["seeds"], runs, unavailable, tables, before, made, evaluations)


def in_one_list(overrides: Sequence[Any]) -> list[str]:
    """Flatten the overrides of a run. Nested lists come from YAML anchors that several runs share."""
    return [one for part in overrides for one in (in_one_list(part) if isinstance(part, list) else [part])]


def _published_tables(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the published tables of the paper that a matrix reproduces, or an empty dict if it names no paper."""
    if "published" not in content:
        return {}
    tables: dict[str, Any] = yaml.safe_load((PUBLISHED / f"{content['published']}.yaml").read_text(encoding="utf-8"))
    return tables


def of_scale(value: Any, scale: str) -> Any:
    """Return the value for a scale, or the value itself if it is the same for all scales."""
    return value.get(scale, value) if isinstance(value, dict) else value


def read_table(id_: str, ours: Mapping[str, Any], printed: Mapping[str, Any], tolerance: dict[str, float]) -> Table:
    """Combine a table of the matrix with the published table. The matrix can select and rename columns."""
    rows = [TableRow(name, **({"run": row} if isinstance(row, str) else row)) for name, row in ours["rows"].items()]
    wanted = ours.get("columns", printed["columns"])
    keys = wanted if isinstance(wanted, dict) else {column: column for column in wanted}
    published = {}
    for name, values in printed["rows"].items():
        by_column = dict(zip(printed["columns"], values, strict=True))
        published[name] = {key: by_column[column] for column, key in keys.items() if column in by_column}
    where, setting = printed.get("where", "Ours"), printed.get("setting", "")
    recomputed = {
        name: {key: values[column] for column, key in keys.items() if column in values}
        for name, values in printed.get("recomputed", {}).items()
    }
    more = {"recomputed": recomputed, "against": ours.get("against", ""), "averages": ours.get("averages", {})}
    return Table(
        id_, printed["title"], where, setting, list(keys.values()), rows, published, tolerance=dict(tolerance), **more
    )


def cells(table: Table, matrix: Matrix, records: Mapping[str, Mapping[int, Record]]) -> list[list[Cell]]:
    """Return the cells of a table, by row and column, from the records of finished runs by run id and seed."""
    return [[_cell(table, row, column, matrix, records) for column in table.columns] for row in table.rows]


def _cell(
    table: Table, row: TableRow, column: str, matrix: Matrix, records: Mapping[str, Mapping[int, Record]]
) -> Cell:
    if column in table.averages:
        return _average(table, row, column, matrix, records)
    printed = table.published.get(row.name, {}).get(column)
    recomputed = table.recomputed.get(row.name, {}).get(column)
    run = row.of(column)
    of_run, phase = records.get(run, {}), "after" if column in row.runs else row.phase
    if reason := row.reason or matrix.unavailable.get(run, ""):
        return Cell(NOT_REPRODUCIBLE, printed, recomputed, reason=reason)
    if not run:
        return Cell(NOT_RUN, printed, recomputed, reason=f"no run measures {column}")
    missing = [seed for seed in matrix.seeds if seed not in of_run]
    if missing:
        return Cell(NOT_RUN, printed, recomputed, reason=f"seed {', '.join(map(str, missing))} of {run}")
    found = [of_run[seed].reading(_key(phase, column)) for seed in matrix.seeds]
    readings = [reading for reading in found if reading is not None]
    if len(readings) < len(matrix.seeds):
        return Cell(NOT_RUN, printed, recomputed, reason=_why(of_run[matrix.seeds[0]], phase, column))
    changes = [_change(of_run[seed], column) for seed in matrix.seeds] if phase == "after" else []
    values = [reading.value for reading in readings]
    value, deviation = fmean(values), stdev(values) if len(set(values)) > 1 else None
    low, high = min(reading.low for reading in readings), max(reading.high for reading in readings)
    found_in = [(of_run[seed], reading) for seed, reading in zip(matrix.seeds, readings, strict=True)]
    few = any(too_few(record, reading) for record, reading in found_in)
    collapsed = any(reading.key in collapsed_readings(record) for record, reading in found_in)
    present = bool(changes) and not (few or collapsed or any(map(outdated, readings)))
    moved = present and all(change is not None and change.p < 0.05 for change in changes)
    near = table.tolerance.get(column.rpartition("/")[2], 0.0)
    said = recomputed if recomputed is not None else printed
    verdict = _verdict(matrix.scale, said, value, low, high, near)
    verdict = TOO_FEW if few and verdict in (WITHIN_NOISE, DIFFERS) else verdict
    marks = marks_of_runs(found_in) + (COLLAPSED,) * collapsed
    return Cell(verdict, printed, recomputed, value, low, high, moved, deviation=deviation, marks=marks)


def _average(
    table: Table, row: TableRow, column: str, matrix: Matrix, records: Mapping[str, Mapping[int, Record]]
) -> Cell:
    """Average cells of a row whose values come from different models.

    The bounds are averaged as well, which makes the interval slightly too wide.
    """
    printed = table.published.get(row.name, {}).get(column)
    recomputed = table.recomputed.get(row.name, {}).get(column)
    parts = [_cell(table, row, part, matrix, records) for part in table.averages[column]]
    for part in parts:
        if part.value is None:
            return replace(part, published=printed, recomputed=recomputed)
    value, low, high = (fmean(getattr(part, bound) for part in parts) for bound in ("value", "low", "high"))
    near = table.tolerance.get(column.rpartition("/")[2], 0.0)
    verdict = _verdict(matrix.scale, printed if recomputed is None else recomputed, value, low, high, near)
    marks = tuple(dict.fromkeys(mark for part in parts for mark in part.marks))
    return Cell(verdict, printed, recomputed, value, low, high, marks=marks)


def _verdict(scale: str, printed: float | None, value: float, low: float, high: float, near: float) -> str:
    if printed is None:
        return ""
    if scale != "paper":
        return OTHER_SCALE
    if abs(value - printed) <= near:
        return MATCH
    return WITHIN_NOISE if low <= printed <= high else DIFFERS


def _key(phase: str, column: str) -> str:
    return f"{phase}/{column}" if phase else column


def _change(record: Record, column: str) -> Comparison | None:
    return next((change for change in record.comparisons if change.key == f"change/{column}"), None)


def _why(record: Record, phase: str, column: str) -> str:
    benchmark, subset, measure = column.split("/")
    reasons = [e.reason for e in record.not_run if e.benchmark == benchmark and e.subset in (subset, "all")]
    if reasons:
        return reasons[0]
    if any(reading.key.startswith(_key(phase, f"{benchmark}/{subset}/")) for reading in record.readings):
        return f"{benchmark}/{subset} has no {measure} {phase} training; comparing models or runs needs all of them"
    return f"{benchmark}/{subset} was not among the benchmarks"


def shown_cell(cell: Cell) -> str:
    """Format a cell as ``0.45 ± 0.02 [0.32, 0.58]*; printed 0.37: differs``.

    The asterisk marks a change that is significant in every seed.
    """
    printed = "" if cell.published is None else f"printed {cell.published:g}"
    if cell.recomputed is not None:
        printed += f", recomputed {cell.recomputed:g}"
    if cell.value is None:
        return "; ".join(part for part in (cell.verdict, printed) if part)
    spread = "" if cell.deviation is None else f" ± {cell.deviation:.2g}"
    ours = marked(f"{cell.value:.4g}{spread} [{cell.low:.4g}, {cell.high:.4g}]{'*' * cell.moved}", cell.marks)
    verdict = f": {cell.verdict}" if cell.verdict not in ("", OTHER_SCALE) else ""
    return ours + (f"; {printed}{verdict}" if printed else "")


def table_lines(table: Table, rows: Sequence[Sequence[Cell]]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the lines of a transposed table, with readings in rows and methods in columns."""
    lines = [
        [titled(column), *(shown_cell(cells_of_row[place]) for cells_of_row in rows)]
        for place, column in enumerate(table.columns)
    ]
    return ["", *(row.name for row in table.rows)], lines


def footnotes(table: Table, rows: Sequence[Sequence[Cell]]) -> list[str]:
    """Return the reasons why cells have no values, one line each."""
    found: list[str] = []
    for row, of_row in zip(table.rows, rows, strict=True):
        found += dict.fromkeys(f"{row.name}: {cell.verdict}: {cell.reason}" for cell in of_row if cell.reason)
    return found
