"""Shift of a score's distribution between two samples: the Kolmogorov-Smirnov distance, and the change of the mean.

Shape letters: N, M values of the samples, C bins, B draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.metrics.bootstrap import RESAMPLES, mean_draws, percentile_interval

EIGHT_IN_TEN = 0.8416  # standard normal quantile of 0.8
CELLS = 500  # number of bins for samples with more distinct values, which gives distances to within 1/500

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreShift:
    """Shift of a score's distribution from one sample to another.

    Attributes:
        n: Number of values in each sample.
        means: Mean of each sample.
        change: Change of the mean.
        change_interval: 95 % interval of the change.
        distance: Largest difference between the cumulative distributions, in [0, 1]; 0 for equal distributions.
        distance_interval: 95 % interval of the distance, from resampling both samples. Because a distance is never
            negative, the interval is biased upwards for small shifts.
        chance: 95 % quantile of the distance between samples of these sizes if there is no shift.
        detectable: Smallest true distance that exceeds ``chance`` in at least 80 % of samples of these sizes (80 %
            power).
    """

    n: tuple[int, int]
    means: tuple[float, float]
    change: float
    change_interval: tuple[float, float]
    distance: float
    distance_interval: tuple[float, float]
    chance: float
    detectable: float

    @property
    def beyond_chance(self) -> bool:
        """Return whether the distance exceeds ``chance``."""
        return self.distance > self.chance


def shift(before: ArrayLike, after: ArrayLike, seed: int = 0) -> ScoreShift:
    """Measure the shift of values between two samples.

    Args:
        before: Values of the earlier sample, (N,), at least two.
        after: Values of the later sample, (M,), at least two.
        seed: Seed of the draws.

    Example:
        >>> found = shift([0.1] * 50 + [0.2] * 50, [0.1] * 20 + [0.2] * 80)
        >>> round(found.distance, 3), round(found.change, 3), found.beyond_chance
        (0.3, 0.03, True)
    """
    some, others = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    counts_2C = _counts(some, others)
    rng = np.random.default_rng(seed)
    drawn = [rng.multinomial(count.sum(), count / count.sum(), RESAMPLES) for count in counts_2C]
    together = counts_2C.sum(axis=0) / counts_2C.sum()
    by_chance = [rng.multinomial(count.sum(), together, RESAMPLES) for count in counts_2C]
    chance = float(np.quantile(_distance(*by_chance), 0.95))
    changes = mean_draws(others, seed + 1) - mean_draws(some, seed)
    # The distance is at least the difference between the shares below the value at which the true distance is largest.
    # The power is a lower bound, because the error of this difference is largest if both shares are one half.
    largest_error = float(np.sqrt(0.25 / len(some) + 0.25 / len(others)))
    return ScoreShift(
        n=(len(some), len(others)),
        means=(float(some.mean()), float(others.mean())),
        change=float(others.mean() - some.mean()),
        change_interval=percentile_interval(changes),
        distance=float(_distance(*counts_2C)),
        distance_interval=percentile_interval(_distance(*drawn)),
        chance=chance,
        detectable=min(1.0, chance + EIGHT_IN_TEN * largest_error),
    )


def _counts(some: Array, others: Array) -> NDArray[np.int64]:
    """Return the histogram counts (2, C) of both samples over shared bins.

    If there are few distinct values, each has its own bin.
    """
    bounds = np.unique(np.concatenate([some, others]))
    if len(bounds) > CELLS:
        bounds = np.unique(np.quantile(np.concatenate([some, others]), np.arange(1, CELLS + 1) / CELLS))
    places = [np.searchsorted(bounds, values, side="left") for values in (some, others)]
    return np.stack([np.bincount(place, minlength=len(bounds)) for place in places])


def _distance(some: NDArray[np.int64], others: NDArray[np.int64]) -> Array:
    """Return the largest difference between the cumulative shares of two samples' counts, along the last axis."""
    shares = [counts.cumsum(axis=-1) / counts.sum(axis=-1, keepdims=True) for counts in (some, others)]
    return np.asarray(np.abs(shares[0] - shares[1]).max(axis=-1))
