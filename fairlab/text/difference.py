"""Differences between two texts, word by word."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TypeVar

from rapidfuzz.distance import Indel

Item = TypeVar("Item", bound=Hashable)
PIECE = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]|\s+")


def pieces(text: str) -> list[str]:
    """Split a text into words (``he's`` is one), signs and runs of white space, which concatenate to the text."""
    return PIECE.findall(text)


def stretches(old: Sequence[Item], new: Sequence[Item]) -> list[tuple[list[Item], list[Item]]]:
    """Split two sequences into stretches that are equal or differ, in order.

    Items are equal if they belong to a longest common subsequence.

    Returns:
        Stretches of ``old`` with the corresponding ones of ``new``. An equal stretch is the same list twice. The
        stretches of each sequence concatenate to the sequence.
    """
    found: list[tuple[list[Item], list[Item]]] = []
    differs = False
    for step in Indel.opcodes(old, new):
        before, after = list(old[step.src_start : step.src_end]), list(new[step.dest_start : step.dest_end])
        if step.tag != "equal" and differs:  # a removal next to an insertion is one change
            found[-1] = (found[-1][0] + before, found[-1][1] + after)
        else:
            found.append((before, after))
        differs = step.tag != "equal"
    return found


def changes(old: str, new: str) -> list[list[str]]:
    """Return the changed words and signs, each as old and new text. White space is ignored.

    Example:
        >>> changes("She saw her cat.", "He saw his cat.")
        [['She', 'He'], ['her', 'his']]
        >>> changes("an Asian doctor", "a doctor")
        [['an Asian', 'a']]
    """
    words = [[piece for piece in pieces(text) if not piece.isspace()] for text in (old, new)]
    return [[" ".join(before), " ".join(after)] for before, after in stretches(*words) if before != after]
