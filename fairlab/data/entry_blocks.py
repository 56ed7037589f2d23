"""Packing of pieces of text into blocks of tokens."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from fairlab.backbones.backbone import Backbone
from fairlab.types import FairlabError


def refuse_block(block: int, encoder: Backbone, least: int) -> None:
    """Raise an error if a block is shorter than ``least`` tokens, or longer than the texts that the model reads.

    Raises:
        FairlabError: The length is out of range.
    """
    if not least <= block <= encoder.max_length:
        raise FairlabError(
            f"data.block must be at least {least} and at most the {encoder.max_length} tokens that the model reads "
            f"(backbone.max_length), not {block}; set data.block={encoder.max_length}"
        )


def packed(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Pack pieces into blocks with best-fit decreasing: the longest first, each where it leaves the least room.

    Args:
        lengths: Length of each piece in tokens, at most ``room``.
        room: Length of a block in tokens.

    Returns:
        Positions of the pieces in each block.

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
