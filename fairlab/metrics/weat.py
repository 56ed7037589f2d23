"""Association tests of embeddings (WEAT): effect size and its bootstrap samples.

Source: Caliskan et al. 2017, "Semantics derived automatically from language corpora contain human-like biases".

Shapes: N target items, M attribute items, D embedding width. The two target sets are X and Y, the attributes A and B.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.metrics.bootstrap import cluster_sums
from fairlab.metrics.permutation_test import ROUNDING
from fairlab.types import FairlabError

Array = NDArray[np.float64]


def associations(targets_ND: ArrayLike, first_MD: ArrayLike, second_MD: ArrayLike) -> Array:
    r"""Return how much closer each target is to one attribute set than to the other.

    .. math:: s(w, A, B) = \overline{\cos(w, a)}_{a \in A} - \overline{\cos(w, b)}_{b \in B}

    Shapes: vectors (N, D), (M, D) and (M', D), of any norm, to associations (N,).

    Returns:
        Association within [-2, 2], which is positive for targets closer to the first set and NaN if an embedding has
        length 0.

    Example:
        >>> associations([[3, 0], [0, 2], [1, 1]], [[1, 0]], [[0, 1]]).round(6)
        array([ 1., -1.,  0.])
    """
    return _unit(targets_ND) @ (_unit(first_MD).mean(axis=0) - _unit(second_MD).mean(axis=0))


def _unit(vectors_ND: ArrayLike) -> Array:
    vectors = np.asarray(vectors_ND, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def weat_effect_size(x_N: ArrayLike, y_N: ArrayLike) -> float:
    r"""Return the effect size of the difference between two target sets' associations.

    .. math:: d = \frac{\bar{s}(X) - \bar{s}(Y)}{\operatorname{std}_{w \in X \cup Y} s(w)}

    The standard deviation is the sample's (divisor n - 1), as in sent-bias; some libraries divide by n.

    Args:
        x_N: Associations s(w) of the targets X.
        y_N: Associations s(w) of the targets Y, which may differ in number from ``x_N``.

    Returns:
        Effect size within (-2, 2) for sets of equal size. The ideal is 0; a positive value means that X is more
        strongly associated with A.

    Raises:
        FairlabError: All associations are equal or one is NaN, so the effect size is undefined instead of 0.

    Example:
        >>> round(weat_effect_size([1.0, 0.0], [-1.0, 0.0]), 6)  # 1 / sqrt(2 / 3)
        1.224745

    Source: Caliskan et al. 2017.
    """
    x, y = np.asarray(x_N, dtype=np.float64), np.asarray(y_N, dtype=np.float64)
    deviation = np.concatenate([x, y]).std(ddof=1)
    if not deviation > ROUNDING:
        raise FairlabError("the effect size is undefined, because all associations are equal or one is not a number")
    return float((x.mean() - y.mean()) / deviation)


def resampled_effect_sizes(
    x_N: Array,
    y_N: Array,
    resamples: int,
    rng: np.random.Generator,
    words: tuple[Sequence[Hashable], Sequence[Hashable]] | None = None,
) -> Array:
    """Return effect sizes (resamples,) of bootstrap samples drawn within each target set.

    Undefined effect sizes are NaN.

    Args:
        x_N: Associations of the targets X.
        y_N: Associations of the targets Y.
        resamples: Number of samples.
        rng: Random generator that draws the samples.
        words: Word in each target of X and of Y; targets with the same word are drawn together. None to draw single
            targets.
    """
    of_x, of_y = words or (range(len(x_N)), range(len(y_N)))
    drawn = []
    centre = np.concatenate([x_N, y_N]).mean()  # avoids losing digits in squares of nearly equal numbers
    for values, clusters in ((x_N - centre, of_x), (y_N - centre, of_y)):
        sums, sizes = cluster_sums(values, clusters)
        squares, _ = cluster_sums(values**2, clusters)
        if len(sums) < 2:
            return np.full(resamples, np.nan)
        times = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=resamples)
        drawn.append((times @ sizes, times @ sums, times @ squares))
    (n_x, sum_x, squares_x), (n_y, sum_y, squares_y) = drawn
    n = n_x + n_y
    variance = (squares_x + squares_y - (sum_x + sum_y) ** 2 / n) / (n - 1)
    deviation = np.sqrt(np.maximum(variance, 0))
    return (sum_x / n_x - sum_y / n_y) / np.where(deviation > ROUNDING, deviation, np.nan)
