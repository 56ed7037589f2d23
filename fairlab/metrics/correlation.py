"""Rank correlation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata


def spearman(first: NDArray[np.floating], second: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    """Spearman's rank correlation along ``axis``, average ranks for ties: [-1, 1], nan for a constant sample."""
    a, b = (rankdata(sample, axis=axis) for sample in (first, second))
    a, b = (ranks - ranks.mean(axis=axis, keepdims=True) for ranks in (a, b))
    with np.errstate(invalid="ignore"):
        return (a * b).sum(axis=axis) / np.sqrt((a * a).sum(axis=axis) * (b * b).sum(axis=axis))
