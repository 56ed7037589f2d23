"""Readers that load and check counterfactual groups, from JSON lines or tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairlab.checks.json_text import from_json
from fairlab.data.reads import note_read
from fairlab.data.stream.formats import FORMATS, TABLES, BadRow, found_in
from fairlab.data.stream.manifest import data_files, dataset_facts
from fairlab.data.stream.rows import BROKEN, broken_in_words
from fairlab.data.stream.saved import saved_folder
from fairlab.data.stream.shards import split_of
from fairlab.text.reading import CONTROL, text_lines, whole_text
from fairlab.types import NEUTRAL, DataUnavailable, FairlabError, Group

EMBEDDED = Path(__file__).parent / "embedded"
FLAT = "versions."  # prefix of columns that hold one version each, as datasets and pandas flatten them
EXAMPLE = '{"id": "1", "axis": "gender", "versions": {"neutral": "...", "man": "...", "woman": "..."}}'


def groups_place(path: str) -> str:
    """Return the file, folder or hub name that a ``data.path`` refers to. ``embedded/NAME`` is part of fairlab.

    Raises:
        DataUnavailable: There is no such file.
    """
    folder, _, name = path.partition("/")
    found = _embedded().get(name, EMBEDDED / f"{name}.jsonl") if folder == "embedded" else Path(path)
    of_hub = bool(name) and folder != "embedded" and found.suffix not in FORMATS
    if found.exists() or of_hub or saved_folder(path) is not None:
        return str(found)
    embedded = ", ".join(sorted(f"embedded/{one}" for one in _embedded()))
    raise DataUnavailable(
        f"{path} is not a file; give counterfactual groups as JSON lines, JSON, CSV or Parquet, an output of "
        f"fairlab.augment, a folder of save_to_disk, a name on the hub, or {embedded}"
    )


def _embedded() -> dict[str, Path]:
    """Return the groups that are part of fairlab, by name."""
    return {file.name.partition(".")[0]: file for file in EMBEDDED.glob("*.jsonl*")}


def groups_files(path: str) -> list[Path]:
    """Return the files of JSON lines that hold groups. For groups in another format, the list is empty.

    Raises:
        DataUnavailable: There is no such file, or the folder is not a finished output of ``fairlab.augment``.
        FairlabError: A file of the folder does not match its manifest.
    """
    place = Path(groups_place(path))
    if saved_folder(str(place)) is not None or not place.exists():
        return []
    if place.is_dir():
        return [note_read(file) for file in data_files(place)]
    note_read(place)
    return [] if place.suffix in TABLES and place.suffix != ".jsonl" else [place]


def groups_sha256(path: str) -> str:
    """Return the SHA-256 of the files that hold groups."""
    return str(dataset_facts(groups_place(path))["sha256"])


def texts_of_groups(path: str) -> Iterator[str]:
    """Yield the full content of stored groups as text, including fields other than the versions."""
    if files := groups_files(path):
        yield from map(whole_text, files)
    else:
        yield from (json.dumps(row, ensure_ascii=False, default=str) for _, row, _ in _of_tables(path))


def read_groups(path: str) -> list[Group]:
    """Read and check counterfactual groups, each from a line with a JSON object or from a row of a table.

    In a table, the versions are either in one column ``versions``, as an object, or in one column each:
    ``versions.neutral``, ``versions.man``, ... The key ``split`` assigns a group to a split.

    Args:
        path: Path of a file of groups, an output of ``fairlab.augment``, a saved dataset, ``embedded/NAME``, or a hub
            name; see :func:`groups_place`.

    Raises:
        FairlabError: A row is malformed, a version is missing, empty or not text, ids are repeated, attributes differ
            between rows, or there is no row. The message names file and line.
    """
    groups: list[Group] = []
    first_place: dict[str, str] = {}
    files = groups_files(path)
    for name, row, place in _of_lines(path, files) if files else _of_tables(path):
        group = _group(row, place)
        if group.id in first_place:
            raise FairlabError(
                f"{place}: the id '{group.id}' was already used in {_relative(first_place[group.id], name)}; "
                "ids must be unique"
            )
        if groups and group.attributes != groups[0].attributes:
            raise FairlabError(
                f"{place}: the attributes are {', '.join(group.attributes)}, but "
                f"{_relative(first_place[groups[0].id], name)} has {', '.join(groups[0].attributes)}; every group "
                "needs the same versions"
            )
        first_place[group.id] = place
        groups.append(group)
    if not groups:
        raise FairlabError(f"{path} holds no counterfactual group; each line should look like {EXAMPLE}")
    return groups


def groups_alike(groups: Sequence[Group], path: str, setting: str) -> list[Group]:
    """Read further training groups, which must have the same attributes as the given training groups.

    Raises:
        FairlabError: The attributes differ, or there are no groups to train on.
    """
    found = read_groups(path)
    if found[0].attributes != groups[0].attributes:
        raise FairlabError(
            f"{path} has the attributes {', '.join(found[0].attributes)}, but the training groups have "
            f"{', '.join(groups[0].attributes)}; give {setting} groups with these attributes, or leave it out"
        )
    to_train_on = [one for one in found if one.extra.get("split", "train") == "train"]
    if not to_train_on:
        raise FairlabError(
            f"{path} has no group of the split train; give {setting} groups to train on, or leave it out"
        )
    return to_train_on


def _of_lines(path: str, files: Sequence[Path]) -> Iterator[tuple[str, Any, str]]:
    """Yield the file name, content and location of every row of JSON lines."""
    for file in files:
        name = path if len(files) == 1 and not Path(path).is_dir() else str(file)
        for number, line in enumerate(text_lines(file, name=name), start=1):
            if line.strip():
                place = f"{name} line {number}"
                yield name, _in_split(_parse(line, place), split_of(file)), place


def _of_tables(path: str) -> Iterator[tuple[str, Any, str]]:
    """Yield the file name, content and location of every row in any other format, with version columns combined."""
    for split, found in found_in(groups_place(path), every_split=True).items():
        for item in found:
            if isinstance(item, BadRow):
                raise FairlabError(f"{path}, {item.place}: {item.reason}; fix the row")
            row = {name: value for name, value in item[1].items() if not name.startswith(FLAT)}
            if flat := {name.removeprefix(FLAT): item[1][name] for name in item[1].keys() - row.keys()}:
                row["versions"] = flat
            yield path, _in_split(row, split), f"{path} {split}, {item[0]}" if split else f"{path} {item[0]}"


def _in_split(row: Any, split: str) -> Any:
    return {"split": split, **row} if split and isinstance(row, dict) else row


def _relative(place: str, name: str) -> str:
    """Remove the name of the current file from a location, such as ``groups.jsonl line 3``."""
    return place.removeprefix(f"{name} ")


def _parse(line: str, where: str) -> Any:
    try:
        return from_json(line)
    except ValueError as error:
        raise FairlabError(f"{where} is not JSON ({error}); it should look like {EXAMPLE}") from error


def _group(row: Any, where: str) -> Group:
    if not isinstance(row, dict) or not isinstance(row.get("versions"), dict):
        raise FairlabError(f"{where} has no 'versions'; it should look like {EXAMPLE}")
    versions: dict[str, Any] = row["versions"]
    if NEUTRAL not in versions or len(versions) < 3:
        raise FairlabError(
            f"{where} needs the versions 'neutral' and at least two attributes, but has: "
            f"{', '.join(versions) or 'none'}"
        )
    for name, text in versions.items():
        if not isinstance(text, str):
            raise FairlabError(f"{where}: the version '{name}' is {type(text).__name__}, not text; put it in quotes")
        if not text.strip():
            raise FairlabError(f"{where}: the version '{name}' is empty; fill it in or remove the row")
    if broken := BROKEN.search("\n".join([str(row.get("id")), str(row.get("axis")), *versions, *versions.values()])):
        raise FairlabError(f"{where} contains {broken_in_words(broken[0])}; remove it")
    for key in ("id", "axis"):
        if not isinstance(row.get(key), str | int) or row[key] == "":
            raise FairlabError(f"{where} has no '{key}'; it should look like {EXAMPLE}")
    for name in (str(row["axis"]), *versions):
        if CONTROL.search(name):
            raise FairlabError(f"{where}: the name {name!a} contains a control character; remove it")
    order = [NEUTRAL, *sorted(name for name in versions if name != NEUTRAL)]
    extra = {key: value for key, value in row.items() if key not in ("id", "axis", "versions")}
    return Group(str(row["id"]), str(row["axis"]), {name: versions[name] for name in order}, extra)
