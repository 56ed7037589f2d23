"""Seeds of the parts of a run: of each epoch and of each step, all from the run's own."""

from __future__ import annotations

STRIDE = 1_000_003  # a prime, so that seeds of neighbouring runs meet after as many steps alone


def seed_of(seed: int, number: int) -> int:
    """Return the seed of an epoch or a step, so that a resumed run draws what an uninterrupted one does.

    Args:
        seed: Seed of the run.
        number: Number of the epoch or the step, from 0.

    Example:
        >>> seed_of(42, 0), seed_of(42, 7)
        (42000126, 42000133)
    """
    return seed * STRIDE + number
