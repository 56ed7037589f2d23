"""JSON files of other tools, opened with bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlab.checks.json_text import from_json
from fairlab.types import FairlabError

LARGEST = 1 << 30  # bytes of a file that is read whole
LONGEST_LINE = 64 << 20


def json_object(path: Path) -> dict[str, Any]:
    """Return the JSON object that a file holds.

    Raises:
        FairlabError: the file is too large, cut off, or holds no JSON object.
    """
    return checked_object(_text(path), path)


def checked_object(text: str, path: Path) -> dict[str, Any]:
    """Return the JSON object that a text holds; ``path`` is named in the message.

    Raises:
        FairlabError: the text is cut off, or is no JSON object.
    """
    try:
        content = from_json(text)
    except ValueError as error:
        raise FairlabError(f"{path} cannot be read as JSON ({error}); copy the file again") from error
    if not isinstance(content, dict):
        raise FairlabError(f"{path} holds {type(content).__name__}, not an object; give a file of results")
    return content


def json_objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each line.

    Raises:
        FairlabError: a line is too long, cut off, or holds no JSON object.
    """
    with path.open(encoding="utf-8-sig") as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            if line.strip():
                try:
                    content = from_json(line)
                except ValueError as error:
                    raise FairlabError(
                        f"{path}, line {number} cannot be read as JSON ({error}); copy the file again"
                    ) from error
                if not isinstance(content, dict):
                    raise FairlabError(f"{path}, line {number} is no object; give a file of results")
                yield content


def beginning(path: Path, characters: int = 4096) -> str:
    """Return the beginning of a text file; empty if it is no text."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            return file.read(characters)
    except (OSError, UnicodeDecodeError):
        return ""


def _text(path: Path) -> str:
    size = path.stat().st_size
    if size > LARGEST:
        raise FairlabError(f"{path} has {size / 1e9:.1f} GB, more than {LARGEST >> 30} GiB; give a smaller part of it")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FairlabError(f"{path} is no UTF-8 text ({error.reason} at byte {error.start})") from error


def number(value: Any) -> float | None:
    """Return a score as a number: True, False and inspect's letters included; None if it is none of these."""
    letters = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
    if isinstance(value, str):
        return letters.get(value)
    return float(value) if isinstance(value, bool | int | float) else None
