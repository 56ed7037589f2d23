"""Tables written to a folder of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairlab.files import write_whole
from fairlab.record import Record
from fairlab.reporting.paper_table import paper_table
from fairlab.reporting.tables.comparing import sides_of
from fairlab.reporting.tables.long_form import write_long_form


def write_tables(records: Sequence[Record], folder: Path) -> None:
    """Write ``readings.csv`` and, if a finished run has headline readings, ``methods.md`` and ``methods.tex``."""
    write_long_form(records, folder / "readings.csv")
    sides = [side for record in records if record.status == "finished" for side in sides_of(record)]
    if any(reading.headline for side in sides for reading in side.readings.values()):
        table = paper_table(records)
        write_whole(folder / "methods.md", table.to_markdown() + "\n")
        write_whole(folder / "methods.tex", table.to_latex() + "\n")
