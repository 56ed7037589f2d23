"""The page of a reproduced paper: its tables, sweeps as curves, and each method's embeddings before and after."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairlab.files import write_whole
from fairlab.record import Record, without_secrets
from fairlab.reporting import plots
from fairlab.reporting.page import figure, page, section
from fairlab.reporting.report import tsne_figure
from fairlab.reporting.reproduction import Cell, Matrix, Table, footnotes, rendered_table

Records = Mapping[str, Mapping[int, Record]]


def write_study(filled: Sequence[tuple[Table, list[list[Cell]]]], matrix: Matrix, records: Records, path: Path) -> None:
    """Write the page, whole or not at all.

    Args:
        filled: the paper's tables, each with its cells.
        matrix: the matrix that the tables belong to.
        records: records of finished runs, by run id and seed.
        path: path of the page to write.
    """
    seeds = ", ".join(map(str, matrix.seeds))
    sections = [
        f"<h1>{html.escape(matrix.paper)}, reproduced</h1><p><span class='label'>{matrix.scale} scale</span></p>"
        f"<p>Seeds {seeds}. Values are means over the seeds, brackets the widest bounds of their 95 % intervals; * "
        "marks a change from the model a run started from that is beyond chance in every seed, tests taken one by "
        "one.</p>"
    ]
    for table, rows in filled:
        notes = "".join(f"<p class='note'>{html.escape(note)}</p>" for note in footnotes(table, rows))
        filled_in = f"<div style='overflow-x: auto'>{rendered_table(table, rows, 'html')}</div>"
        body = f"<p>{html.escape(table.setting)}</p>{filled_in}"
        sections.append(section(f"{table.where}: {table.title}", body + notes + _sweep(table, rows, records)))
    if maps := _maps([table for table, _ in filled], matrix, records):
        sections.append(section("Embeddings, before and after", maps))
    write_whole(path, without_secrets(page(f"fairlab: {matrix.paper}", sections)))


def _sweep(table: Table, rows: Sequence[Sequence[Cell]], records: Records) -> str:
    """Columns of a table against the value that its rows differ in; empty where it names none."""
    found = [
        (float(_at(next(iter(records[row.run].values())).config, table.against)), cells)
        for row, cells in zip(table.rows, rows, strict=True)
        if table.against and row.run in records
    ]
    found.sort(key=lambda point: point[0])
    measured = {}
    for place, column in enumerate(table.columns):
        points = [point for _, cells in found if (point := _point(cells[place])) is not None]
        if found and len(points) == len(found):
            measured[column] = points
    return figure(plots.sweep(table.against, [value for value, _ in found], measured)) if measured else ""


def _point(cell: Cell) -> tuple[float, float, float] | None:
    if cell.value is None or cell.low is None or cell.high is None:
        return None
    return cell.value, cell.low, cell.high


def _at(config: Any, key: str) -> Any:
    for part in key.split("."):
        config = config[part]
    return config


def _maps(tables: Sequence[Table], matrix: Matrix, records: Records) -> str:
    """A t-SNE map for every run that a table has a row of, of its first seed."""
    names = {row.run: row.name for table in tables for row in table.rows if row.run and row.phase == "after"}
    maps = [
        f"<h3>{html.escape(name)}</h3>{drawn}"
        for run, name in names.items()
        if run in records and matrix.seeds[0] in records[run] and (drawn := tsne_figure(records[run][matrix.seeds[0]]))
    ]
    return "".join(maps)
