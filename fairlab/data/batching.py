"""Batches of items of similar length, reproducible and resumable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

import torch

from fairlab.data.seeding import seed_of

POOL_BATCHES = 50


class BucketedBatches:
    """Stream of batches over all epochs, each with the positions of items of similar length.

    An epoch is a random permutation of the items, which is divided into pools of 50 batches. Each pool is sorted by
    length and divided into batches, and the batches are shuffled. Every item appears once per epoch. Only the last
    batch of an epoch may be smaller. The stream depends on ``seed`` alone, so a run that resumes after ``skip`` batches
    sees the same remaining stream.

    Args:
        lengths: Length of every item, such as its number of tokens.
        batch_size: Number of items in a batch.
        epochs: Number of passes over the items.
        seed: Seed of the random order.
        skip: Number of batches at the start that were already used.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, *, epochs: int, seed: int, skip: int = 0) -> None:
        self.lengths = torch.tensor(lengths)
        self.batch_size = batch_size
        self.epochs = epochs
        self.seed = seed
        self.skip = skip

    def __len__(self) -> int:
        """Return the number of batches over all epochs, including skipped ones."""
        return self.epochs * -(-len(self.lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the batches after the first ``skip``."""
        yield from islice(chain.from_iterable(map(self.epoch, range(self.epochs))), self.skip, None)

    def epoch(self, epoch: int) -> list[list[int]]:
        """Return the batches of one epoch. Only the last batch may be smaller than the others."""
        generator = torch.Generator().manual_seed(seed_of(self.seed, epoch))
        order = torch.randperm(len(self.lengths), generator=generator)
        full: list[torch.Tensor] = []
        rest: list[torch.Tensor] = []
        for pool in order.split(self.batch_size * POOL_BATCHES):
            by_length = pool[self.lengths[pool].argsort(stable=True)]
            for batch in by_length.split(self.batch_size):
                (full if len(batch) == self.batch_size else rest).append(batch)
        shuffled = [full[position] for position in torch.randperm(len(full), generator=generator)]
        return [batch.tolist() for batch in [*shuffled, *rest]]


class AlternatingBatches:
    """Stream of batches over all epochs, each with items of one kind, and with equally many batches per kind.

    The number of batches per kind in an epoch is the number of full batches of the smallest kind, but at least one.
    Items of larger kinds are sampled again in each epoch, and the batches of all kinds are shuffled. The stream depends
    on ``seed`` alone and can be resumed after ``skip`` batches.

    Args:
        lengths: Length of every item of each kind. Positions are numbered consecutively across the kinds.
        batch_size: Number of items in a batch.
        epochs: Number of epochs.
        seed: Seed for the sampled items and their order.
        skip: Number of batches at the start that were already used.
    """

    def __init__(
        self, lengths: Sequence[Sequence[int]], batch_size: int, *, epochs: int, seed: int, skip: int = 0
    ) -> None:
        self.kinds = [BucketedBatches(kind, batch_size, epochs=epochs, seed=seed) for kind in lengths]
        self.starts = [sum(map(len, lengths[:k])) for k in range(len(lengths))]
        self.each = max(1, min(map(len, lengths)) // batch_size)
        self.epochs = epochs
        self.seed = seed
        self.skip = skip

    def __len__(self) -> int:
        """Return the number of batches over all epochs, including skipped ones."""
        return self.epochs * self.each * len(self.kinds)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the batches after the first ``skip``."""
        yield from islice(chain.from_iterable(map(self.epoch, range(self.epochs))), self.skip, None)

    def epoch(self, epoch: int) -> list[list[int]]:
        """Return the batches of one epoch."""
        drawn = [
            [start + position for position in batch]
            for start, kind in zip(self.starts, self.kinds, strict=True)
            for batch in kind.epoch(epoch)[: self.each]
        ]
        generator = torch.Generator().manual_seed(seed_of(self.seed, epoch))
        return [drawn[number] for number in torch.randperm(len(drawn), generator=generator)]
