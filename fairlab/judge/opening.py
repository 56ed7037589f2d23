"""Reading of other tools' JSON files, with limits on their size."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairlab.checks.json_text import from_json
from fairlab.files import inside, read_bounded
from fairlab.types import FairlabError

LARGEST = 1 << 30  # maximum number of bytes of a file that is read as a whole
LONGEST_LINE = 64 << 20  # bytes; samples with long prompts have longer lines than files of texts
BYTE_ORDER_MARK = "\ufeff"


def json_value(path: Path) -> Any:
    """Return the JSON value of a file.

    Raises:
        FairlabError: the file is too large, cut off, or not JSON.
    """
    return parsed(read_bounded(path, LARGEST).removeprefix(BYTE_ORDER_MARK), str(path))


def json_object(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises:
        FairlabError: the file is too large or cut off, or does not contain a JSON object.
    """
    return as_object(json_value(path), str(path))


def json_objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each line.

    Raises:
        FairlabError: a line is too long, cut off or not UTF-8, or does not contain a JSON object.
    """
    with path.open("rb") as file:
        number = 0
        while content := file.readline(LONGEST_LINE):
            number += 1
            try:
                line = content.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise FairlabError(f"{path}, line {number}, is not UTF-8 text; save it in UTF-8") from error
            if line.strip():
                place = f"{path}, line {number}"
                yield as_object(parsed(line, place), place)


def parsed(text: str, place: str) -> Any:
    """Return the JSON value of a text.

    Raises:
        FairlabError: the text is cut off or not JSON; the message names ``place``.
    """
    try:
        return from_json(text)
    except ValueError as error:
        raise FairlabError(f"{place} cannot be read as JSON ({error}); copy the file again") from error


def as_object(content: Any, place: str) -> dict[str, Any]:
    """Return a JSON value after checking that it is an object.

    Raises:
        FairlabError: the value is not an object; the message names ``place``.
    """
    if not isinstance(content, dict):
        raise FairlabError(f"{place} holds {type(content).__name__}, not an object; give a file of results")
    return content


def part(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return an object within an object, or an empty one if it is missing, because tools omit unknown values."""
    found = content.get(key)
    return found if isinstance(found, dict) else {}


def parts(content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects in a list within an object, or an empty list if it is missing."""
    found = content.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def neighbour(path: Path, name: str) -> Path:
    """Return the path of a file next to a file of results.

    Raises:
        FairlabError: the name, or a link with that name, leads to another folder.
    """
    return inside(path.parent, name, str(path))


def beginning(path: Path, characters: int = 4096) -> str:
    """Return the beginning of a text file, or an empty text if the file is not text."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            return file.read(characters)
    except (OSError, UnicodeDecodeError):
        return ""


def number(value: Any) -> float | None:
    """Return a score as a number, also for True, False and inspect's letters; None for any other value."""
    letters = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
    if isinstance(value, str):
        return letters.get(value)
    finite = isinstance(value, bool | int | float) and not abs(value) > sys.float_info.max
    return float(value) if finite else None
