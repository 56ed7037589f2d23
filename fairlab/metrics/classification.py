"""Agreement of predictions with true labels or scores, by the metrics of the GLUE tasks.

Source: Wang et al. 2019, "GLUE: A Multi-Task Benchmark and Analysis Platform", section 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fairlab.metrics.bootstrap import Statistic

Array = NDArray[np.floating]


def accuracy(predicted: Array, truth: Array, axis: int = -1) -> Array:
    """Return the share of equal labels along ``axis``, in [0, 1]."""
    return (predicted == truth).mean(axis=axis)


def f1(predicted: Array, truth: Array, axis: int = -1) -> Array:
    """Return the F1 score of label 1 along ``axis``, in [0, 1].

    The score is 0 if the label is neither predicted nor present.

    Example:
        >>> float(f1(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])))  # precision 1/2, recall 1/2
        0.5
    """
    found = ((predicted == 1) & (truth == 1)).sum(axis=axis)
    named = (predicted == 1).sum(axis=axis) + (truth == 1).sum(axis=axis)
    return 2 * found / np.maximum(named, 1)


def macro_f1(predicted: Array, truth: Array, axis: int = -1) -> Array:
    """Return the mean F1 over the labels that are predicted or present, along ``axis``, in [0, 1].

    Example:
        >>> float(macro_f1(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0])).round(4))  # (2/3 + 4/5) / 2
        0.7333
    """
    total, there = np.zeros(()), np.zeros(())
    for label in np.union1d(predicted, truth):
        found = ((predicted == label) & (truth == label)).sum(axis=axis)
        named = (predicted == label).sum(axis=axis) + (truth == label).sum(axis=axis)
        total = total + 2 * found / np.maximum(named, 1)
        there = there + (named > 0)
    return total / there


def matthews(predicted: Array, truth: Array, axis: int = -1) -> Array:
    """Return the Matthews correlation of the labels 0 and 1 along ``axis``, in [-1, 1].

    It equals Pearson's correlation of predicted and true labels. By convention, it is 0 if either of them is constant.

    Example:
        >>> float(matthews(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0])).round(4))  # 2 / sqrt(2 * 1 * 3 * 2)
        0.5774
    """
    return np.nan_to_num(pearson(predicted, truth, axis))


def spearman(first: NDArray[np.floating], second: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    """Return Spearman's rank correlation along ``axis``, in [-1, 1].

    Ties get their mean rank. The result is NaN for constant samples.
    """
    return pearson(rankdata(first, axis=axis), rankdata(second, axis=axis), axis)


def pearson(first: NDArray[np.floating], second: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    """Return Pearson's correlation along ``axis``, in [-1, 1].

    The correlation of constant samples is NaN.
    """
    a, b = (sample - sample.mean(axis=axis, keepdims=True) for sample in (first, second))
    with np.errstate(invalid="ignore"):
        return (a * b).sum(axis=axis) / np.sqrt((a * a).sum(axis=axis) * (b * b).sum(axis=axis))


METRICS: dict[str, Statistic] = {
    "accuracy": accuracy,
    "f1": f1,
    "macro_f1": macro_f1,
    "matthews": matthews,
    "pearson": pearson,
    "spearman": spearman,
}
