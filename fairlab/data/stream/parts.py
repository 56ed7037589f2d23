"""Resumable parts: finished parts of a long computation are kept, and the next run does not make them again."""

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
    """Part of an output, which is finished if its summary exists.

    The files of a part are written first and its summary last. The summary lists the files with their hashes, by kind
    under ``files``. A part is made again if its summary is missing or damaged, or if its files changed.

    Attributes:
        folder: folder that the names of the files are relative to.
        summary: file of the summary.
        form: layout of the summary, a ``TypedDict``.
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
    """Return whether a file has the hash of its entry.

    The file is only read if its size matches the entry and its modification time does not.

    Args:
        file: existing file.
        entry: ``sha256``, and ``bytes`` and ``mtime_ns`` if they are known.

    Raises:
        OSError: the file does not exist.
    """
    status = file.stat()
    if status.st_size != entry.get("bytes", status.st_size):
        return False
    return status.st_mtime_ns == entry.get("mtime_ns") or sha256(file) == entry["sha256"]


def changed_facts(file: Path, facts: Mapping[str, Any]) -> list[str]:
    """Return the names of facts that have changed since the work was begun.

    Args:
        file: JSON file of the facts at the beginning; if it cannot be read, all facts count as changed.
        facts: current facts, ready for JSON.
    """
    try:
        before = read_json(file)
    except FairlabError:
        before = None
    now = json.loads(json.dumps(facts))
    if not isinstance(before, dict):
        return list(now)
    return [name for name in {**now, **before} if before.get(name) != now.get(name)]
