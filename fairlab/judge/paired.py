"""Paired difference between two models, with its interval, permutation test and smallest detectable difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairlab.metrics.bootstrap import cluster_sums

Array = NDArray[np.float64]
EXACT_TO = 14  # largest number of units for which all sign flips are enumerated
FLIPS = 10_000
BATCH = 500
NORMAL_FROM = 20_000  # number of units from which the sign-flip distribution is approximated by a normal one
FEWEST = 8  # smallest number of units for which an interval is printed
LEVEL, POWER = 0.05, 0.8


@dataclass(frozen=True)
class PairedDifference:
    """Mean difference between two models over the same items.

    Attributes:
        difference: Mean of the second model's scores minus the first model's scores.
        low, high: Bounds of the 95 % interval; nan if there are fewer than :data:`FEWEST` clusters.
        inner: Bounds of the 90 % interval, which is used for two one-sided tests at 5 %; nan if ``low`` is nan.
        p: Two-sided p-value of the permutation test.
        n: Number of items.
        units: Number of clusters, which is the number of items if items are independent.
        changed: Number of items on which the two models have different scores.
        detectable: Smallest difference that the test detects with 80 % power on these items; nan if ``low`` is nan.
        needed: Number of items needed to detect the observed difference; None if the difference is 0 or there is no
            interval.
    """

    difference: float
    low: float
    high: float
    inner: tuple[float, float]
    p: float
    n: int
    units: int
    changed: int
    detectable: float
    needed: int | None


def paired_difference(first: Array, second: Array, clusters: Sequence[str] = (), seed: int = 0) -> PairedDifference:
    r"""Compare the scores (N,) of two models on the same items.

    The interval is the cluster-robust t-interval of the mean difference over C clusters with sums :math:`s_c` and sizes
    :math:`n_c`, :math:`\bar d \pm t_{C-1} \sqrt{C / (C - 1) \sum_c (s_c - \bar d n_c)^2} / N`. The p-value comes from a
    permutation test that exchanges the two models within clusters. For independent items with scores of 0 and 1, this
    is McNemar's exact test.

    Args:
        first: Scores of the first model.
        second: Scores of the second model.
        clusters: Cluster of each item; empty for independent items.
        seed: Random seed of the permutations.

    Source: Liang and Zeger 1986 (interval); Good 2005, "Permutation, Parametric, and Bootstrap Tests of Hypotheses",
    section 3.2 (test); Miller 2024, "Adding Error Bars to Evals", section 3.3 (clusters).
    """
    from scipy.stats import norm, t

    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    n = len(differences)
    sums, sizes = cluster_sums(differences, clusters or [str(k) for k in range(n)])
    units = len(sums)
    mean = float(differences.mean())
    changed = int((differences != 0).sum())
    low = high = detectable = math.nan
    inner = (math.nan, math.nan)
    needed = None
    if units >= FEWEST:
        error = clustered_error(sums, sizes)
        quantile = float(t.ppf(1 - LEVEL / 2, units - 1))
        low, high = mean - quantile * error, mean + quantile * error
        one_sided = float(t.ppf(1 - LEVEL, units - 1)) * error
        inner = mean - one_sided, mean + one_sided
        detectable = (quantile + float(norm.ppf(POWER))) * error
        needed = math.ceil(n * (detectable / mean) ** 2) if mean and detectable else None
    return PairedDifference(mean, low, high, inner, sign_flip_p(sums, seed), n, units, changed, detectable, needed)


def clustered_error(sums: Array, sizes: Array) -> float:
    """Return the standard error of the mean over all items, from the sums (C,) and sizes (C,) of two or more clusters.

    Example:
        >>> round(clustered_error(np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4)), 4)  # deviation over root of 4
        0.2887
    """
    units, n = len(sums), float(sizes.sum())
    return math.sqrt(units / (units - 1) * float(((sums - float(sums.sum()) / n * sizes) ** 2).sum())) / n


def sign_flip_p(sums: Array, seed: int = 0) -> float:
    """Return the two-sided p-value of a zero mean under random signs of the cluster sums.

    If all sums have the same magnitude, the exact binomial distribution of their signs is used. Otherwise, all sign
    patterns are enumerated for up to :data:`EXACT_TO` nonzero sums. For more sums, 10,000 patterns are drawn, and the
    observed pattern is counted in addition. From :data:`NORMAL_FROM` sums on, the normal approximation is used.

    Args:
        sums: Sum of the differences in each cluster, (C,).
        seed: Random seed of the signs.

    Example:
        >>> sign_flip_p(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]))  # 2 / 2**5
        0.0625
    """
    from scipy.stats import binomtest, norm

    moved = sums[sums != 0]
    if not len(moved):
        return 1.0
    if np.ptp(np.abs(moved)) <= 1e-12 * np.abs(moved).max():
        return float(binomtest(int((moved > 0).sum()), len(moved)).pvalue)
    if len(moved) >= NORMAL_FROM:
        return float(2 * norm.sf(abs(moved.sum()) / math.sqrt(float((moved**2).sum()))))
    observed = abs(moved.sum()) - 1e-9 * np.abs(moved).sum()  # treats sums that differ only by rounding as equal
    if len(moved) <= EXACT_TO:
        bits = (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1
        return float((np.abs((1 - 2 * bits) @ moved) >= observed).mean())
    rng = np.random.default_rng(seed)
    beyond = 0
    for _ in range(FLIPS // BATCH):
        signs = rng.integers(0, 2, size=(BATCH, len(moved)), dtype=np.int8) * 2 - 1
        beyond += int((np.abs(signs @ moved) >= observed).sum())
    return (beyond + 1) / (FLIPS + 1)
