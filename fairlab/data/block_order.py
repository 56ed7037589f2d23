"""Random order of any number of blocks, computed on demand so that memory use stays constant."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

ROUNDS = 6


class BlockBatches:
    """Stream of batches of block numbers over all epochs.

    Every epoch goes through the blocks in a random order, and only its last batch may be smaller. The order depends on
    ``count`` and ``seed`` alone. A batch is computed from its number, so a resumed run can skip any number at once.

    Args:
        count: Number of blocks in an epoch.
        batch_size: Number of blocks in a batch.
        epochs: Number of passes.
        seed: Seed of the order.
        skip: Number of batches at the start that were already used.
        there: Number of existing blocks; if it is below ``count``, the first blocks are repeated. None means
            ``count``.
    """

    def __init__(
        self, count: int, batch_size: int, *, epochs: int, seed: int, skip: int = 0, there: int | None = None
    ) -> None:
        self.count, self.batch_size, self.epochs = count, batch_size, epochs
        self.seed, self.skip = seed, skip
        self.there = count if there is None else there

    def __len__(self) -> int:
        """Return the number of batches over all epochs, including skipped ones."""
        return self.epochs * -(-self.count // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the batches after the first ``skip``."""
        for number in range(self.skip, len(self)):
            yield self.batch(number)

    def batch(self, number: int) -> list[int]:
        """Return the blocks of one batch of the stream."""
        epoch, place = divmod(number, -(-self.count // self.batch_size))
        start = place * self.batch_size
        places = np.arange(start, min(start + self.batch_size, self.count), dtype=np.uint64)
        numbers: list[int] = (permuted(places, self.count, f"{self.seed} {epoch}") % np.uint64(self.there)).tolist()
        return numbers


def permuted(places: NDArray[np.uint64], count: int, key: str) -> NDArray[np.uint64]:
    """Return the items at the given positions of a random permutation of 0..count-1.

    A Feistel network permutes the numbers below the next power of four. Values of ``count`` or more are permuted again
    until they are below it, which keeps the result a permutation ("cycle walking").

    Args:
        places: Positions in 0..count-1, (P,).
        count: Number of items, at least 1.
        key: Key that determines the order, in addition to ``count``.

    Source: Black and Rogaway 2002, "Ciphers with Arbitrary Finite Domains", section 5.

    Example:
        >>> sorted(permuted(np.arange(5, dtype=np.uint64), 5, "0").tolist())
        [0, 1, 2, 3, 4]
    """
    half = ((count - 1).bit_length() + 1) // 2
    digests = (hashlib.sha256(f"{key} {number}".encode()).digest()[:8] for number in range(ROUNDS))
    keys = [np.uint64(int.from_bytes(digest)) for digest in digests]
    found = _round_trip(places, half, keys)
    while len(outside := np.flatnonzero(found >= count)):
        found[outside] = _round_trip(found[outside], half, keys)
    return found


def _round_trip(values: NDArray[np.uint64], half: int, keys: list[np.uint64]) -> NDArray[np.uint64]:
    """Permute values of ``2 * half`` bits with a Feistel network."""
    shift, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = values >> shift, values & mask
    for key in keys:
        left, right = right, left ^ (_mix_bits(right + key) & mask)
    return (left << shift) | right


def _mix_bits(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of 64-bit values with the last steps of SplitMix64 (Steele et al. 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
