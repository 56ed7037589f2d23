"""Mean safety score of each slice of the data, and the gap between slices.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 3.
Shape letters: N examples, K slices, B rows of weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
SAFE, UNSAFE = 0, 1


def sliced_averages(
    scores: ArrayLike, slices: ArrayLike, truth: ArrayLike, of: int, count: int, weights: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Return the mean score and the weight of every slice, over the examples with a given true label.

    Args:
        scores: Score of each example, (N,).
        slices: Number of each example's slice, (N,), from 0; negative for examples outside all slices.
        truth: True label of each example, (N,), 0 (safe) or 1 (unsafe).
        of: True label of the examples to average over, 0 or 1.
        count: Number of slices, K.
        weights: Weight of each example, (N,) or (B, N); None for equal weights.

    Returns:
        Mean score and total weight of each slice, both (K,) or (B, K); the mean is NaN if the weight is 0.

    Example:
        >>> means, sizes = sliced_averages([0.2, 0.4, 0.9], [0, 0, 1], [0, 0, 1], of=0, count=2)
        >>> means.round(3).tolist(), sizes.tolist()
        ([0.3, nan], [2.0, 0.0])
    """
    slices_N = np.asarray(slices)
    used = (slices_N >= 0) & (np.asarray(truth) == of)
    member_NK = np.zeros((used.sum(), count))
    member_NK[np.arange(used.sum()), slices_N[used]] = 1
    weights_BN = np.ones(used.sum()) if weights is None else np.asarray(weights, dtype=np.float64)[..., used]
    sizes = weights_BN @ member_NK
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights_BN * np.asarray(scores, dtype=np.float64)[used]) @ member_NK / sizes, sizes


def largest_gap(averages: ArrayLike) -> Array:
    """Return the range of the averages along the last axis, excluding empty slices.

    The range is NaN for fewer than two non-empty slices.
    """
    values = np.asarray(averages, dtype=np.float64)
    defined = ~np.isnan(values)
    gap = np.where(defined, values, -np.inf).max(axis=-1) - np.where(defined, values, np.inf).min(axis=-1)
    return np.where(defined.sum(axis=-1) > 1, gap, np.nan)
