"""Fair data reweighting (FDW): higher weights for training examples in the slices that a baseline treats worst.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", appendix A.3, based
on Awasthi et al. 2020, "Beyond Individual and Group Fairness".
Shape letters: N examples, K slices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.types import FairlabError

Array = NDArray[np.float64]
SAFE, UNSAFE = 0, 1


@dataclass(frozen=True)
class Strength:
    """Strength of the reweighting for one harm, given by four values.

    Attributes:
        lambda_safe, lambda_unsafe: Weight added to an example each time it is sampled; with 0, sampling has no effect.
        beta_safe, beta_unsafe: Sharpness of the sampling; 0 draws all slices with equal probability.

    Raises:
        FairlabError: A value is negative or not a number.
    """

    lambda_safe: float
    lambda_unsafe: float
    beta_safe: float
    beta_unsafe: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (np.isfinite(value) and value >= 0):
                raise FairlabError(f"method.reweighting: {name} must be a number of at least 0, not {value}")


@dataclass(frozen=True)
class Reweighted:
    """Result of fair data reweighting.

    Attributes:
        weights: Weight of each training example, (N,): 1, plus the lambda of its label for each time it was sampled.
        probabilities: Sampling probability of each slice, (2, K), safe first; all 0 if no example can be sampled.
        counts: Number of examples sampled from each slice, (2, K), safe first.
    """

    weights: Array
    probabilities: Array
    counts: NDArray[np.int64]


def losses(averages: ArrayLike, of: int) -> Array:
    """Return the loss L of each slice, (K,): the distance of its sliced average (SA) from the ideal value.

    The loss is SA for safe examples and 1 - SA for unsafe examples.
    """
    values = np.asarray(averages, dtype=np.float64)
    return values if of == SAFE else 1 - values


def slice_probabilities(loss: ArrayLike, beta: float, sizes: ArrayLike) -> Array:
    r"""Return the sampling probability of each slice, (K,): the softmax of ``beta * loss``, without overflow.

    .. math:: p^i = \frac{e^{\beta L^i}}{\sum_j e^{\beta L^j}}

    Args:
        loss: Loss of each slice, (K,); NaN if the baseline was measured on no example.
        beta: Sharpness of the sampling; 0 draws all slices with equal probability.
        sizes: Number of examples to sample from in each slice, (K,); a slice without examples, or without a loss, has
            probability 0.

    Example:
        >>> slice_probabilities([0.0, np.log(3) / 2, 0.9], 2.0, [5, 1, 0]).round(3).tolist()
        [0.25, 0.75, 0.0]
    """
    values = np.asarray(loss, dtype=np.float64)
    usable = (np.asarray(sizes) > 0) & ~np.isnan(values)
    if not usable.any():
        return np.zeros(len(values))
    exponents = beta * np.where(usable, values, 0)
    powers = np.where(usable, np.exp(exponents - exponents[usable].max()), 0)
    return powers / powers.sum()


def reweight(
    slices: ArrayLike, truth: ArrayLike, averages: ArrayLike, strength: Strength, rng: np.random.Generator
) -> Reweighted:
    """Compute the weights of training examples by sampling from the slices.

    For each label, N examples are drawn with replacement: first a slice by its probability, then a random example of
    the slice with that label. The union of the training set and both samples, weighted by 1 and the two lambdas, is
    equivalent for a weighted learner to the training set with summed weights, which are returned.

    Args:
        slices: Index of each example's slice, (N,), from 0; negative for no slice.
        truth: True label of each example, (N,), 0 (safe) or 1 (unsafe).
        averages: Sliced averages of the baseline on held-out examples, (2, K), safe first.
        strength: Lambdas and betas of the reweighting.
        rng: Random generator for the sampling.
    """
    slices_N, truth_N, averages_2K = np.asarray(slices), np.asarray(truth), np.asarray(averages, dtype=np.float64)
    count = averages_2K.shape[1]
    weights = np.ones(len(slices_N))
    probabilities, counts = np.zeros((2, count)), np.zeros((2, count), dtype=np.int64)
    settings = (
        (SAFE, strength.lambda_safe, strength.beta_safe),
        (UNSAFE, strength.lambda_unsafe, strength.beta_unsafe),
    )
    for of, lambda_, beta in settings:
        members = [np.flatnonzero((slices_N == k) & (truth_N == of)) for k in range(count)]
        probabilities[of] = slice_probabilities(losses(averages_2K[of], of), beta, [len(part) for part in members])
        if not probabilities[of].any():
            continue
        counts[of] = rng.multinomial(len(slices_N), probabilities[of])
        for part, drawn in zip(members, counts[of], strict=True):
            if drawn:
                times = np.bincount(rng.integers(0, len(part), drawn), minlength=len(part))
                weights[part] += lambda_ * times
    return Reweighted(weights, probabilities, counts)
