"""Average precision (AU-PRC) and the area under the ROC curve (AUC), for weighted items."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def average_precision(truth: ArrayLike, scores: ArrayLike, weights: ArrayLike | None = None) -> Array:
    r"""Return the average precision, in [0, 1], for every row of weights.

    .. math:: AP = \sum_k (R_k - R_{k-1}) P_k

    over the distinct scores in decreasing order; items with the same score enter together, as in scikit-learn.

    Args:
        truth: True label of each example, (N,), 0 or 1.
        scores: Score of each example, (N,), higher for label 1.
        weights: Weight of each example, (N,), or (B, N) for B values; whole numbers can be the counts of a bootstrap
            draw. None for equal weights.

    Returns:
        Average precision, (B,) or a single number; NaN if label 1 has no weight.

    Example:
        >>> float(average_precision([1, 0, 1], [0.9, 0.8, 0.7]))  # 1/2 * 1 + 1/2 * 2/3
        0.8333333333333333
    """
    ranked = np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")
    sorted_scores = np.asarray(scores, dtype=np.float64)[ranked]
    truth_N = np.asarray(truth, dtype=np.float64)[ranked]
    weights_BN = np.ones(len(truth_N)) if weights is None else np.asarray(weights, dtype=np.float64)[..., ranked]
    positive = np.flatnonzero(truth_N)
    if not len(positive):
        return np.full(weights_BN.shape[:-1], np.nan)
    # Only groups of equal scores that contain label 1 raise the recall.
    end = np.searchsorted(-sorted_scores, -sorted_scores[positive], side="right") - 1
    last = np.append(np.flatnonzero(np.diff(end)), len(positive) - 1)
    found = np.cumsum(weights_BN[..., positive], axis=-1)[..., last]
    named = np.cumsum(weights_BN, axis=-1)[..., end[last]]
    gained = np.diff(found, axis=-1, prepend=0)
    precision = np.divide(found, named, out=np.zeros_like(found), where=named > 0)
    with np.errstate(invalid="ignore"):
        return np.asarray((gained * precision).sum(axis=-1) / found[..., -1])


def area_under_roc(truth: ArrayLike, scores: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Return the area under the ROC curve, in [0, 1], for every row of weights.

    It is the probability that an item with label 1 scores above an item with label 0; equal scores count one half.

    Args:
        truth: True label of each example, (N,), 0 or 1.
        scores: Score of each example, (N,), higher for label 1.
        weights: Weight of each example, (N,), or (B, N) for B values; None for equal weights.

    Returns:
        Area, (B,) or a single number; NaN if one of the labels has no weight.

    Example:
        >>> float(area_under_roc([1, 0, 1, 0], [0.9, 0.8, 0.5, 0.5]))  # of four pairs two are right, one is equal
        0.625
    """
    values = np.asarray(scores, dtype=np.float64)
    ranked = np.argsort(values, kind="stable")
    truth_N = np.asarray(truth, dtype=np.float64)[ranked]
    weights_BN = np.ones(len(truth_N)) if weights is None else np.asarray(weights, dtype=np.float64)[..., ranked]
    positive = np.flatnonzero(truth_N)
    start, end = (np.searchsorted(values[ranked], values[ranked[positive]], side=side) for side in ("left", "right"))
    negative = np.zeros((*weights_BN.shape[:-1], len(truth_N) + 1))  # weight of label 0 before each place
    np.cumsum(weights_BN * (1 - truth_N), axis=-1, out=negative[..., 1:])
    below = (negative[..., start] + negative[..., end]) / 2
    own = weights_BN[..., positive]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((own * below).sum(axis=-1) / (own.sum(axis=-1) * negative[..., -1]))
