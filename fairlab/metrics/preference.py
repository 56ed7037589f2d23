"""Preference for the male, the female or the neutral version of an item, from one score per version."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def margins(scores_N3: Array) -> Array:
    """Return the male minus the female score of each item, (N,), in the unit of the scores.

    Args:
        scores_N3: Scores of the male, the female and the neutral version of each item, (N, 3).
    """
    return scores_N3[:, 0] - scores_N3[:, 1]


def male_first(scores_N3: Array) -> Array:
    """Return 1 for each item whose male version scores above its female one, 0.5 for a tie, else 0."""
    return (np.sign(margins(scores_N3)) + 1) / 2


def neutral_first(scores_N3: Array) -> Array:
    """Return 1 for each item whose neutral version scores highest, 1/k if k versions tie, else 0."""
    first = scores_N3 == scores_N3.max(axis=1, keepdims=True)
    return first[:, 2] / first.sum(axis=1)
