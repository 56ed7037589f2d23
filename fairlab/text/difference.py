"""Differences between two texts, in words."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TypeVar

from rapidfuzz.distance import Indel

Item = TypeVar("Item", bound=Hashable)
PIECE = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]|\s+")


def pieces(text: str) -> list[str]:
    """Split a text into words (``he's`` is one), signs and runs of white space; joined they give the text."""
    return PIECE.findall(text)


def stretches(old: Sequence[Item], new: Sequence[Item]) -> list[tuple[list[Item], list[Item]]]:
    """Split two sequences into equal and differing stretches, in order; joined by side they give the sequences.

    An equal stretch is the same list twice. Equal items are those of a longest common subsequence.
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
    """Return the changed words and signs, each as old and new text; white space is ignored.

    Example:
        >>> changes("She saw her cat.", "He saw his cat.")
        [['She', 'He'], ['her', 'his']]
        >>> changes("an Asian doctor", "a doctor")
        [['an Asian', 'a']]
    """
    words = [[piece for piece in pieces(text) if not piece.isspace()] for text in (old, new)]
    return [[" ".join(before), " ".join(after)] for before, after in stretches(*words) if before != after]
