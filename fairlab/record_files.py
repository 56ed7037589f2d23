"""The file that holds a run's record: ``record.json`` as a run writes it, or compressed to ``record.json.xz``.

A compressed record is read everywhere a plain one is. Where a folder has both, the plain one counts: a run that is
continued has written it.
"""

from __future__ import annotations

import lzma
from pathlib import Path

PLAIN, COMPACT = "record.json", "record.json.xz"
MOST_BYTES = 64 << 20  # of a decompressed record; the largest committed one has a fiftieth of it
MOST_MEMORY = 256 << 20  # of decompressing, which the file itself asks for


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
        ValueError: ``file`` is no regular file, cannot be decompressed, or decompresses to more than
            :data:`MOST_BYTES`.
        OSError: ``file`` cannot be read.
    """
    if not file.is_file():
        raise ValueError("it is no file")
    if file.name != COMPACT:
        return file.read_text(encoding="utf-8")
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY)
    try:
        content = decompressor.decompress(file.read_bytes(), MOST_BYTES + 1)
    except lzma.LZMAError as error:
        raise ValueError(f"it cannot be decompressed: {error}") from error
    if len(content) > MOST_BYTES:
        raise ValueError(f"it decompresses to more than {MOST_BYTES >> 20} MiB")
    if not decompressor.eof:
        raise ValueError("its end is missing")
    return content.decode("utf-8")


def compressed(text: str) -> bytes:
    """Return the bytes of a compressed record, the same for the same text."""
    return lzma.compress(text.encode("utf-8"), preset=6 | lzma.PRESET_EXTREME)
