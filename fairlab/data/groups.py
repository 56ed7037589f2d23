"""Counterfactual groups as JSON lines, read with checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlab.data.stream.manifest import data_files
from fairlab.text.json_text import from_json
from fairlab.types import NEUTRAL, DataUnavailable, FairlabError, Group

EMBEDDED = Path(__file__).parent / "embedded"
EXAMPLE = '{"id": "1", "axis": "gender", "versions": {"neutral": "...", "man": "...", "woman": "..."}}'


def groups_files(path: str) -> list[Path]:
    """The files of a ``data.path``: ``embedded/NAME`` comes with fairlab, anything else is a file or a folder.

    Raises:
        DataUnavailable: there is no such file, or the folder is no finished output of ``fairlab.augment``.
        FairlabError: a file of the folder is not as its manifest says.
    """
    folder, _, name = path.partition("/")
    found = EMBEDDED / f"{name}.jsonl" if folder == "embedded" else Path(path)
    if found.is_dir():
        return data_files(found)
    if not found.is_file():
        embedded = ", ".join(sorted(f"embedded/{file.stem}" for file in EMBEDDED.glob("*.jsonl")))
        raise DataUnavailable(
            f"{path} is not a file; give JSON lines of counterfactual groups, an output of fairlab.augment, or "
            f"{embedded}"
        )
    return [found]


def read_groups(path: str) -> list[Group]:
    """Read and check counterfactual groups, one JSON object a line.

    Args:
        path: a file of groups, an output of ``fairlab.augment`` or ``embedded/NAME``; see :func:`groups_files`.

    Raises:
        FairlabError: a row is not of the form, a version is missing, empty or no text, ids repeat, attributes differ
            between rows, or there is no row; the message names file and line.
    """
    files = groups_files(path)
    groups: list[Group] = []
    first_place: dict[str, str] = {}
    for file in files:
        name = path if len(files) == 1 and not Path(path).is_dir() else str(file)
        for number, line in enumerate(_lines(file, name), start=1):
            if not line.strip():
                continue
            place = f"{name} line {number}"
            group = _parse(line, place)
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


def _lines(file: Path, name: str) -> Iterator[str]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                where = f"{name} line {number}"
                raise FairlabError(f"{where} is not UTF-8 text (byte {error.start} of it); save it as UTF-8") from error


def _relative(place: str, name: str) -> str:
    """A place without the name of the file at hand: ``line 3``."""
    return place.removeprefix(f"{name} ")


def _parse(line: str, where: str) -> Group:
    try:
        row = from_json(line)
    except ValueError as error:
        raise FairlabError(f"{where} is not JSON ({error}); it should look like {EXAMPLE}") from error
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
    for key in ("id", "axis"):
        if not isinstance(row.get(key), str | int) or row[key] == "":
            raise FairlabError(f"{where} has no '{key}'; it should look like {EXAMPLE}")
    order = [NEUTRAL, *sorted(name for name in versions if name != NEUTRAL)]
    extra = {key: value for key, value in row.items() if key not in ("id", "axis", "versions")}
    return Group(str(row["id"]), str(row["axis"]), {name: versions[name] for name in order}, extra)
