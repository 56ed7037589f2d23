"""Fairness of safety scores: average counterfactual variance (ACV), flip rate, sliced averages, equalised odds.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 3; equalised
odds: Hardt et al. 2016, "Equality of Opportunity in Supervised Learning".
Shape letters: N examples, S counterfactual sets of two examples or more, K slices, B rows of weights.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

Array = NDArray[np.float64]


def set_numbers(sets: Sequence[Hashable | None]) -> tuple[NDArray[np.int64], list[Hashable]]:
    """The set of each example as a number, and the sets of two examples or more by number.

    Args:
        sets: name of each text's set, (N,); None is in no set.

    Returns:
        Number of each text's set, (N,), -1 outside of a set or alone in one; and the sets' names in order of first
        appearance.
    """
    sizes: dict[Hashable, int] = {}
    for name in sets:
        if name is not None:
            sizes[name] = sizes.get(name, 0) + 1
    names = [name for name, size in sizes.items() if size > 1]
    number = {name: k for k, name in enumerate(names)}
    return np.array([number.get(name, -1) if name is not None else -1 for name in sets], dtype=np.int64), names


def set_variances(scores: ArrayLike, place: NDArray[np.int64]) -> Array:
    """Population variance (S,) of the scores of every set.

    Args:
        scores: score of each text, (N,).
        place: number of each text's set, (N,), as :func:`set_numbers` gives it.

    Example:
        >>> set_variances([0.0, 1.0, 0.5, 0.5, 9.0], np.array([0, 0, 1, 1, -1])).tolist()
        [0.25, 0.0]
    """
    inside = place >= 0
    values, place = np.asarray(scores, dtype=np.float64)[inside], place[inside]
    sizes = np.bincount(place)
    means = np.bincount(place, weights=values) / sizes
    return np.bincount(place, weights=(values - means[place]) ** 2) / sizes


def average_counterfactual_variance(scores: ArrayLike, sets: Sequence[Hashable | None]) -> float:
    """Mean over the sets of the population variance of their scores; 0 is fair; nan where there is no set.

    Examples outside of a set, and sets of one, are left out.
    """
    variances = set_variances(scores, set_numbers(sets)[0])
    return float(variances.mean()) if len(variances) else float("nan")


def set_flips(scores: ArrayLike, place: NDArray[np.int64], threshold: float) -> Array:
    """1.0 for every set (S,) with scores on both sides of the threshold (at it counts as above), else 0.0."""
    inside = place >= 0
    above, place = (np.asarray(scores)[inside] >= threshold).astype(np.float64), place[inside]
    shares = np.bincount(place, weights=above) / np.bincount(place)
    return ((shares > 0) & (shares < 1)).astype(np.float64)


class CounterfactualVariance(Metric):
    """Average counterfactual variance over batches, which may cut through sets or hold none.

    ``update(scores, sets)`` takes scores (B,) and the number of each example's set (B,), negative for none.
    """

    full_state_update = False
    higher_is_better = False
    scores: list[Tensor]
    sets: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.add_state("scores", default=[], dist_reduce_fx="cat")
        self.add_state("sets", default=[], dist_reduce_fx="cat")

    def update(self, scores: Tensor, sets: Tensor) -> None:
        """Take a batch."""
        self.scores.append(scores.detach().double())
        self.sets.append(sets)

    def compute(self) -> Tensor:
        """The mean variance; nan where no set has two examples."""
        if not len(self.scores):  # a list, or one tensor once processes have met
            return torch.tensor(torch.nan, dtype=torch.float64)
        scores, sets = dim_zero_cat(self.scores), dim_zero_cat(self.sets)
        names = [number if number >= 0 else None for number in sets.tolist()]
        return torch.tensor(average_counterfactual_variance(scores.cpu().numpy(), names), dtype=torch.float64)


SAFE, UNSAFE = 0, 1


def sliced_averages(
    scores: ArrayLike, slices: ArrayLike, truth: ArrayLike, of: int, count: int, weights: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Mean score and weight of every slice among the examples of one truth.

    Args:
        scores: score of each example, (N,).
        slices: number of each example's slice, (N,), from 0; negative for none.
        truth: true label of each example, (N,), 0 (safe) or 1 (unsafe).
        of: true label of the examples to average over, 0 or 1.
        count: number of slices, K.
        weights: weight of each example, (N,) or (B, N); None weighs all alike.

    Returns:
        Mean score and total weight of each slice, (K,) or (B, K) both; the mean is nan where the weight is 0.

    Example:
        >>> means, sizes = sliced_averages([0.2, 0.4, 0.9], [0, 0, 1], [0, 0, 1], of=0, count=2)
        >>> means.round(3).tolist(), sizes.tolist()
        ([0.3, nan], [2.0, 0.0])
    """
    slices_N = np.asarray(slices)
    used = (slices_N >= 0) & (np.asarray(truth) == of)
    member_NK = np.zeros((used.sum(), count))
    member_NK[np.arange(used.sum()), slices_N[used]] = 1
    weights_BN = np.ones(used.sum()) if weights is None else np.asarray(weights, dtype=np.float64)[..., used]
    sizes = weights_BN @ member_NK
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights_BN * np.asarray(scores, dtype=np.float64)[used]) @ member_NK / sizes, sizes


def largest_gap(averages: ArrayLike) -> Array:
    """Largest less smallest of the averages along the last axis, empty slices left out; nan with fewer than two."""
    values = np.asarray(averages, dtype=np.float64)
    defined = ~np.isnan(values)
    gap = np.where(defined, values, -np.inf).max(axis=-1) - np.where(defined, values, np.inf).min(axis=-1)
    return np.where(defined.sum(axis=-1) > 1, gap, np.nan)


def equalised_odds_gap(
    scores: ArrayLike,
    slices: ArrayLike,
    truth: ArrayLike,
    threshold: float,
    count: int,
    weights: ArrayLike | None = None,
) -> Array:
    """The larger of the gaps between slices in true and in false positive rate at a threshold: [0, 1], 0 is fair.

    A truth that fewer than two slices have examples of says nothing; nan where neither does.
    """
    named = np.asarray(scores) >= threshold
    gaps = np.stack(
        [largest_gap(sliced_averages(named, slices, truth, of, count, weights)[0]) for of in (SAFE, UNSAFE)]
    )
    return np.where(np.isnan(gaps).all(axis=0), np.nan, np.nan_to_num(gaps, nan=-np.inf).max(axis=0))


class SlicedAverages(Metric):
    """Sliced averages over batches, any of which may lack slices.

    ``update(scores, slices, truth)`` takes tensors (B,); slices are numbered from 0, negative for none. ``compute``
    gives means (2, K), safe first, nan for an empty slice; ``counts`` (2, K) are the examples.
    """

    full_state_update = False
    sums: Tensor
    counts: Tensor

    def __init__(self, count: int) -> None:
        super().__init__()
        self.add_state("sums", default=torch.zeros(2, count, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("counts", default=torch.zeros(2, count, dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, scores: Tensor, slices: Tensor, truth: Tensor) -> None:
        """Take a batch."""
        inside = slices >= 0
        where = (truth[inside].long(), slices[inside].long())
        self.sums.index_put_(where, scores[inside].detach().double(), accumulate=True)
        self.counts.index_put_(where, torch.ones_like(scores[inside], dtype=torch.float64), accumulate=True)

    def compute(self) -> Tensor:
        """Means (2, K)."""
        return self.sums / self.counts
