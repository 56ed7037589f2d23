"""Manifest of an augmentation's output: its files with their hashes, and the outcomes of the rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Required, TypedDict

from fairlab.checks.foreign import read_json, require_form
from fairlab.data.published.task_files import examples_digest
from fairlab.data.stream.formats import BadRow, input_files
from fairlab.data.stream.parts import is_as_listed
from fairlab.data.stream.rows import TASK, read_rows, task_examples
from fairlab.data.stream.saved import one_split, saved_folder
from fairlab.data.stream.shards import BAD, CountedFile, split_of
from fairlab.files import check_folder, inside, sha256, write_whole
from fairlab.rewriting.group_rewriters import NO_WORD
from fairlab.types import DataUnavailable, FairlabError, Natural, Row

NAME = "manifest.json"


@dataclass
class Manifest:
    """Manifest of an augmentation's output.

    Attributes:
        fairlab: Version of fairlab that made the output.
        source: Name, size in bytes and SHA-256 of the input.
        made_by: Augmentation, axis, attributes, rewriter, seed and other settings.
        read: Number of rows in the input.
        reasons: Number of rejected rows for each reason.
        counts: Counts of all other outcomes, by name.
        shards: Name, number of rows, size in bytes and SHA-256 of the files of every shard, by kind of file.
        columns: Types of the data's columns, in the form that ``datasets.Features.from_dict`` accepts.
    """

    fairlab: str
    source: dict[str, Any]
    made_by: dict[str, Any]
    read: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    shards: list[dict[str, dict[str, Any]]] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)

    def add(self, summary: Mapping[str, Any]) -> None:
        """Add the summary of a shard; see :func:`fairlab.data.stream.shards.make_shards`."""
        self.read += summary["read"]
        self.reasons = _sum(self.reasons, summary["reasons"])
        self.counts = _sum(self.counts, summary["counts"])
        if summary["files"]:
            self.shards.append(summary["files"])

    def files(self, kind: str) -> list[str]:
        """Return the names of the files of a kind, in order."""
        return [shard[kind]["file"] for shard in self.shards if kind in shard]

    @property
    def splits(self) -> list[str]:
        """Return the splits of the data, in order. Data without splits has one split with an empty name."""
        return list(dict.fromkeys(split_of(Path(name)) for name in self.files("data")))

    @property
    def made(self) -> int:
        """Return the number of rows in the data files."""
        return sum(shard["data"]["rows"] for shard in self.shards if "data" in shard)

    def rows(self) -> dict[str, int]:
        """Return the number of rows per outcome, for tables."""
        rest = {name: count for name, count in self.counts.items() if name != "judged" and "/" not in name}
        order = {name: rest.pop(name) for name in (BAD, NO_WORD) if name in rest}
        return {"read": self.read, **order, "rejected": sum(self.reasons.values()), **rest, "written": self.made}

    def write(self, folder: Path) -> None:
        """Write ``manifest.json`` to a folder."""
        write_whole(folder / NAME, json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n")


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted((Counter(one) + Counter(other)).items()))


def dataset_rows(
    source: str, field: str | Sequence[str] = "text", *, every_split: bool = False
) -> Iterator[Row | BadRow]:
    """Return the rows of a dataset: a checked output of ``fairlab.augment``, or any source of ``read_rows``.

    The arguments are as for :func:`fairlab.data.stream.rows.read_rows`.
    """
    folder = Path(source)
    if not (folder / NAME).is_file():
        return read_rows(source, field, every_split=every_split)
    of_splits: dict[str, list[Path]] = {}
    for file in data_files(folder):
        of_splits.setdefault(split_of(file), []).append(file)
    chosen = of_splits if every_split or not of_splits else one_split(source, of_splits)
    files = ((split, file) for split, some in chosen.items() for file in some)
    return _numbered(replace(row, split=split) for split, file in files for row in read_rows(str(file), field))


def _numbered(rows: Iterable[Row | BadRow]) -> Iterator[Row | BadRow]:
    """Yield the rows of several files, numbered consecutively."""
    for number, row in enumerate(rows, start=1):
        yield row if isinstance(row, BadRow) else replace(row, number=number)


def dataset_facts(source: str) -> dict[str, Any]:
    """Return the name and hash of a file, a folder's data or a task. A hub dataset is not hashed."""
    if source.startswith(TASK):
        return {"name": source, "sha256": examples_digest(task_examples(source)[1])}
    path, saved = Path(source), saved_folder(source)
    if path.is_file():
        files = [path]
    elif saved is not None:
        files = sorted(file for pattern in ("**/*.arrow", "**/*.json") for file in saved.glob(pattern))
    elif path.is_dir():
        files = data_files(path) if (path / NAME).is_file() else input_files(path)
    else:
        return {"name": source, "sha256": "not taken: streamed from the hub"}
    return {"name": path.name, "bytes": sum(file.stat().st_size for file in files), "sha256": sha256(*files)}


def data_files(folder: Path) -> list[Path]:
    """Return the data files of an augmentation's output, checked against its manifest.

    Raises:
        DataUnavailable: There is no manifest, so the augmentation has not finished, or a file is missing.
        FairlabError: A file has changed since it was written, or there are no files.
    """
    manifest = folder / NAME
    if not manifest.is_file():
        raise DataUnavailable(
            f"{folder} has no {NAME}: it is not a finished output of fairlab.augment; run that "
            "command again to finish it"
        )
    check_folder(folder)
    listed = [shard["data"] for shard in read_manifest(manifest)["shards"] if "data" in shard]
    for number, entry in enumerate(listed):
        path = inside(folder, entry["file"], f"{manifest}, shards[{number}].data")
        if not path.is_file():
            raise DataUnavailable(f"{path} is missing though {NAME} lists it; run fairlab.augment again to restore it")
        if not is_as_listed(path, entry):
            raise FairlabError(
                f"{path} has changed since fairlab.augment wrote it; run that command again to restore it"
            )
    return [folder / entry["file"] for entry in listed]


class ManifestFile(TypedDict, total=False):
    """Layout of ``manifest.json``; see :class:`Manifest`."""

    shards: Required[list[dict[str, CountedFile]]]
    fairlab: str
    source: dict[str, Any]
    made_by: dict[str, Any]
    read: Natural
    reasons: dict[str, int]
    counts: dict[str, int]
    columns: dict[str, Any]


def read_manifest(file: Path) -> dict[str, Any]:
    """Read and check a manifest.

    Raises:
        FairlabError: The file is not JSON, is a link out of its folder, or does not have the layout of
            :class:`ManifestFile`.
    """
    content = read_json(inside(file.parent, file.name, str(file)))
    require_form(file, content, ManifestFile)
    return content  # type: ignore[no-any-return]
