"""Counterfactual groups as JSON lines, read with checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairlab.types import NEUTRAL, DataUnavailable, FairlabError, Group

EMBEDDED = Path(__file__).parent / "embedded"
EXAMPLE = '{"id": "1", "axis": "gender", "versions": {"neutral": "...", "man": "...", "woman": "..."}}'


def groups_path(path: str) -> Path:
    """The file of a ``data.path``: ``embedded/NAME`` is data that comes with fairlab, anything else a file.

    Raises:
        DataUnavailable: there is no such file.
    """
    folder, _, name = path.partition("/")
    found = EMBEDDED / f"{name}.jsonl" if folder == "embedded" else Path(path)
    if not found.is_file():
        embedded = ", ".join(sorted(f"embedded/{file.stem}" for file in EMBEDDED.glob("*.jsonl")))
        raise DataUnavailable(f"{path} is not a file; give JSON lines of counterfactual groups, or {embedded}")
    return found


def read_groups(path: str) -> list[Group]:
    """Read and check a file of counterfactual groups, one JSON object a line.

    Raises:
        FairlabError: a row is not of the form, a version is missing, empty or no text, ids repeat, attributes differ
            between rows, or there is no row; the message names file and line.
    """
    file = groups_path(path)
    groups: list[Group] = []
    first_line: dict[str, int] = {}
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise FairlabError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        group = _parse(line, f"{path} line {number}")
        if group.id in first_line:
            raise FairlabError(
                f"{path} line {number}: the id '{group.id}' was already used in line {first_line[group.id]}; "
                "ids must be unique"
            )
        if groups and group.attributes != groups[0].attributes:
            raise FairlabError(
                f"{path} line {number}: the attributes are {', '.join(group.attributes)}, but line "
                f"{first_line[groups[0].id]} has {', '.join(groups[0].attributes)}; every group needs the same versions"
            )
        first_line[group.id] = number
        groups.append(group)
    if not groups:
        raise FairlabError(f"{path} holds no counterfactual group; each line should look like {EXAMPLE}")
    return groups


def _parse(line: str, where: str) -> Group:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise FairlabError(f"{where} is not JSON ({error.msg}); it should look like {EXAMPLE}") from error
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
