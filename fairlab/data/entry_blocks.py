"""Packing of entries' pieces into blocks of tokens."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence


def packed(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Pack pieces into blocks, the longest first, each into the block where it leaves the least room.

    Args:
        lengths: length of each piece in tokens, none above ``room``.
        room: length of a block in tokens.

    Example:
        >>> packed([2, 5, 3, 4], 7)
        [[1, 0], [3, 2]]
    """
    blocks: list[list[int]] = []
    left: list[tuple[int, int]] = []  # room left and number of every block, sorted
    for position in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        place = bisect_left(left, (lengths[position], -1))
        if place == len(left):
            rest, number = room, len(blocks)
            blocks.append([])
        else:
            rest, number = left.pop(place)
        blocks[number].append(position)
        insort(left, (rest - lengths[position], number))
    return blocks
