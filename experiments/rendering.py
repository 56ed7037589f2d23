"""Functions shared by the tables of several pages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tabulate import tabulate

from fairlab.record import Reading, Record
from fairlab.reporting.many_runs.reproduction import (
    Cell,
    Matrix,
    Table,
    cells,
    footnotes,
    read_matrix,
    table_lines,
)
from fairlab.reproduce import finished_records, normalise


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Format a Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines)


def trials(file: Path) -> str:
    """Return a table of the tried settings in a JSON Lines file, with one value per number of training steps."""
    tried = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    (measure,) = (name for name, value in tried[0].items() if isinstance(value, dict))
    settings = [name for name in tried[0] if name != measure]
    steps = sorted({int(step) for one in tried for step in one[measure]})
    rows = [
        [*(str(one[name]) for name in settings), *(str(one[measure].get(str(step), "")) for step in steps)]
        for one in tried
    ]
    return markdown([*settings, *(f"{measure} after {steps[0]}", *map(str, steps[1:]))], rows)


def interval(reading: Reading, digits: int) -> str:
    """Format a reading's value with its 95 % interval."""
    return f"{reading.value:.{digits}f} [{reading.low:.{digits}f}, {reading.high:.{digits}f}]"


def significant(reading: Reading) -> str:
    """Format a reading's value with its 95 % interval, to four significant digits."""
    return f"{reading.value:.4g} [{reading.low:.4g}, {reading.high:.4g}]"


def ideal(reading: Reading) -> str:
    """Format the ideal value of a reading.

    The result is empty if there is none.
    """
    return "" if reading.ideal is None else f"{reading.ideal:.4g}"


def matrix_table(folder: Path, id_: str, runs: str = "records", *, all_seeds: bool = False) -> str:
    """Return a table of a paper's matrix as Markdown, with methods side by side; see :func:`measured`."""
    table, rows = measured(folder, id_, runs, all_seeds=all_seeds)
    header, lines = table_lines(table, rows)
    printed = tabulate(lines, headers=header, tablefmt="github", disable_numparse=True)
    return "\n\n".join([printed, *footnotes(table, rows)])


def measured(
    folder: Path, id_: str, runs: str = "records", *, all_seeds: bool = False
) -> tuple[Table, list[list[Cell]]]:
    """Return a table of a paper's experiment matrix at quickstart scale.

    Cells contain means over seeds, computed from the committed records.

    Args:
        folder: Folder of the paper, which contains its ``matrix.yaml``.
        id_: Id of the table.
        runs: Folder of the records within ``folder``, with the structure ``RUN/seed_N/record.json``.
        all_seeds: If true, a cell needs every seed of the matrix; otherwise, the seeds of the table's finished runs.
    """
    matrix = read_matrix(folder / "matrix.yaml", "quickstart")
    records = finished_records(folder / runs, matrix)
    table = with_runs(matrix.tables[id_], matrix)
    if not all_seeds:
        matrix = replace(matrix, seeds=seeds_run(table, records) or matrix.seeds)
    normalise(replace(matrix, tables={id_: table}), records)
    return table, cells(table, matrix, records)


def with_runs(table: Table, matrix: Matrix) -> Table:
    """Remove the columns that no run measures at the scale of the matrix."""
    columns = [column for column in table.columns if any(row.of(column) in matrix.runs for row in table.rows)]
    return replace(table, columns=columns)


def seeds_run(table: Table, records: Mapping[str, Mapping[int, Record]]) -> list[int]:
    """Return the seeds for which at least one run of a table has a record."""
    asked = {row.of(column) for row in table.rows for column in table.columns}
    return sorted({seed for run in asked for seed in records.get(run, {})})
