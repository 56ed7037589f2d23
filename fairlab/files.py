"""Files that are either whole or absent, hashes of them, and the file that holds a run's record.

A run writes its record as ``record.json``; compressed to ``record.json.xz`` it is read everywhere a plain one is. If a
folder has both, the plain one counts: a run that is continued has written it.
"""

from __future__ import annotations

import errno
import hashlib
import lzma
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fairlab.types import FairlabError

NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
PLAIN, COMPACT = "record.json", "record.json.xz"
MOST_BYTES = 64 << 20  # of a decompressed record; the largest committed one has a fiftieth of it
MOST_MEMORY = 256 << 20  # of decompressing, which the file itself asks for


@contextmanager
def no_space_is_one_sentence(path: Path) -> Iterator[None]:
    """Turn "no space left" into a :class:`FairlabError` naming the place; other errors pass through."""
    try:
        yield
    except FairlabError:
        raise
    except Exception as error:
        # safetensors raises an error of its own that holds the number only in its text.
        in_text = re.search(r"os error (\d+)", str(error))
        number = getattr(error, "errno", None) or (int(in_text[1]) if in_text else None)
        if number not in NO_SPACE:
            raise
        raise FairlabError(
            f"no space left to write {getattr(error, 'filename', None) or path}; free some space and continue the "
            "run, or choose another folder"
        ) from error


@contextmanager
def replaced_when_written(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path`` to write under: renamed at the end, removed when writing fails."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` under a temporary name, then rename: a reader sees the old file or the new one.

    Raises:
        FairlabError: the disk is full; the old file is untouched and no temporary file is left.
    """
    with no_space_is_one_sentence(path), replaced_when_written(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def gather(path: Path, files: Sequence[Path]) -> None:
    """Several files as one, in order."""
    with replaced_when_written(path) as temporary, temporary.open("wb") as gathered:
        for name in files:
            with name.open("rb") as file:
                shutil.copyfileobj(file, gathered)


def sha256(*paths: Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes, or of several files' bytes one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


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
