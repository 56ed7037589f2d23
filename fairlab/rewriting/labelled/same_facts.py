"""Fact check of rewrites: numbers and names must be the same as in the source, and the length must be similar.

A language model that is asked to paraphrase often adds information from the context or invents facts. Texts with one
label then grow more than texts with the other, which is a new shortcut.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.text.words import WORD

LONGER = 1.5  # maximum ratio of words between a rewrite and its source, in either direction
FREE = 3  # difference in words that is always allowed


class SameFacts:
    """Fact check: a rewrite must have exactly the numbers and capitalised names of its source, and a similar length.

    The check uses neither label nor context, and does not compare the statements about the names.
    """

    name = "facts"

    def faults(self, items: Sequence[Labelled], made: Sequence[str]) -> list[str | None]:
        """Return the fault of each rewrite; see :class:`fairlab.rewriting.labelled.label_keeping.LabelCheck`."""
        return [
            differing_facts(item.text, text) or _length(item.text, text) for item, text in zip(items, made, strict=True)
        ]


def differing_facts(old: str, new: str) -> str | None:
    """Return a short description of a difference in numbers or names, or None if all are the same.

    Example:
        >>> differing_facts("It cost Anna 30 pounds.", "Anna paid 40 pounds.")
        'numbers differ'
    """
    if not new.strip():
        return "empty"
    if re.findall(r"\d+", old) != re.findall(r"\d+", new):
        return "numbers differ"
    if not (_names(old) <= _capitals(new) and _names(new) <= _capitals(old)):
        return "names differ"
    return None


def _length(old: str, new: str) -> str | None:
    shorter, longer = sorted(len(WORD.findall(text)) for text in (old, new))
    return None if longer <= max(LONGER * shorter, shorter + FREE) else f"{shorter} words and {longer}"


def _names(text: str) -> Counter[str]:
    """Return the capitalised words that do not begin a sentence."""
    return Counter(match.group(1) for match in re.finditer(r"(?<![.!?:]\s)(?<!^)\b([A-Z]\w+)", text))


def _capitals(text: str) -> Counter[str]:
    """Return all capitalised words."""
    return Counter(re.findall(r"\b[A-Z]\w+", text))
