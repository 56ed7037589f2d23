"""The models that ``fairlab fetch`` knows, and where in the user's cache each of them lies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fairlab.types import FairlabError

TABLE = Path(__file__).with_name("models.yaml")
NEAR_COPY = "distilbert_from_int8"  # lies beside them, made by experiments/ccd/distilbert_from_int8.py


@dataclass(frozen=True)
class PinnedFile:
    """Size in bytes and SHA-256 of a file."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class PackagedPart:
    """A piece of a model that a package holds.

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
    """A model that can be fetched.

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
        """Where its files lie once they have been fetched."""
        import pooch

        return Path(pooch.os_cache("fairlab")) / "models" / self.name

    @property
    def is_there(self) -> bool:
        """Whether every file is in its folder with its size; whoever loads weights checks their hash as well."""
        return all(_size(self.folder / name) == pinned.bytes for name, pinned in self.files.items())


def fetchables() -> dict[str, Fetchable]:
    """All models of the table by name."""
    return _read(TABLE)


def fetchable(name: str) -> Fetchable:
    """A model of the table.

    Raises:
        FairlabError: the table has none of this name.
    """
    there = fetchables()
    if name not in there:
        raise FairlabError(f"there is no model '{name}' to fetch; there are: {', '.join(there)}")
    return there[name]


def fetched(name: str) -> Fetchable:
    """A model of the table whose files are there.

    Raises:
        FairlabError: they are not, with the command that brings them.
    """
    model = fetchable(name)
    if not model.is_there:
        raise FairlabError(f"the model {name} is not in {model.folder}; bring it there with: fairlab fetch {name}")
    return model


def standing_for(hub_name: str) -> Fetchable | None:
    """The model of the table that a name of the hub means, whether or not it has been fetched."""
    return next((model for model in fetchables().values() if model.hub == hub_name), None)


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


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None
