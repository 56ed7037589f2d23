"""Bootstrap intervals: every reading over items carries one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

RESAMPLES = 2000
Statistic = Callable[..., NDArray[np.floating]]


def mean(values: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    """Mean along ``axis``."""
    return values.mean(axis=axis)


def ratio_of_means(
    numerator: NDArray[np.floating], denominator: NDArray[np.floating], axis: int = -1
) -> NDArray[np.floating]:
    """Mean of one sample over the mean of another, paired item by item; nan or inf over a mean of 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return numerator.mean(axis=axis) / denominator.mean(axis=axis)


def percentile_interval(draws: ArrayLike) -> tuple[float, float]:
    """95 % percentile interval of bootstrap draws; nan where a draw is undefined."""
    low, high = np.quantile(np.asarray(draws, dtype=np.float64), [0.025, 0.975])
    return float(low), float(high)


def bootstrap_interval(statistic: Statistic, *samples: ArrayLike, seed: int = 0) -> tuple[float, float]:
    """95 % percentile interval of a statistic under resampling of items (2,000 resamples).

    Args:
        statistic: of the samples along ``axis``.
        samples: one array or several of equal length N, resampled together.
        seed: of the resampling.

    Returns:
        Lower and upper bound in the statistic's unit; (nan, nan) for fewer than two items.
    """
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if len(arrays[0]) < 2:
        return float("nan"), float("nan")
    result = stats.bootstrap(
        arrays,
        statistic,
        n_resamples=RESAMPLES,
        batch=100,
        paired=True,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)
