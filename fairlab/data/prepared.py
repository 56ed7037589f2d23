"""Tokenized corpus on disk: memory-mapped shards with an index and hashes, shared by processes and runs.

A folder contains:

- ``train-NNNNN.tokens`` and ``validation-NNNNN.tokens``: consecutive token ids as little-endian uint16 or uint32.
- ``trained_on.safetensors``: hashes of the training texts.
- ``prepared.json``: sources and settings of the shards, their sizes and their hashes. It is written last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from fairlab.checks.foreign import read_json, require_form
from fairlab.data.stream.parts import is_as_listed
from fairlab.files import check_folder, inside, sha256, write_whole
from fairlab.types import DataUnavailable, FairlabError, Natural

NAME = "prepared.json"
FORMAT = 1
# Settings that determine the shards, with phrases for error messages.
DECIDES = {
    "format": "another format of shards",
    "tokenizer": "another tokenizer",
    "vocabulary": "another tokenizer",
    "revision": "another revision of the rules and lexicons",
    "augmentation": "another augmentation",
    "passage": "another data.passage",
    "validation": "another data.validation",
    "twin": "another data.twin",
    "field": "another data.field",
    "original": "another data.original",
    "limit_characters": "another data.limit_characters",
    "separators": "another data.separators",
}


@dataclass
class Prepared:
    """Manifest of prepared text.

    Attributes:
        made_of: Settings that determine the shards; see :data:`DECIDES`.
        files: Name, size in bytes, modification time and SHA-256 of every source file.
        dtype: Data type of the token ids, ``uint16`` or ``uint32``.
        shards: File name, number of tokens, size in bytes, modification time and SHA-256 of every shard, by split.
        counts: Number of passages, and of passages that an augmentation changed.
        original_tokens: Number of tokens of the training passages before any augmentation.
    """

    made_of: dict[str, Any]
    files: list[dict[str, Any]]
    dtype: str
    shards: list[dict[str, dict[str, Any]]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"passages": 0, "passages_changed": 0})
    original_tokens: int = 0

    def write(self, folder: Path) -> None:
        """Write ``prepared.json`` to a folder."""
        write_whole(folder / NAME, json.dumps(asdict(self), indent=1) + "\n")

    def tokens(self, folder: Path, split: str) -> Tokens:
        """Return the tokens of a split."""
        entries = [shard[split] for shard in self.shards if split in shard]
        return Tokens([folder / one["file"] for one in entries], [one["tokens"] for one in entries], self.dtype)


class SourceEntry(TypedDict):
    """Entry of a source in ``prepared.json``."""

    file: str
    bytes: Natural
    mtime_ns: int
    sha256: str


class ShardEntry(SourceEntry):
    """Entry of a shard in ``prepared.json``."""

    tokens: Natural


class PreparedFile(TypedDict):
    """Layout of ``prepared.json``; see :class:`Prepared`."""

    made_of: dict[str, Any]
    files: list[SourceEntry]
    dtype: Literal["uint16", "uint32"]
    shards: NotRequired[list[dict[str, ShardEntry]]]
    counts: NotRequired[dict[str, int]]
    original_tokens: NotRequired[Natural]


class Tokens:
    """Token ids of a split: all shards as one sequence, read on demand.

    Args:
        files: Files of the shards, in order.
        counts: Number of tokens in each shard.
        dtype: Data type of the token ids.
    """

    def __init__(self, files: Sequence[Path], counts: Sequence[int], dtype: str) -> None:
        self.files = list(files)
        self.starts = np.concatenate([[0], np.cumsum(np.array(counts, np.int64))])
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self._opened: dict[int, NDArray[Any]] = {}

    def __len__(self) -> int:
        """Return the number of tokens."""
        return int(self.starts[-1])

    def read(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the tokens from ``start`` up to ``stop``, or up to the end of the split if it comes first."""
        stop, parts = min(stop, len(self)), []
        shard = int(np.searchsorted(self.starts, start, "right")) - 1
        while start < stop:
            first, last = int(self.starts[shard]), int(self.starts[shard + 1])
            parts.append(self._shard(shard)[start - first : min(stop, last) - first])
            start, shard = last, shard + 1
        return np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)

    def _shard(self, number: int) -> NDArray[Any]:
        if number not in self._opened:
            self._opened[number] = np.memmap(self.files[number], self.dtype, "r")
        return self._opened[number]


def file_entry(file: Path) -> dict[str, Any]:
    """Return the name, size in bytes, modification time and SHA-256 of a file."""
    status = file.stat()
    return {"file": file.name, "bytes": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": sha256(file)}


def open_prepared(folder: Path, made_of: Mapping[str, Any], sources: Sequence[Path]) -> Prepared:
    """Load the manifest of a folder, and check that it matches the request and that all files are unchanged.

    Raises:
        DataUnavailable: A shard is missing.
        FairlabError: The manifest is damaged or has other settings or sources, or a source or a shard has changed.
    """
    anew = f"delete {folder} to prepare the text again"
    check_folder(folder)
    content = read_json(folder / NAME)
    require_form(folder / NAME, content, PreparedFile)
    manifest = Prepared(**content)
    listed = [entry for shard in manifest.shards for entry in shard.values()]
    for key, words in DECIDES.items():
        if manifest.made_of.get(key) != made_of.get(key):
            raise FairlabError(
                f"{folder / NAME} was made with {words} ({manifest.made_of.get(key)}, not {made_of.get(key)}); {anew}"
            )
    if [source.name for source in sources] != [entry["file"] for entry in manifest.files]:
        raise FairlabError(f"{folder / NAME} comes from other files than data.paths; {anew}")
    for source, entry in zip(sources, manifest.files, strict=True):
        if not is_as_listed(source, entry):
            raise FairlabError(f"{source} has changed since {folder / NAME} was prepared; {anew}")
    for entry in listed:
        file = inside(folder, entry["file"], f"{folder / NAME}")
        if entry["tokens"] * np.dtype(manifest.dtype).itemsize != entry["bytes"]:
            raise FairlabError(f"{folder / NAME} lists more tokens for {entry['file']} than the file holds; {anew}")
        if not file.is_file():
            raise DataUnavailable(f"{file} is missing though {NAME} lists it; {anew}")
        if not is_as_listed(file, entry):
            raise FairlabError(f"{file} has changed since it was written; {anew}")
    return manifest
