"""What a preparation of text has finished, so that one that was killed goes on there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab.checks.foreign import read_json
from fairlab.data.prepared import is_as_listed
from fairlab.files import check_folder, write_whole
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import FairlabError

BEGUN = "begun.json"
PARTS = "parts"


def begin(folder: Path, what: Mapping[str, Any]) -> None:
    """A folder to prepare text in: as a killed process left it where that prepared the same, else empty.

    Args:
        folder: the folder.
        what: all that decides the shards.
    """
    begun = folder / BEGUN
    if folder.is_symlink():
        raise FairlabError(f"{folder} is a link; remove it, as text is prepared under that name")
    if folder.is_dir():
        check_folder(folder)
    try:
        same = read_json(begun) == json.loads(json.dumps(what))
    except FairlabError:
        same = False
    if not same:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_whole(begun, json.dumps(what))
    for half_written in folder.glob(".*"):
        half_written.unlink()


def forget_parts(folder: Path) -> None:
    """Remove what only tells how far a preparation is."""
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    (folder / BEGUN).unlink(missing_ok=True)


@dataclass(frozen=True)
class FinishedPart:
    """What was made of a part of a text, beside its shards.

    Attributes:
        folder: where the shards are.
        number: of the part.
    """

    folder: Path
    number: int

    @property
    def _own(self) -> Path:
        return self.folder / PARTS / f"{self.number:05}"

    def read(self) -> tuple[dict[str, Any], Fingerprints] | None:
        """The counts and the fingerprints of the part; None where it is not finished, or its shards are not whole."""
        try:
            found = json.loads((self._own / "counts.json").read_text(encoding="utf-8"))
            whole = all(is_as_listed(self.folder / one["file"], one) for one in found["shard"].values())
        except (OSError, ValueError):
            return None
        seen = Fingerprints.load(self._own)
        return (found, seen) if whole and seen is not None else None

    def write(self, found: dict[str, Any], seen: Fingerprints) -> None:
        """Keep the counts and the fingerprints; the counts, written last, say that the part is finished."""
        self._own.mkdir(parents=True, exist_ok=True)
        seen.save(self._own)
        write_whole(self._own / "counts.json", json.dumps(found))
