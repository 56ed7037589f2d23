"""Rows of committed sheets, which are compressed to keep the repository small."""

from __future__ import annotations

import csv
import lzma
from pathlib import Path


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a ``.csv.xz`` file with a header, by column name."""
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
