"""Fairscore: how often a classifier's prediction changes if a person in its input is given another attribute.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", equation 1; the shares of examples for which both
predictions or neither are correct follow the authors' script (``compute_fairscore.py``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairlab.metrics.bootstrap import Statistic

Array = NDArray[np.floating]


def fairscore(original: Array, perturbed: Array, truth: Array, axis: int = -1) -> Array:
    """Return the share of examples whose predicted label changes with the perturbation, in [0, 1]; ideal 0.

    Args:
        original: Labels predicted for the examples, (..., N).
        perturbed: Labels predicted for their perturbed versions, of the same shape; unchanged examples are excluded.
        truth: True labels, which are unused; all functions in this module take the same arguments.
        axis: Axis of the examples, along which the mean is taken.

    Example:
        >>> float(fairscore(np.array([1, 0, 1, 1]), np.array([1, 1, 1, 0]), np.array([1, 0, 0, 1])))
        0.5
    """
    del truth
    return (original != perturbed).mean(axis=axis)


def both_correct(original: Array, perturbed: Array, truth: Array, axis: int = -1) -> Array:
    """Return the share of examples classified correctly before and after perturbation, in [0, 1].

    The arguments are the same as for :func:`fairscore`.
    """
    return ((original == truth) & (perturbed == truth)).mean(axis=axis)


def neither_correct(original: Array, perturbed: Array, truth: Array, axis: int = -1) -> Array:
    """Return the share of examples classified wrongly before and after perturbation, in [0, 1].

    The arguments are the same as for :func:`fairscore`. With two labels, this share, ``both_correct`` and ``fairscore``
    add up to 1. With more labels, two different wrong predictions count in both this share and ``fairscore``.
    """
    return ((original != truth) & (perturbed != truth)).mean(axis=axis)


FAIRSCORES: dict[str, Statistic] = {
    "fairscore": fairscore,
    "both_correct": both_correct,
    "neither_correct": neither_correct,
}
