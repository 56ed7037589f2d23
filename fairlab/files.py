"""Files that are either whole or absent, and hashes of them."""

from __future__ import annotations

import errno
import hashlib
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fairlab.types import FairlabError

NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


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
