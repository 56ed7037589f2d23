"""Joining of an example's fields into one text for rewriting, and splitting of the rewritten text into fields.

In a joined text, a person who is named in several fields is rewritten in all of them.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 3 and footnote 4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlab.types import Row

SEPARATOR = "<SEP>"
NOT_SPLIT = "field separators changed"  # reason for rejecting a text
_JOINED = f" {SEPARATOR} "
_AROUND = re.compile(rf"\s*{SEPARATOR}\s*")


def join_fields(fields: Sequence[str]) -> str:
    """Join fields into one text, separated by ``<SEP>``."""
    return _JOINED.join(fields)


def named_fields(row: Row, text: str) -> dict[str, str] | None:
    """Return the fields of a rewritten row by name.

    Returns:
        Text of each field, or None if the rewritten text has another number of fields.
    """
    if not row.parts:
        return {row.field: text}
    fields = split_fields(text, row.fields)
    return None if fields is None else dict(zip(row.names, fields, strict=True))


def split_fields(text: str, like: Sequence[str]) -> list[str] | None:
    """Split a rewritten text into fields.

    A field that differs from its source only in outer white space is replaced by its source. ``like`` holds the fields
    of the source.

    Returns:
        Rewritten fields, or None if the source has another number of fields.

    Example:
        >>> split_fields("Jo left. <SEP> Jo is gone.", ["Joe left. ", "Joe is gone."])
        ['Jo left.', 'Jo is gone.']
        >>> split_fields("Jo left. Jo is gone.", ["Joe left. ", "Joe is gone."]) is None
        True
    """
    parts = text.split(_JOINED)
    if len(parts) != len(like):
        parts = _AROUND.split(text)
    if len(parts) != len(like):
        return None
    return [old if part.strip() == old.strip() else part for part, old in zip(parts, like, strict=True)]
