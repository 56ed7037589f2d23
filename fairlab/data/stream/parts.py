"""Resumable computation in parts: finished parts are kept, and a resumed run does not compute them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab.checks.foreign import read_json, require_form
from fairlab.files import inside, sha256, write_whole
from fairlab.types import FairlabError


@dataclass(frozen=True)
class FinishedPart:
    """Part of an output, which is finished if it has a valid summary.

    The files of a part are written first and its summary last. The summary lists the files with their hashes, by kind,
    under the key ``files``. A part is made again if its summary is missing or damaged, or if its files changed.

    Attributes:
        folder: Folder to which the names of the files are relative.
        summary: Path of the summary.
        form: Layout of the summary, a ``TypedDict``.
    """

    folder: Path
    summary: Path
    form: Any

    def read(self) -> dict[str, Any] | None:
        """Return the summary, or None if the part is not finished."""
        try:
            found: dict[str, Any] = read_json(self.summary)
            require_form(self.summary, found, self.form)
            named = [
                (inside(self.folder, entry["file"], str(self.summary)), entry) for entry in found["files"].values()
            ]
            whole = all(is_as_listed(file, entry) for file, entry in named)
        except (FairlabError, OSError):  # truncated, or written by another version
            return None
        return found if whole else None

    def write(self, summary: Mapping[str, Any]) -> None:
        """Write the summary, which marks the part as finished."""
        write_whole(self.summary, json.dumps(summary, ensure_ascii=False) + "\n")


def is_as_listed(file: Path, entry: Mapping[str, Any]) -> bool:
    """Return whether a file is unchanged since its entry was written.

    To save time, the file is hashed only if its size is the same and its modification time is not.

    Args:
        file: Existing file.
        entry: Entry with ``sha256`` and, if they are known, ``bytes`` and ``mtime_ns``.

    Raises:
        OSError: The file does not exist.
    """
    status = file.stat()
    if status.st_size != entry.get("bytes", status.st_size):
        return False
    return status.st_mtime_ns == entry.get("mtime_ns") or sha256(file) == entry["sha256"]


def changed_facts(file: Path, facts: Mapping[str, Any]) -> list[str]:
    """Return the names of the facts that have changed since a computation began.

    Args:
        file: JSON file with the facts at the beginning. If it cannot be read, all facts count as changed.
        facts: Current facts, which must be serializable as JSON.
    """
    try:
        before = read_json(file)
    except FairlabError:
        before = None
    now = json.loads(json.dumps(facts))
    if not isinstance(before, dict):
        return list(now)
    return [name for name in {**now, **before} if before.get(name) != now.get(name)]
