"""Average counterfactual variance (ACV) and flips of safety scores within counterfactual sets.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 3.
Shape letters: N examples, S counterfactual sets of two examples or more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
ROUNDING = 1e-12  # score differences below this are rounding errors


def set_numbers(sets: Sequence[Hashable | None]) -> tuple[NDArray[np.int64], list[Hashable]]:
    """Assign a number to each set that contains at least two examples.

    Args:
        sets: Name of each text's set, (N,); None for texts outside any set.

    Returns:
        Number of each text's set, (N,), which is -1 for texts outside any set or alone in one, and the names of the
        numbered sets in order of first appearance.
    """
    sizes = Counter(name for name in sets if name is not None)
    names = [name for name, size in sizes.items() if size > 1]
    number = {name: k for k, name in enumerate(names)}
    return np.array([number.get(name, -1) for name in sets], dtype=np.int64), names


def set_variances(scores: ArrayLike, place: NDArray[np.int64]) -> Array:
    """Return the population variance (S,) of the scores of every set.

    Scores that differ by less than :data:`ROUNDING` from the first score of their set count as equal to it. Otherwise
    the variance of equal scores would be about 1e-33, and a change in it could be significant.

    Args:
        scores: Score of each text, (N,).
        place: Number of each text's set, (N,), as returned by :func:`set_numbers`.

    Example:
        >>> set_variances([0.0, 1.0, 0.1, 0.1, 0.3 - 0.2, 9.0], np.array([0, 0, 1, 1, 1, -1])).tolist()
        [0.25, 0.0]
    """
    inside = place >= 0
    values, place = np.asarray(scores, dtype=np.float64)[inside], place[inside]
    sizes = np.bincount(place)
    first = np.zeros(len(sizes))
    first[place[::-1]] = values[::-1]
    values = values - first[place]
    values[np.abs(values) < ROUNDING] = 0
    means = np.bincount(place, weights=values) / sizes
    return np.bincount(place, weights=(values - means[place]) ** 2) / sizes


def average_counterfactual_variance(scores: ArrayLike, sets: Sequence[Hashable | None]) -> float:
    """Return the population variance of the scores within a set, averaged over sets. A value of 0 is fair.

    Examples outside of sets and sets of one example are excluded. The result is NaN if no set remains.
    """
    variances = set_variances(scores, set_numbers(sets)[0])
    return float(variances.mean()) if len(variances) else float("nan")


def set_flips(scores: ArrayLike, place: NDArray[np.int64], threshold: float) -> Array:
    """Return an array (S,) that is 1 for sets with scores both below and at or above the threshold, else 0."""
    inside = place >= 0
    above, place = (np.asarray(scores)[inside] >= threshold).astype(np.float64), place[inside]
    shares = np.bincount(place, weights=above) / np.bincount(place)
    return ((shares > 0) & (shares < 1)).astype(np.float64)
