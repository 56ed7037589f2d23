"""Size-limited reading of JSON files from other tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairlab.checks.json_text import from_json
from fairlab.files import inside, read_bounded
from fairlab.types import FairlabError

LARGEST = 1 << 30  # maximum number of bytes of a file that is read as a whole
LONGEST_LINE = 64 << 20  # in bytes; samples with long prompts have long lines
BYTE_ORDER_MARK = "\ufeff"


def json_value(path: Path) -> Any:
    """Read the JSON value in a file.

    Raises:
        FairlabError: The file is too large, truncated or not JSON.
    """
    return parsed(read_bounded(path, LARGEST).removeprefix(BYTE_ORDER_MARK), str(path))


def json_object(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file.

    Raises:
        FairlabError: The file is too large or truncated, or does not contain a JSON object.
    """
    return as_object(json_value(path), str(path))


def json_objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON object on each line of a file.

    Raises:
        FairlabError: A line is too long, truncated or not UTF-8, or does not contain a JSON object.
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
    """Parse a JSON text; errors name its ``place``: a file, and a line if there is one.

    Raises:
        FairlabError: The text is truncated or not JSON.
    """
    try:
        return from_json(text)
    except ValueError as error:
        raise FairlabError(f"{place} cannot be read as JSON ({error}); copy the file again") from error


def as_object(content: Any, place: str) -> dict[str, Any]:
    """Return a JSON value after checking that it is an object; errors name its ``place``.

    Raises:
        FairlabError: The value is not an object.
    """
    if not isinstance(content, dict):
        raise FairlabError(f"{place} holds {type(content).__name__}, not an object; give a file of results")
    return content


def part(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object at a key of another object.

    If the key is missing, the result is an empty object: tools omit values that they do not know.
    """
    found = content.get(key)
    return found if isinstance(found, dict) else {}


def parts(content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects in the list at a key of an object. The result is empty if there is no list."""
    found = content.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def neighbour(path: Path, name: str) -> Path:
    """Return the path of a file in the same folder as a results file.

    Raises:
        FairlabError: The name, or a link with that name, leads to another folder.
    """
    return inside(path.parent, name, str(path))


def beginning(path: Path, characters: int = 4096) -> str:
    """Return the first characters of a text file, or an empty text if the file is not text."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            return file.read(characters)
    except (OSError, UnicodeDecodeError):
        return ""


def ending(path: Path, count: int) -> str:
    """Return the last bytes of a file as text, with replacement characters for bytes that are not text."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - count))
        return file.read().decode("utf-8", errors="replace")


def number(value: Any) -> float | None:
    """Convert a score (number, True, False, or one of inspect's letters) to a number, and any other value to None."""
    letters = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
    if isinstance(value, str):
        return letters.get(value)
    finite = isinstance(value, bool | int | float) and not abs(value) > sys.float_info.max
    return float(value) if finite else None
