"""The models that ``fetch.py`` knows: their parts, sizes and hashes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fairlab.backbones.model_cache import PinnedFile, cached_folder, cached_model
from fairlab.types import FairlabError

TABLE = Path(__file__).with_name("models.yaml")


@dataclass(frozen=True)
class PackagedPart:
    """Piece of a model that a package holds.

    Attributes:
        requirement: the package with its exact version, as pip reads it.
        member: path of the piece inside the package.
        pinned: its size and hash.
    """

    requirement: str
    member: str
    pinned: PinnedFile


@dataclass(frozen=True)
class Fetchable:
    """Model that can be fetched.

    Attributes:
        name: name under which it is fetched and used.
        what: what it is, for the user.
        licence: SPDX name of its licence.
        hub: name of the model on the hub.
        parts: its pieces in packages, in order.
        joined: the pieces one after the other.
        zipped: folder inside the joined zip that holds the files; None where the joined pieces are the one file.
        memory: bytes of memory that serving it takes; None for a model that is not served.
        files: every file of the model by its path in the folder.
    """

    name: str
    what: str
    licence: str
    hub: str
    parts: tuple[PackagedPart, ...]
    joined: PinnedFile
    zipped: str | None
    memory: int | None
    files: dict[str, PinnedFile]

    @property
    def folder(self) -> Path:
        """Folder of its files in the cache, whether or not it has been fetched."""
        return cached_folder(self.hub)

    @property
    def is_cached(self) -> bool:
        """True if the cache holds every file of it with its size."""
        found = cached_model(self.hub)
        return found is not None and found.files == self.files


def fetchables() -> dict[str, Fetchable]:
    """Return all models of the table by name."""
    return _read(TABLE)


def fetchable(name: str) -> Fetchable:
    """Return a model of the table.

    Raises:
        FairlabError: The table has no model of this name.
    """
    there = fetchables()
    if name not in there:
        raise FairlabError(f"there is no model '{name}' to fetch; there are: {', '.join(there)}")
    return there[name]


@cache
def _read(table: Path) -> dict[str, Fetchable]:
    entries = yaml.safe_load(table.read_text(encoding="utf-8"))
    return {name: _fetchable(name, entry) for name, entry in entries.items()}


def _fetchable(name: str, entry: dict[str, Any]) -> Fetchable:
    joined = entry["joined"]
    size, total = joined["part_bytes"], joined["bytes"]
    parts = tuple(
        PackagedPart(
            f"{entry['package'].format(number=number)}=={entry['version']}",
            entry["member"].format(number=number),
            PinnedFile(min(size, total - (number - 1) * size), digest),
        )
        for number, digest in enumerate(joined["parts"], start=1)
    )
    plain = {key: entry[key] for key in ("what", "licence", "hub", "zipped", "memory")}
    files = {path: PinnedFile(**pinned) for path, pinned in entry["files"].items()}
    return Fetchable(name=name, parts=parts, joined=PinnedFile(total, joined["sha256"]), files=files, **plain)
