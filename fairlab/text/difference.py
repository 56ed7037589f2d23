"""What differs between two texts, in words."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TypeVar

from rapidfuzz.distance import Indel

Item = TypeVar("Item", bound=Hashable)
PIECE = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]|\s+")


def pieces(text: str) -> list[str]:
    """Words (``he's`` is one), signs and runs of white space; joined they are the text."""
    return PIECE.findall(text)


def stretches(old: Sequence[Item], new: Sequence[Item]) -> list[tuple[list[Item], list[Item]]]:
    """Two sequences as stretches that are equal or differ, in order; joined by side they are the sequences.

    Equal stretches come as the same list twice. What is equal is a longest common subsequence.
    """
    found: list[tuple[list[Item], list[Item]]] = []
    differs = False
    for step in Indel.opcodes(old, new):
        before, after = list(old[step.src_start : step.src_end]), list(new[step.dest_start : step.dest_end])
        if step.tag != "equal" and differs:  # a removal beside an insertion is one change
            found[-1] = (found[-1][0] + before, found[-1][1] + after)
        else:
            found.append((before, after))
        differs = step.tag != "equal"
    return found


def changes(old: str, new: str) -> list[list[str]]:
    """Words and signs that changed, each as what stood there and what stands there now; white space apart.

    Example:
        >>> changes("She saw her cat.", "He saw his cat.")
        [['She', 'He'], ['her', 'his']]
        >>> changes("an Asian doctor", "a doctor")
        [['an Asian', 'a']]
    """
    words = [[piece for piece in pieces(text) if not piece.isspace()] for text in (old, new)]
    return [[" ".join(before), " ".join(after)] for before, after in stretches(*words) if before != after]
