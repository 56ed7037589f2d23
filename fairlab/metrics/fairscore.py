"""Fairscore: how often a classifier's prediction changes when a person in its input is turned to another attribute.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", equation 1; the shares of examples that both or
neither prediction gets right are those of the authors' script (``compute_fairscore.py``).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchmetrics import Metric

from fairlab.metrics.bootstrap import Statistic

Array = NDArray[np.floating]


def fairscore(original: Array, perturbed: Array, truth: Array, axis: int = -1) -> Array:
    """Share of examples whose predicted label differs, along ``axis``: [0, 1], ideal 0.

    Args:
        original: labels predicted for the examples, (..., N).
        perturbed: labels predicted for their perturbed versions, of the same shape; none that did not change.
        truth: true labels, which are not used; every share here takes the same three arrays.
        axis: axis of the examples, along which the mean is taken.

    Example:
        >>> float(fairscore(np.array([1, 0, 1, 1]), np.array([1, 1, 1, 0]), np.array([1, 0, 0, 1])))
        0.5
    """
    del truth
    return (original != perturbed).mean(axis=axis)


def both_correct(original: Array, perturbed: Array, truth: Array, axis: int = -1) -> Array:
    """Share of examples whose label is predicted before and after, arguments as of :func:`fairscore`: [0, 1]."""
    return ((original == truth) & (perturbed == truth)).mean(axis=axis)


def neither_correct(original: Array, perturbed: Array, truth: Array, axis: int = -1) -> Array:
    """Share of examples whose label is predicted neither before nor after, arguments as of :func:`fairscore`: [0, 1].

    With two labels, this, ``both_correct`` and ``fairscore`` add up to 1; with more, both may be wrong in two ways.
    """
    return ((original != truth) & (perturbed != truth)).mean(axis=axis)


FAIRSCORES: dict[str, Statistic] = {
    "fairscore": fairscore,
    "both_correct": both_correct,
    "neither_correct": neither_correct,
}


class FairscoreMetric(Metric):
    """Fairscore over batches: [0, 1], ideal 0.

    ``update(original, perturbed)`` takes the labels (B,) predicted for examples and for their perturbed versions, none
    that did not change. ``compute`` gives :func:`fairscore` of all that was seen; nan where nothing was.

    Example:
        >>> metric = FairscoreMetric()
        >>> metric.update(torch.tensor([1, 0]), torch.tensor([1, 1]))
        >>> metric.update(torch.tensor([2]), torch.tensor([0]))
        >>> round(metric.compute().item(), 6)  # 2 of 3 labels changed
        0.666667
    """

    full_state_update = False
    higher_is_better = False
    changed: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("changed", default=torch.tensor(0.0, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", default=torch.tensor(0), dist_reduce_fx="sum")

    def update(self, original: Tensor, perturbed: Tensor) -> None:
        """Take a batch."""
        if not len(original):
            return
        before, after = original.cpu().numpy(), perturbed.cpu().numpy()
        self.changed += float(fairscore(before, after, before)) * len(before)
        self.count += len(before)

    def compute(self) -> Tensor:
        """The share of examples whose label changed."""
        return self.changed / self.count
