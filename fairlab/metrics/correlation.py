"""Correlation, of values and of ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata


def spearman(first: NDArray[np.floating], second: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    """Spearman's rank correlation along ``axis``, average ranks for ties: [-1, 1], nan for a constant sample."""
    return pearson(rankdata(first, axis=axis), rankdata(second, axis=axis), axis)


def pearson(first: NDArray[np.floating], second: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    """Pearson's correlation along ``axis``: [-1, 1], nan for a constant sample."""
    a, b = (sample - sample.mean(axis=axis, keepdims=True) for sample in (first, second))
    with np.errstate(invalid="ignore"):
        return (a * b).sum(axis=axis) / np.sqrt((a * a).sum(axis=axis) * (b * b).sum(axis=axis))
