"""JSON that somebody else wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

DEEPEST = 100  # brackets within one another; what is nested deeper could not always be written again


def from_json(text: str, *, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text.

    Args:
        text: of one value.
        parse_constant: what to make of ``NaN`` and ``Infinity``, as in the standard library.

    Raises:
        ValueError: it is no JSON, holds an integer of thousands of digits, or is nested beyond reason.
    """
    try:
        value = json.loads(text, parse_constant=parse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "digits" in str(error):  # the interpreter's bound on the length of an integer
            raise ValueError("an integer of too many digits") from error
        raise
    if text.count("[") + text.count("{") > DEEPEST and _depth_exceeds(value, DEEPEST):
        raise ValueError("nested too deeply")
    return value


def _depth_exceeds(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        nested = [one for one in level if isinstance(one, dict | list)]
        level = [inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)]
    return any(isinstance(one, dict | list) for one in level)
