"""Labels in any spelling: other case, ``1.0`` for ``1``, ``true`` for ``1``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

BOOLEAN = {"true": "1", "false": "0"}
MISSING = {"", "nan", "none", "null", "<na>"}  # spellings of empty cells by spreadsheets, pandas and JSON


def as_written(value: object) -> str:
    """Return a label as a person writes it: a whole number without its fraction, a Boolean as 1 or 0.

    A column of whole numbers becomes a column of fractions when it is joined with a table that lacks rows.

    Example:
        >>> [as_written(value) for value in (1.0, "0.0", True, "false", " Positive ", 0.5)]
        ['1', '0', '1', '0', 'Positive', '0.5']
    """
    text = str(value).strip()
    whole = re.fullmatch(r"([+-]?\d+)\.0*", text)
    return whole[1] if whole else BOOLEAN.get(text.casefold(), text)


def label_meant(value: object, known: Iterable[str]) -> str | None:
    """Return the known label that a value means, or None.

    The exact spelling is tried first, then a spelling that differs in case or in the signs between words, then
    :func:`as_written`.

    Args:
        value: label as a file or a table holds it.
        known: spellings of the known labels.

    Example:
        >>> label_meant("Not-Equivalent", ["equivalent", "not_equivalent"]), label_meant(1.0, ["0", "1"])
        ('not_equivalent', '1')
    """
    exact, text = {name: name for name in known}, str(value).strip()
    folded = {_folded(name): name for name in reversed(exact)}
    return exact.get(text) or folded.get(_folded(text)) or folded.get(_folded(as_written(value)))


def distinct_labels(written: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of a column, numbers by size and then words, each in its commonest spelling.

    Spellings that differ in case, or in the signs between words, are one label.

    Example:
        >>> distinct_labels(["Yes", "no", "yes", "Yes", "No way", "no_way"])
        ('no', 'No way', 'Yes')
    """
    found: dict[str, Counter[str]] = {}
    for label in written:
        found.setdefault(_folded(label), Counter())[label] += 1
    return tuple(sorted((spellings.most_common(1)[0][0] for spellings in found.values()), key=_in_order))


def is_missing(value: object) -> bool:
    """Return whether a cell holds no label: None, not a number, or one of :data:`MISSING` in any case."""
    return str(value).strip().casefold() in MISSING


def _in_order(label: str) -> tuple[bool, float, str]:
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label.casefold()


def _folded(text: str) -> str:
    return re.sub(r"(?<=\w)[-_\s]+(?=\w)", " ", text.strip()).casefold()
