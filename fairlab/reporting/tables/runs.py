"""Loading of the records of all runs in a folder."""

from __future__ import annotations

import re
from pathlib import Path

from fairlab.files import run_folders
from fairlab.record import Record
from fairlab.types import FairlabError


def read_runs(folder: Path, unread: list[str] | None = None) -> list[Record]:
    """Load the records of all runs in a folder and its subfolders, in natural order of their names.

    ``unread`` receives an error message for each record that cannot be read. If it is None, the first such record
    raises an error.

    Raises:
        FairlabError: A record cannot be read, and ``unread`` is None.
    """
    records = []
    for place in sorted(run_folders(folder), key=lambda place: _natural(str(place))):
        try:
            records.append(Record.load(place))
        except FairlabError as error:
            if unread is None:
                raise
            unread.append(str(error))
    return records


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
