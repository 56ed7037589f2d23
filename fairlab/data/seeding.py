"""Seeds for the epochs and steps of a run, derived from the run's seed."""

from __future__ import annotations

STRIDE = 1_000_003  # a prime; neighbouring run seeds share a derived seed only after this number of steps


def seed_of(seed: int, number: int) -> int:
    """Return the seed of an epoch or a step, so that a resumed run draws the same values as an uninterrupted one.

    Example:
        >>> seed_of(42, 0), seed_of(42, 7)
        (42000126, 42000133)
    """
    return seed * STRIDE + number
