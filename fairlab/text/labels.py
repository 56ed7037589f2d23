"""Labels in different spellings, such as another case, ``1.0`` for ``1`` or ``true`` for ``1``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

BOOLEAN = {"true": "1", "false": "0"}
MISSING = {"", "nan", "none", "null", "<na>"}  # spellings of empty cells by spreadsheets, pandas and JSON


def as_written(value: object) -> str:
    """Return a label as a person would write it: a whole number without its fraction, a Boolean as 1 or 0.

    Whole numbers become fractions, for example, if their column is joined with a table that lacks rows.

    Example:
        >>> [as_written(value) for value in (1.0, "0.0", True, "false", " Positive ", 0.5)]
        ['1', '0', '1', '0', 'Positive', '0.5']
    """
    text = str(value).strip()
    whole = re.fullmatch(r"([+-]?\d+)\.0*", text)
    return whole[1] if whole else BOOLEAN.get(text.casefold(), text)


def label_meant(value: object, known: Iterable[str]) -> str | None:
    """Return the known label that a value represents, or None.

    The exact spelling is tried first, then a spelling that differs in case or in the signs between words, then
    :func:`as_written`.

    Example:
        >>> label_meant("Not-Equivalent", ["equivalent", "not_equivalent"]), label_meant(1.0, ["0", "1"])
        ('not_equivalent', '1')
    """
    exact, text = {name: name for name in known}, str(value).strip()
    folded = {_fold(name): name for name in reversed(exact)}
    return exact.get(text) or folded.get(_fold(text)) or folded.get(_fold(as_written(value)))


def distinct_labels(written: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct labels of a column: numbers by size, then words in alphabetical order.

    Spellings that differ in case, or in the signs between words, are one label. Each label has its commonest spelling.

    Example:
        >>> distinct_labels(["Yes", "no", "yes", "Yes", "No way", "no_way"])
        ('no', 'No way', 'Yes')
    """
    found: dict[str, Counter[str]] = {}
    for label in written:
        found.setdefault(_fold(label), Counter())[label] += 1
    return tuple(sorted((spellings.most_common(1)[0][0] for spellings in found.values()), key=_sort_key))


def is_missing(value: object) -> bool:
    """Return whether a cell contains no label: None, not a number, or one of :data:`MISSING` in any case."""
    return str(value).strip().casefold() in MISSING


def missing_label(value: object) -> str:
    """Return the end of a message about a cell without a label, with the remedy.

    Example:
        >>> missing_label("None")
        "holds 'None', which counts as a missing label; write another value or remove the row"
    """
    text = "" if value is None else str(value).strip()
    if not text:
        return "is empty; fill it in or remove the row"
    return f"holds '{text}', which counts as a missing label; write another value or remove the row"


def _sort_key(label: str) -> tuple[bool, float, str]:
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label.casefold()


def _fold(text: str) -> str:
    return re.sub(r"(?<=\w)[-_\s]+(?=\w)", " ", text.strip()).casefold()
