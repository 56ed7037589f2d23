"""Bootstrap draws of a statistic, and the intervals and p-values of readings over items."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 2000
FEWEST_ITEMS = 20  # with fewer items, percentile intervals of means have too low a coverage
Z = 1.959963984540054  # 97.5 % quantile of the standard normal distribution
NORMAL_FROM = 5_000  # number of values from which the bootstrap of a mean is replaced by a normal distribution
BATCH = 100  # number of resamples at a time, which bounds the memory
MOST_KEPT = 4_000  # maximum number of items whose counts are kept between calls; 16 MB
MOST_CHOSEN = 200  # maximum number of items whose choices are kept; of more, drawing them again takes no longer
Statistic = Callable[..., NDArray[np.floating]]
Array = NDArray[np.float64]


def mean(values: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    """Return the mean along ``axis``."""
    return values.mean(axis=axis)


def ratio_of_means(
    numerator: NDArray[np.floating], denominator: NDArray[np.floating], axis: int = -1
) -> NDArray[np.floating]:
    """Return the ratio of the means of two samples that are paired by item.

    If the samples are the sums and sizes of clusters, the ratio is the mean of all items, and resampling it is the
    cluster bootstrap. The ratio is NaN or infinite if the mean in the denominator is 0.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return numerator.mean(axis=axis) / denominator.mean(axis=axis)


def cluster_sums(values: ArrayLike, clusters: Sequence[Hashable]) -> tuple[Array, Array]:
    """Return the sum and the number of values in each cluster, both (C,).

    Resampling sums and sizes together is the cluster bootstrap, see :func:`ratio_of_means`.

    Args:
        values: Values to add up, (N,).
        clusters: Cluster of each value; clusters are in order of first appearance.

    Example:
        >>> sums, sizes = cluster_sums([1, 2, 4], ["b", "a", "b"])
        >>> sums.tolist(), sizes.tolist()
        ([5.0, 2.0], [2.0, 1.0])
    """
    places = cluster_numbers(clusters)
    sums = np.bincount(places, weights=np.asarray(values, dtype=np.float64)).astype(np.float64)
    return sums, np.bincount(places).astype(np.float64)


def cluster_numbers(clusters: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return the number of each item's cluster, (N,), from 0 in order of first appearance."""
    place = {cluster: k for k, cluster in enumerate(dict.fromkeys(clusters))}
    return np.array([place[cluster] for cluster in clusters], dtype=np.int64)


def bootstrap_draws(statistic: Statistic, *samples: ArrayLike, seed: int = 0) -> Array:
    """Return 2,000 bootstrap draws of a statistic, from resampled items.

    Calls with the same seed and number of items resample the same items. The differences between two models' draws are
    therefore draws of the paired difference.

    Args:
        statistic: Function that takes samples and the keyword argument ``axis``, which is always their last axis, and
            computes the statistic along it.
        samples: One array (N,) or several of equal length, resampled together.
        seed: Seed of the resampling.
    """
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    n = len(arrays[0])
    batches = _kept_choices(n, seed) if n <= MOST_CHOSEN else _choices(n, seed)
    return np.concatenate([statistic(*(array.take(chosen) for array in arrays), axis=-1) for chosen in batches])


def mean_draws(values: ArrayLike, seed: int = 0) -> Array:
    """Return bootstrap draws (2,000,) of a mean.

    If there are many values, the draws come from a normal distribution with the mean and standard error of the values.
    """
    array = np.asarray(values, dtype=np.float64)
    if len(array) < NORMAL_FROM:
        return bootstrap_draws(mean, array, seed=seed)
    return np.random.default_rng(seed).normal(array.mean(), array.std() / math.sqrt(len(array)), RESAMPLES)


def weighted_draws(statistic: Callable[[Array], Array], clusters: Sequence[Hashable], seed: int = 0) -> Array:
    """Return bootstrap draws (2,000, ...) of a statistic of item weights, from resampled clusters of items.

    Args:
        statistic: Function from weights (B, N), the number of times each item was drawn, to values (B, ...).
        clusters: Cluster of each of the N items.
        seed: Seed of the resampling.

    Draws of two models over the same items are paired, as in ``bootstrap_draws``.
    """
    places = cluster_numbers(clusters)
    n = int(places.max(initial=-1)) + 1
    batches = _kept_counts(n, seed) if n <= MOST_KEPT else _counts(n, seed)
    return np.concatenate([statistic(counts[:, places].astype(np.float64)) for counts in batches])


def _choices(n: int, seed: int) -> Iterator[NDArray[np.integer]]:
    """Yield the places of the items that are drawn in each resample of ``n`` items, (BATCH, n)."""
    rng = np.random.default_rng(seed)
    for _ in range(RESAMPLES // BATCH):
        yield rng.integers(0, n, size=(BATCH, n))


@lru_cache(maxsize=8)
def _kept_choices(n: int, seed: int) -> tuple[NDArray[np.integer], ...]:
    """Return the choices of all resamples, cached because drawing takes longer than most statistics."""
    return tuple(_choices(n, seed))


def _counts(n: int, seed: int) -> Iterator[NDArray[np.int16]]:
    """Yield the number of times that each of ``n`` items is drawn in each resample, (BATCH, n)."""
    for chosen in _choices(n, seed):
        places = chosen + n * np.arange(BATCH)[:, None]
        yield np.bincount(places.ravel(), minlength=BATCH * n).reshape(BATCH, n).astype(np.int16)


@lru_cache(maxsize=8)
def _kept_counts(n: int, seed: int) -> tuple[NDArray[np.int16], ...]:
    """Return the counts of all resamples, cached because many quantities over the same items share them."""
    return tuple(_counts(n, seed))


def percentile_interval(draws: ArrayLike) -> tuple[float, float]:
    """Return the 95 % percentile interval of bootstrap draws.

    The bounds are NaN if more than one draw in twenty is undefined.
    """
    values = _defined(draws)
    with np.errstate(invalid="ignore"):  # between infinite draws
        low, high = np.quantile(values, [0.025, 0.975]) if len(values) else (np.nan, np.nan)
    return float(low), float(high)


def expanded_interval(value: float, low: float, high: float, n: int) -> tuple[float, float]:
    r"""Return a percentile interval widened around its value by :math:`t_{n-1} / z \sqrt{n / (n - 1)}` for ``n`` items.

    Bootstrap percentile intervals for few items are too narrow: the variance of the draws has the divisor n, and their
    quantiles are normal instead of Student's t.

    Example:
        >>> low, high = expanded_interval(1.0, 0.0, 2.0, 30)
        >>> round(low, 3), round(high, 3)
        (-0.061, 2.061)

    Source: Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 5.3.
    """
    from scipy.stats import t  # takes a second to import, which would slow down --help

    if n < 2:
        return math.nan, math.nan
    factor = float(t.ppf(0.975, n - 1)) / Z * math.sqrt(n / (n - 1))
    return value - factor * (value - low), value + factor * (high - value)


def folded_interval(value: float, low: float, high: float, p: float) -> tuple[float, float]:
    """Return a 95 % interval for a mean of absolute values, from percentiles of its draws and its p-value.

    Resampling increases a mean of absolute values, so the draws are above the measured value. The interval is therefore
    centred on the value. Its half-width is half the distance between the two percentiles or, if larger, the distance to
    the upper percentile. The lower bound inverts the test of 0: it is 0 unless the test rejects. The interval contains
    the value.

    Args:
        value: Value of the statistic, at least 0.
        low: Lower percentile of the draws.
        high: Upper percentile of the draws.
        p: P-value of the test that no estimate differs from 0; NaN if there is no test, in which case nothing is
            rejected.

    Example:
        >>> folded_interval(1.347, 1.348, 1.707, 0.21)
        (0.0, 1.707)
    """
    half = max((high - low) / 2, high - value)
    lower = max(0.0, value - half) if p < 0.05 else 0.0
    return lower, max(high, value + half)


def two_sided_p(draws: ArrayLike) -> float:
    """Return the two-sided p-value against 0: twice the smaller share of draws on one side of 0.

    The p-value inverts the percentile interval, so it is below 0.05 if the interval excludes 0 (to within one draw),
    and NaN if the interval is NaN. One draw is added on each side, so 2,000 draws give at least 0.001.

    Source: Davison and Hinkley 1997, "Bootstrap Methods and their Application", section 4.4.
    """
    values = _defined(draws)
    if not len(values):
        return float("nan")
    smaller = min((values <= 0).sum(), (values >= 0).sum())
    return float(min(1.0, 2 * (smaller + 1) / (len(values) + 1)))


def _defined(draws: ArrayLike) -> Array:
    """Return the draws that are not NaN, or an empty array if too many are NaN.

    For example, the correlation is undefined in a resample that repeats a single item.
    """
    values = np.asarray(draws, dtype=np.float64)
    defined = values[~np.isnan(values)]
    return defined if len(defined) >= 0.95 * len(values) else defined[:0]
