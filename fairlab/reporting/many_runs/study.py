"""Report page of a reproduced paper: tables, sweeps as curves, and embeddings before and after each method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairlab.benchmarks.kept_items import kept_arrays
from fairlab.checks.redaction import without_secrets
from fairlab.files import write_whole
from fairlab.record import Record
from fairlab.reporting.changes import in_words
from fairlab.reporting.charts import Marks, Panel, figure
from fairlab.reporting.many_runs.reproduction import OTHER_SCALE, Cell, Matrix, Table, TableRow, footnotes
from fairlab.reporting.page import Block, Heading, Label, PageCell, PageTable, Section, Tables, Text, Verdict, page
from fairlab.reporting.projections import tsne_figure
from fairlab.reporting.tables.naming import common_name

Records = Mapping[str, Mapping[int, Record]]


def write_study(filled: Sequence[tuple[Table, list[list[Cell]]]], matrix: Matrix, records: Records, path: Path) -> None:
    """Write the report page atomically."""
    seeds = ", ".join(map(str, matrix.seeds))
    lead: list[Block] = [
        Label(f"{matrix.scale} scale"),
        _verdict([cell for _, rows in filled for row in rows for cell in row], matrix.scale),
        Text(
            f"Seeds {seeds}. Our values are means over the seeds; small type shows the standard deviation over the "
            "seeds and the widest bounds of their 95 % intervals. * marks a change from the model a run started from "
            "that is beyond chance in every seed, without adjustment for the number of tests.",
            "note",
        ),
    ]
    sections = []
    for table, rows in filled:
        notes = [Text(note, "note") for note in footnotes(table, rows)]
        blocks = [Text(table.setting), _tables(table, rows, records), *notes, *_sweep(table, rows, records)]
        sections.append(Section(f"{table.where}: {table.title}", blocks))
    if maps := _maps([table for table, _ in filled], matrix, records):
        sections.append(Section("Embeddings, before and after", maps))
    of_paper = any(table.published for table, _ in filled)
    heading = f"{matrix.paper}, reproduced" if of_paper else matrix.paper
    write_whole(path, without_secrets(page(f"fairlab: {matrix.paper}", heading, lead, sections)))


def _verdict(cells: Sequence[Cell], scale: str) -> Verdict:
    """Return the number of published values by verdict, or the reason why values are not compared."""
    printed = [cell for cell in cells if cell.published is not None]
    if not printed:
        return Verdict("No printed number can be compared with ours.")
    counts = Counter(cell.verdict for cell in printed)
    told = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    if scale != "paper":
        measured = counts[OTHER_SCALE]
        return Verdict(
            f"{measured} of {len(printed)} printed numbers have a counterpart here; at {scale} scale ours come from "
            "smaller models and data, so only directions can be compared, not values."
        )
    return Verdict(f"Of {len(printed)} printed numbers: {told}.")


def _tables(table: Table, rows: Sequence[Sequence[Cell]], records: Records) -> Tables:
    """Return a small table for each quantity, with one row per method and columns for our and the printed values."""
    small = []
    for place, column in enumerate(table.columns):
        names = [_row_name(row, column, records) for row in table.rows]
        of_column = [(name, cells[place]) for name, cells in zip(names, rows, strict=True)]
        columns = ["", "ours", "printed", "verdict"]
        lines = [[name, _our_cell(cell), _published_cell(cell), _verdict_text(cell)] for name, cell in of_column]
        keep = [k for k in range(4) if k < 2 or any(line[k] for line in lines)]
        small.append(
            PageTable([columns[k] for k in keep], [[line[k] for k in keep] for line in lines], caption=in_words(column))
        )
    return Tables(small)


def _row_name(row: TableRow, column: str, records: Records) -> PageCell:
    """Return the name of a row in the paper, with the user-given name of the runs in small type."""
    called = common_name(list(records.get(row.of(column), {}).values()))
    return PageCell(row.name, "" if called == row.name else called)


def _our_cell(cell: Cell) -> PageCell | str:
    if cell.value is None:
        return PageCell("—", hover=f"{cell.verdict}: {cell.reason}")
    spread = "" if cell.deviation is None else f"± {cell.deviation:.2g}\n"
    return PageCell(f"{cell.value:.4g}{'*' * cell.moved}", f"{spread}[{cell.low:.4g}, {cell.high:.4g}]")


def _published_cell(cell: Cell) -> PageCell | str:
    if cell.published is None:
        return ""
    again = "" if cell.recomputed is None else f"recomputed\n{cell.recomputed:g}"
    return PageCell(f"{cell.published:g}", again)


def _verdict_text(cell: Cell) -> str:
    return "" if cell.value is None or cell.verdict == OTHER_SCALE else cell.verdict


def _sweep(table: Table, rows: Sequence[Sequence[Cell]], records: Records) -> list[Block]:
    """Plot the columns of a table against the setting that differs between rows, if there is one."""
    found = [
        (float(_value_at(next(iter(records[row.run].values())).config, table.against)), cells)
        for row, cells in zip(table.rows, rows, strict=True)
        if table.against and row.run in records
    ]
    found.sort(key=lambda point: point[0])
    panels = []
    for place, column in enumerate(table.columns):
        points = [point for _, cells in found if (point := _point(cells[place])) is not None]
        if found and len(points) == len(found):
            values, low, high = zip(*points, strict=True)
            marks = Marks("", [value for value, _ in found], values, "both", place, low, high)
            panels.append(Panel(in_words(column).text, [marks], table.against))
    return [figure(panels)] if panels else []


def _point(cell: Cell) -> tuple[float, float, float] | None:
    if cell.value is None or cell.low is None or cell.high is None:
        return None
    return cell.value, cell.low, cell.high


def _value_at(config: Any, key: str) -> Any:
    for part in key.split("."):
        config = config[part]
    return config


def _maps(tables: Sequence[Table], matrix: Matrix, records: Records) -> list[Block]:
    """Return a t-SNE map for each run in a table, made from the run with the first seed."""
    names = {row.run: row.name for table in tables for row in table.rows if row.run and row.phase == "after"}
    maps: list[Block] = []
    for run, name in names.items():
        if run in records and matrix.seeds[0] in records[run]:
            record = records[run][matrix.seeds[0]]
            with kept_arrays(record.folder):
                drawn = tsne_figure(record)
            maps += [Heading(name), drawn] if drawn else []
    return maps
