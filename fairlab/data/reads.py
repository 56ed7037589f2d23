"""Record of the data files that a run reads, so that the run can keep their hashes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
_noted: ContextVar[dict[str, Path] | None] = ContextVar("noted", default=None)


@contextmanager
def noting_reads() -> Iterator[dict[str, Path]]:
    """Yield a mapping, filled during the context, from a name that a reader finds again to the file that was read."""
    found: dict[str, Path] = {}
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def note_read(path: Path, name: str = "") -> Path:
    """Record that a file is read, and return its path.

    Args:
        path: path of the file.
        name: name of published data, which another machine may keep in another folder; empty for the path itself.
    """
    found = _noted.get()
    if found is not None:
        found[name or portable_name(path)] = path
    return path


def portable_name(path: Path) -> str:
    """Return a path as a record keeps it: relative for files that come with fairlab, otherwise as given."""
    return str(path.relative_to(PACKAGE.parent)) if path.is_relative_to(PACKAGE) else str(path)
