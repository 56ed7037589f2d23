"""Resumable parts: finished parts of a long piece of work stay, and are not made again by the next run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab.checks.foreign import read_json
from fairlab.files import sha256, write_whole
from fairlab.types import FairlabError


@dataclass(frozen=True)
class FinishedPart:
    """Part of an output, which is finished when its summary is there.

    The files of a part are written first and its summary last. The summary lists the files with their hashes, by kind
    under ``files``. A part whose summary is missing or damaged, or whose files changed, is made again.

    Attributes:
        folder: Folder that the names of the files start from.
        summary: File of the summary.
    """

    folder: Path
    summary: Path

    def read(self) -> dict[str, Any] | None:
        """Return the summary, or None if the part is not finished."""
        try:
            found: dict[str, Any] = read_json(self.summary)
            whole = all(is_as_listed(self.folder / entry["file"], entry) for entry in found["files"].values())
        except (
            FairlabError,
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
        ):  # cut short, or of another version
            return None
        return found if whole else None

    def write(self, summary: Mapping[str, Any]) -> None:
        """Write the summary, by which the part is finished."""
        write_whole(self.summary, json.dumps(summary, ensure_ascii=False) + "\n")


def is_as_listed(file: Path, entry: Mapping[str, Any]) -> bool:
    """Return True if a file has the hash of its entry.

    The file is only read if its size is that of the entry and its time of change is not.

    Args:
        file: Existing file.
        entry: ``sha256``, and ``bytes`` and ``mtime_ns`` if they are known.

    Raises:
        OSError: The file does not exist.
    """
    status = file.stat()
    if status.st_size != entry.get("bytes", status.st_size):
        return False
    return status.st_mtime_ns == entry.get("mtime_ns") or sha256(file) == entry["sha256"]


def changed_facts(file: Path, facts: Mapping[str, Any]) -> list[str]:
    """Return the names of facts that are not those which work was begun with.

    Args:
        file: JSON file of the facts at the beginning; if it cannot be read, all facts count as changed.
        facts: Present facts, ready for JSON.
    """
    try:
        before = read_json(file)
    except FairlabError:
        before = None
    now = json.loads(json.dumps(facts))
    if not isinstance(before, dict):
        return list(now)
    return [name for name in {**now, **before} if before.get(name) != now.get(name)]
