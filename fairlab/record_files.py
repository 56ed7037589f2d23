"""The file that holds a run's record: ``record.json`` as a run writes it, or compressed to ``record.json.gz``.

A compressed record is read everywhere a plain one is. Where a folder has both, the plain one counts: a run that is
continued has written it.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

PLAIN, COMPACT = "record.json", "record.json.gz"
MOST_BYTES = 64 << 20  # of a decompressed record; the largest committed one has a fiftieth of it


def record_file(folder: Path) -> Path:
    """Return the file of a folder's record; that of a plain one if there is none."""
    plain, compact = folder / PLAIN, folder / COMPACT
    return compact if compact.exists() and not plain.exists() else plain


def holds_run(folder: Path) -> bool:
    """Whether a folder has a record in either form."""
    return record_file(folder).exists()


def run_folders(folder: Path) -> list[Path]:
    """Return all folders at any depth below ``folder`` that have a record, sorted by path."""
    return sorted({file.parent for name in (PLAIN, COMPACT) for file in folder.rglob(name)})


def read_record(file: Path) -> str:
    """Read the text of a record in either form.

    Raises:
        ValueError: ``file`` is no regular file, is no gzip file, or decompresses to more than :data:`MOST_BYTES`.
        OSError: ``file`` cannot be read.
    """
    if not file.is_file():
        raise ValueError("it is no file")
    if file.name != COMPACT:
        return file.read_text(encoding="utf-8")
    try:
        with gzip.open(file) as compressed:
            content = compressed.read(MOST_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"it cannot be decompressed: {error}") from error
    if len(content) > MOST_BYTES:
        raise ValueError(f"it decompresses to more than {MOST_BYTES >> 20} MiB")
    return content.decode("utf-8")
