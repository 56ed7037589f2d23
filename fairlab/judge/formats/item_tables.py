"""Reader of item scores in a table: CSV, JSON lines or Parquet with the columns ``id`` and ``score``.

Optional columns are ``task``, ``metric``, ``model``, ``text`` and ``group``. All rows must have the same ``model``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlab.data.stream.formats import BadRow, found_in
from fairlab.judge.opening import beginning, json_objects, number
from fairlab.judge.scores import ToolRun, item_scores, text_hash
from fairlab.types import FairlabError

TOOL = "a table of items"
COLUMNS = ("id", "score")
TASK = "items"  # task of a table without a task column, so that two such tables can be compared
FIRST_LINE = 1 << 20  # maximum number of characters read of the first line


def recognises(path: Path) -> bool:
    """Return whether a file is a table with the required columns."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        try:
            return set(COLUMNS) <= set(pyarrow.parquet.read_schema(path).names)
        except (OSError, pyarrow.ArrowInvalid):
            return False
    if path.suffix not in (".csv", ".tsv", ".jsonl"):
        return False
    first = beginning(path, FIRST_LINE).partition("\n")[0]
    if path.suffix == ".jsonl":
        try:
            return set(COLUMNS) <= set(next(json_objects(path), {}))  # keys of objects in the object do not count
        except FairlabError:
            return all(f'"{name}"' in first for name in COLUMNS)
    return set(COLUMNS) <= {cell.strip('"\r') for cell in first.replace("\t", ",").split(",")}


def read(path: Path) -> ToolRun:
    """Read the scores of all rows.

    Raises:
        FairlabError: A row cannot be read, or has no id or no numeric score; or the file contains several models or no
            rows.
    """
    rows: dict[tuple[str, str], list[tuple[str, float, str, str]]] = {}
    models: set[str] = set()
    for found in found_in(str(path), COLUMNS).values():
        for entry in found:
            if isinstance(entry, BadRow):
                raise FairlabError(f"{path}, {entry.place} cannot be read ({entry.reason}); correct or remove it")
            place, row = entry
            value, name = _score(row), _cell(row, "id")
            if value is None or not name:
                raise FairlabError(f"{path}, {place} has no id or no numeric score; fill in the row or remove it")
            key = _cell(row, "task") or TASK, _cell(row, "metric") or "score"
            text = text_hash(_cell(row, "text")) if _cell(row, "text") else ""
            rows.setdefault(key, []).append((name, value, text, _cell(row, "group")))
            models.add(_cell(row, "model") or path.stem)
    if len(models) > 1:
        raise FairlabError(
            f"{path} has scores of several models ({', '.join(sorted(models))}); give one file per model"
        )
    if not rows:
        raise FairlabError(f"{path} contains no rows; give a table with at least one item")
    tasks = tuple(item_scores(task, metric, some) for (task, metric), some in rows.items())
    return ToolRun(models.pop(), TOOL, path, tasks)


def _cell(row: Mapping[str, Any], column: str) -> str:
    """Return a cell as text; an empty text if the cell is missing, empty or not a number.

    The number 0 is a name like any other.
    """
    value = row.get(column)
    return "" if value is None or value != value else str(value)


def _score(row: Mapping[str, Any]) -> float | None:
    value = row.get("score")
    if isinstance(value, str):
        if value.lower() in ("true", "false"):  # pandas writes booleans in this form
            return float(value.lower() == "true")
        try:
            return float(value)
        except ValueError:
            return None
    return number(value)
