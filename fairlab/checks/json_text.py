"""Parser for untrusted JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

DEEPEST = 100  # maximum nesting depth; deeper values cannot always be serialised again


def from_json(text: str, *, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Parse a JSON text that contains one value.

    ``parse_constant`` converts ``NaN`` and ``Infinity``, as in :func:`json.loads`.

    Raises:
        ValueError: The text is not JSON, has duplicate keys in an object, contains an integer with thousands of digits,
            or is nested too deeply.
    """
    try:
        value = json.loads(text, parse_constant=parse_constant, object_pairs_hook=_unique_object)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        if "integer string conversion" in str(error):  # the interpreter's limit on the length of an integer
            raise ValueError("an integer has too many digits") from error
        raise
    if text.count("[") + text.count("{") > DEEPEST and _depth_exceeds(value, DEEPEST):
        raise ValueError("nested too deeply")
    return value


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object, and refuse duplicate keys, because a parser would silently keep only the last value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"the key {twice!a} occurs more than once")
    return found


def _depth_exceeds(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        nested = [one for one in level if isinstance(one, dict | list)]
        level = [inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)]
    return any(isinstance(one, dict | list) for one in level)
