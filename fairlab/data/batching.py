"""Batches of items of similar length, reproducible and resumable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from fairlab.data.seeding import seed_of

POOL_BATCHES = 50


class BucketedBatches:
    """Batches of positions, similar lengths together, over all epochs as one stream.

    An epoch is a random permutation cut into pools of 50 batches; each pool is sorted by length and cut into batches,
    and the batches are shuffled. Every item appears once per epoch; only the last batch of an epoch is smaller. The
    stream depends on ``seed`` alone, so a run that resumes after ``skip`` batches sees the same remaining stream.

    Args:
        lengths: length of every item, such as its number of tokens.
        batch_size: number of items in a batch.
        epochs: number of passes over the items.
        seed: seed of the random order.
        skip: number of batches at the start that were already used.
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
        batches = (batch for epoch in range(self.epochs) for batch in self.epoch(epoch))
        for number, batch in enumerate(batches):
            if number >= self.skip:
                yield batch

    def epoch(self, epoch: int) -> list[list[int]]:
        """Return the batches of one epoch, the smaller ones last."""
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
    """Batches of one kind of item each, with an equal number per kind, in random order, over all epochs as one stream.

    The number of batches per kind in an epoch is the number of full batches of the smallest kind (one smaller batch if
    it has no whole one). Items of larger kinds are drawn again in each epoch. The stream depends on ``seed`` alone and
    can be resumed after ``skip`` batches.

    Args:
        lengths: for each kind, the length of every item; positions count through all kinds in order.
        batch_size: number of items in a batch.
        epochs: number of passes, each as long as the smallest kind allows.
        seed: seed of the drawn items and of their order.
        skip: number of batches at the start that were already used.
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
        batches = (batch for epoch in range(self.epochs) for batch in self.epoch(epoch))
        for number, batch in enumerate(batches):
            if number >= self.skip:
                yield batch

    def epoch(self, epoch: int) -> list[list[int]]:
        """Return the batches of one epoch."""
        drawn = [
            [start + position for position in batch]
            for start, kind in zip(self.starts, self.kinds, strict=True)
            for batch in kind.epoch(epoch)[: self.each]
        ]
        generator = torch.Generator().manual_seed(seed_of(self.seed, epoch))
        return [drawn[number] for number in torch.randperm(len(drawn), generator=generator)]
