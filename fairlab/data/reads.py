"""Record of the data files that a run reads, used to store their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
_noted: ContextVar[dict[str, Path] | None] = ContextVar("noted", default=None)


@contextmanager
def noting_reads() -> Iterator[dict[str, Path]]:
    """Collect the files that are read within the context, by a name that is the same on every machine."""
    found: dict[str, Path] = {}
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def note_read(path: Path, name: str = "") -> Path:
    """Record that a file is read, and return its path.

    Args:
        path: Path of the file.
        name: Name of published data, whose folder may differ between machines; empty to use the path.
    """
    found = _noted.get()
    if found is not None:
        found[name or portable_name(path)] = path
    return path


def portable_name(path: Path) -> str:
    """Return a path as it is stored in records: relative for files that come with fairlab, otherwise as given."""
    return str(path.relative_to(PACKAGE.parent)) if path.is_relative_to(PACKAGE) else str(path)


def facts_of_files(path: str, hashes: Mapping[str, str]) -> dict[str, Any]:
    """Return the facts about the files of a run's data: its path, one hash of all files, and the hash of each file."""
    together = hashlib.sha256("".join(hashes.values()).encode()).hexdigest()
    return {"path": path, "sha256": together, "files": dict(hashes)}
