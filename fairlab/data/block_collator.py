"""Collation of blocks of pieces into one padded batch, in which pieces do not attend to other pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fairlab.data.batch import Batch

NOT_SCORED = -100  # ignored by torch's cross-entropy


@dataclass(frozen=True)
class PackedBatch(Batch):
    """Batch of B blocks of T tokens, each with several consecutive entries.

    Attributes:
        input_ids: token ids (B, T), padded.
        position_ids: position of each token in its entry, (B, T); restarts from 0 at each entry, which tells the model
            where an entry begins.
        targets: the next token of the same entry, (B, T); ``NOT_SCORED`` at the last one and at padding.
        positions: position of each block in its split, (B,).
        scored: position of each of the M tokens with a target in the flattened (B * T,) batch, (M,).
    """

    input_ids: Tensor
    position_ids: Tensor
    targets: Tensor
    positions: Tensor
    scored: Tensor


def collated(
    blocks: Sequence[Sequence[Sequence[int]]],
    positions: Sequence[int],
    padding_id: int,
    scored: Sequence[Sequence[Sequence[bool]]] | None = None,
) -> PackedBatch:
    """Return blocks as one batch, padded to the fullest; each padding token is a separate piece.

    Args:
        blocks: Token ids of each piece of each block.
        positions: Position of each block in its split.
        padding_id: Token id of the padding.
        scored: Whether each token of each piece is a target; None for all but the first of a piece.
    """
    longest = max(sum(map(len, pieces)) for pieces in blocks)
    shape = (len(blocks), longest)
    input_ids, position_ids = torch.full(shape, padding_id), torch.zeros(shape, dtype=torch.long)
    targets = torch.full(shape, NOT_SCORED)
    for row, pieces in enumerate(blocks):
        start = 0
        for number, piece in enumerate(pieces):
            end = start + len(piece)
            input_ids[row, start:end] = torch.tensor(piece)
            position_ids[row, start:end] = torch.arange(len(piece))
            targets[row, start : end - 1] = torch.tensor(piece[1:])
            if scored is not None:
                chosen = torch.tensor(scored[row][number][1:], dtype=torch.bool)
                targets[row, start : end - 1].masked_fill_(~chosen, NOT_SCORED)
            start = end
    places = (targets != NOT_SCORED).flatten().nonzero().squeeze(1)
    return PackedBatch(input_ids, position_ids, targets, torch.tensor(positions), places)
