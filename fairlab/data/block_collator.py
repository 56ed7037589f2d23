"""Packing of pieces of text into blocks, and collation of blocks, whose pieces do not attend to each other."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.data.batch import Batch
from fairlab.types import FairlabError

NOT_SCORED = -100  # ignored by torch's cross-entropy


@dataclass(frozen=True)
class PackedBatch(Batch):
    """Batch of B blocks of T tokens, each with several consecutive entries.

    Attributes:
        input_ids: Token ids (B, T), padded.
        position_ids: Position of each token in its entry, (B, T). It restarts from 0 at each entry, so the model can
            infer where an entry begins.
        targets: Next token of the same entry, (B, T); ``NOT_SCORED`` at the last token of an entry and at padding.
        positions: Position of each block in its split, (B,).
        scored: Positions, in the flattened batch (B * T,), of the M tokens that have a target, (M,).
    """

    input_ids: Tensor
    position_ids: Tensor
    targets: Tensor
    positions: Tensor
    scored: Tensor


def collated(blocks: Sequence[Sequence[Sequence[int]]], positions: Sequence[int], padding_id: int) -> PackedBatch:
    """Collate blocks into one batch, padded to the longest block. Each padding token is a separate piece.

    Args:
        blocks: Token ids of each piece of each block.
        positions: Position of each block in its split.
        padding_id: Token id of the padding.
    """
    longest = max(sum(map(len, pieces)) for pieces in blocks)
    shape = (len(blocks), longest)
    input_ids, position_ids = torch.full(shape, padding_id), torch.zeros(shape, dtype=torch.long)
    targets = torch.full(shape, NOT_SCORED)
    for row, pieces in enumerate(blocks):
        start = 0
        for piece in pieces:
            end = start + len(piece)
            input_ids[row, start:end] = torch.tensor(piece)
            position_ids[row, start:end] = torch.arange(len(piece))
            targets[row, start : end - 1] = torch.tensor(piece[1:])
            start = end
    places = (targets != NOT_SCORED).flatten().nonzero().squeeze(1)
    return PackedBatch(input_ids, position_ids, targets, torch.tensor(positions), places)


def refuse_block(block: int, encoder: Backbone, least: int) -> None:
    """Raise FairlabError if a block is shorter than ``least`` tokens, or longer than the texts that the model reads."""
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
