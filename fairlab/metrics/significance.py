"""Significance: intervals of proportions, the sign test, and p-values adjusted for multiple tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.metrics.bootstrap import Z

ALPHA = 0.05  # adjusted p-value below which a difference is significant
Array = NDArray[np.float64]
Test = TypeVar("Test", bound=Hashable)


def wilson_interval(count: float, n: int) -> tuple[float, float]:
    r"""Return the 95 % Wilson score interval of the proportion ``count / n``. A tie may count as one half.

    .. math:: \frac{p + z^2 / 2n \pm z \sqrt{p (1 - p) / n + z^2 / 4n^2}}{1 + z^2 / n}

    Returns:
        Lower and upper bound, within [0, 1] and around the proportion; (nan, nan) for no items.

    Example:
        >>> low, high = wilson_interval(7, 14)
        >>> round(low, 3), round(high, 3)
        (0.268, 0.732)

    Source: Wilson 1927; for whole counts the same as scipy's ``proportion_ci(method="wilson")``.
    """
    if n == 0:
        return math.nan, math.nan
    share = count / n
    centre = share + Z**2 / (2 * n)
    margin = Z * math.sqrt(share * (1 - share) / n + (Z / (2 * n)) ** 2)
    scale = 1 + Z**2 / n
    # At counts 0 and n, a bound should equal the share exactly, which rounding may miss.
    return min(share, max(0.0, (centre - margin) / scale)), max(share, min(1.0, (centre + margin) / scale))


def sign_test_p(wins: int, losses: int) -> float:
    """Return the exact two-sided binomial p-value of wins against losses, excluding ties.

    It is 1 if there are neither wins nor losses.

    Example:
        >>> sign_test_p(5, 0)  # 2 / 2**5
        0.0625
    """
    from scipy.stats import binomtest  # takes a second to import, which would slow down --help

    return float(binomtest(wins, max(1, wins + losses)).pvalue)  # none of one has a p-value of 1 as well


def holm(p_values: ArrayLike) -> Array:
    """Return p-values adjusted by Holm's step-down method, in input order, within [0, 1].

    If hypotheses with an adjusted value of at most alpha are rejected, the probability of any false rejection is at
    most alpha.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        array([0.03, 0.06, 0.06])

    Source: Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure".
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)))
    return adjusted


def adjust_tested(
    p_values: Mapping[Test, float | None], adjust: Callable[[Sequence[float]], Array] = holm
) -> dict[Test, float]:
    """Return the adjusted p-values of all tests that have a p-value, which is neither None nor nan."""
    tested = {test: p for test, p in p_values.items() if p is not None and not math.isnan(p)}
    return dict(zip(tested, adjust(list(tested.values())).tolist(), strict=True))


def benjamini_hochberg(p_values: ArrayLike) -> Array:
    """Return p-values adjusted by Benjamini and Hochberg's step-up method, in input order, within [0, 1].

    If hypotheses with an adjusted value of at most alpha are rejected, the expected share of false rejections is at
    most alpha, for independent or positively dependent tests.

    Example:
        >>> benjamini_hochberg([0.01, 0.04, 0.03])
        array([0.03, 0.04, 0.04])

    Source: Benjamini and Hochberg 1995, "Controlling the False Discovery Rate".
    """
    from scipy.stats import false_discovery_control  # takes a second to import, which would slow down --help

    return np.asarray(false_discovery_control(p_values))


def agreement_p(first: ArrayLike, second: ArrayLike) -> float:
    """Return the one-sided p-value for more agreement between two labellings of N items than by chance.

    The statistic is :func:`association_p`'s for one column per label, which counts the equal labels.

    Example:
        >>> round(agreement_p([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]), 4)  # 3 above the mean 3, deviation 1.342
        0.0127
    """
    labels = np.union1d(first, second)
    return association_p(*(np.asarray(side)[:, None] == labels for side in (first, second)))


def association_p(first: ArrayLike, second: ArrayLike) -> float:
    """Return the one-sided p-value for a larger sum of products of two arrays (N, K) than by chance.

    Under the null hypothesis, the rows of one array are permuted at random. The sum of products then has a known mean
    and variance, and is approximated by a normal distribution. If one array is constant, p is 1.
    """
    from scipy.stats import norm

    mine, theirs = (np.asarray(side, dtype=np.float64) for side in (first, second))
    mine, theirs = mine - mine.mean(axis=0), theirs - theirs.mean(axis=0)
    variance = float(((mine.T @ mine) * (theirs.T @ theirs)).sum()) / max(len(mine) - 1, 1)
    return float(norm.sf((mine * theirs).sum() / np.sqrt(variance))) if variance > 1e-12 else 1.0
