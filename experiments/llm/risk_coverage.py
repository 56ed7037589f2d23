"""Area under the risk-coverage curve: how well a confidence ranks correct answers above wrong ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairlab.metrics.bootstrap import RESAMPLES
from fairlab.types import FairlabError


def area_under_risk_coverage(confidence: ArrayLike, wrong: ArrayLike) -> float:
    """Return the mean error rate of the k most confident answers over k = 1..N, in 0..1; lower is better.

    For answers with equal confidence, the expectation over their random order is taken. If all answers have equal
    confidence, the area is the error rate.

    Args:
        confidence: Confidence of each answer (N,), on any scale, because only the order matters.
        wrong: Whether each answer is wrong (N,).

    Raises:
        FairlabError: There are no answers, or the lengths differ.

    Source: Geifman, Uziel and El-Yaniv 2019, "Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers",
    section 2.

    Example:
        >>> area_under_risk_coverage([0.9, 0.8, 0.1], [False, False, True])
        0.1111111111111111
    """
    values, errors = np.asarray(confidence, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    if not len(values) or values.shape != errors.shape:
        raise FairlabError(f"a risk-coverage curve needs a confidence per answer, not {len(values)} for {len(errors)}")
    _, group = np.unique(-values, return_inverse=True)
    mean_of_group = np.bincount(group, weights=errors) / np.bincount(group)
    expected = mean_of_group[np.sort(group)]
    return float((np.cumsum(expected) / np.arange(1, len(expected) + 1)).mean())


def gain_over_random(confidence: ArrayLike, wrong: ArrayLike, seed: int = 0) -> tuple[float, float, float]:
    """Return the error rate minus the area under the curve, with a 95 % bootstrap interval over answers.

    A value above 0 means that the confidence ranks better than a random order, whose area is the error rate.

    Args:
        confidence: Confidence of each answer (N,).
        wrong: Whether each answer is wrong (N,).
        seed: Seed of the resampling.

    Raises:
        FairlabError: There are no answers, or the lengths differ.
    """
    values, errors = np.asarray(confidence, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    gain = float(errors.mean()) - area_under_risk_coverage(values, errors)
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, len(values), len(values))
        draws.append(errors[chosen].mean() - area_under_risk_coverage(values[chosen], errors[chosen]))
    low, high = np.quantile(draws, (0.025, 0.975))
    return gain, float(low), float(high)
