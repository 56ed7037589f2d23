"""A check of rewrites by any rewriter: the same numbers and names, and about the same length.

A language model that is asked for the same in other words often adds what the context says, or something of its own;
texts then grow under one label more than under the other, which is a new shortcut.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.text.words import WORD

LONGER = 1.5  # times as many words as its source that a rewrite may have, and the other way round
FREE = 3  # words more or fewer that any rewrite may have


class SameFacts:
    """Whether a rewrite holds the numbers and capitalised names of its source, and no others, at about its length.

    It reads neither label nor context. What is said of the names it does not see.
    """

    name = "facts"

    def faults(self, items: Sequence[Labelled], made: Sequence[str]) -> list[str | None]:
        """See :class:`fairlab.rewriting.labelled.label_keeping.LabelCheck`."""
        return [
            differing_facts(item.text, text) or _length(item.text, text) for item, text in zip(items, made, strict=True)
        ]


def differing_facts(old: str, new: str) -> str | None:
    """Whether texts differ in what they name or count, in a few words; None where they do not.

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
    """Capitalised words that no sentence begins with."""
    return Counter(match.group(1) for match in re.finditer(r"(?<![.!?:]\s)(?<!^)\b([A-Z]\w+)", text))


def _capitals(text: str) -> Counter[str]:
    """Capitalised words anywhere."""
    return Counter(re.findall(r"\b[A-Z]\w+", text))
