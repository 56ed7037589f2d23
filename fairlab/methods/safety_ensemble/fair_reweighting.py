"""Fair data reweighting (FDW): training examples of the slices that a baseline treats worst weigh more.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", appendix A.3, after
Awasthi et al. 2020, "Beyond Individual and Group Fairness".
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
    """The four values that reweighting has for a harm.

    Attributes:
        lambda_safe, lambda_unsafe: weight that an example gains for each time it is sampled; 0 samples in vain.
        beta_safe, beta_unsafe: sharpness of the sampling; 0 draws all slices alike.

    Raises:
        FairlabError: one of them is negative or no number.
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
    """What reweighting gives.

    Attributes:
        weights: weight of each training example, (N,): 1, and a lambda for each time that it was sampled.
        probabilities: probability of each slice, (2, K), safe first; all 0 where nothing can be sampled.
        counts: number of examples sampled from each slice, (2, K), safe first.
    """

    weights: Array
    probabilities: Array
    counts: NDArray[np.int64]


def losses(averages: ArrayLike, of: int) -> Array:
    """L (K,): how far sliced averages are from what they should be: SA for safe examples, 1 - SA for unsafe ones."""
    values = np.asarray(averages, dtype=np.float64)
    return values if of == SAFE else 1 - values


def slice_probabilities(loss: ArrayLike, beta: float, sizes: ArrayLike) -> Array:
    r"""Softmax of ``beta * loss`` over the slices that can be sampled, (K,); it overflows for no beta.

    .. math:: p^i = \frac{e^{\beta L^i}}{\sum_j e^{\beta L^j}}

    Args:
        loss: loss of each slice, (K,); nan where the baseline was measured on no example.
        beta: sharpness of the sampling; 0 draws all slices alike.
        sizes: number of examples to sample from in each slice, (K,); a slice without any, or without a loss, has
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
    powers = np.where(usable, np.exp(np.minimum(exponents - exponents[usable].max(), 0)), 0)
    return powers / powers.sum()


def reweight(
    slices: ArrayLike, truth: ArrayLike, averages: ArrayLike, strength: Strength, rng: np.random.Generator
) -> Reweighted:
    """Weights of the training examples.

    N examples are drawn with replacement for each truth: a slice by its probability, then any example of it that has
    that truth. The union of the training set with both samples, weighted by 1 and the two lambdas, is the same for a
    weighted learner as the training set with the summed weights, which is what is returned.

    Args:
        slices: number of each example's slice, (N,), from 0; negative for none.
        truth: true label of each example, (N,), 0 (safe) or 1 (unsafe).
        averages: sliced averages of the baseline on held-out examples, (2, K), safe first.
        strength: lambdas and betas, which say how strongly to reweight.
        rng: random generator of the sampling.
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
