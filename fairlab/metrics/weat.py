"""Association tests of embeddings (WEAT): effect size, permutation p-value, correction for several tests.

Source: Caliskan et al. 2017, "Semantics derived automatically from language corpora contain human-like biases";
sampling and correction as in May et al. 2019, "On Measuring Social Biases in Sentence Encoders".

Shapes: N target items, M attribute items, D embedding width. The two target sets are X and Y, the attributes A and B.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, combinations
from math import comb

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from fairlab.metrics.bootstrap import cluster_sums
from fairlab.types import FairlabError

MOST_EXACT_SPLITS = 100_000
SAMPLED_SPLITS = 99_999
CHUNK = 2_000_000  # numbers shuffled at once
COINS = 1 << 15  # sets of coins thrown at once
ROUNDING = 1e-12  # associations are of order 1, so less than this is float64 noise
Array = NDArray[np.float64]


def associations(targets_ND: ArrayLike, first_MD: ArrayLike, second_MD: ArrayLike) -> Array:
    r"""How much closer each target is to one attribute set than to the other.

    .. math:: s(w, A, B) = \overline{\cos(w, a)}_{a \in A} - \overline{\cos(w, b)}_{b \in B}

    Shapes: (N, D), (M, D) and (M', D), of any length, to (N,).

    Returns:
        Within [-2, 2], positive where closer to the first set; nan where an embedding has length 0.

    Example:
        >>> associations([[3, 0], [0, 2], [1, 1]], [[1, 0]], [[0, 1]]).round(6)
        array([ 1., -1.,  0.])
    """
    return _unit(targets_ND) @ (_unit(first_MD).mean(axis=0) - _unit(second_MD).mean(axis=0))


def _unit(vectors_ND: ArrayLike) -> Array:
    vectors = np.asarray(vectors_ND, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def weat_effect_size(x_N: ArrayLike, y_N: ArrayLike) -> float:
    r"""Effect size of the difference between two target sets' associations.

    .. math:: d = \frac{\bar{s}(X) - \bar{s}(Y)}{\operatorname{std}_{w \in X \cup Y} s(w)}

    The standard deviation is the sample's (divisor n - 1), as in sent-bias; some libraries divide by n.

    Args:
        x_N: associations s(w) of the targets X.
        y_N: associations s(w) of the targets Y, as many as of X or not.

    Returns:
        Within (-2, 2) for sets of equal size. Ideal 0; positive means that X leans to A.

    Raises:
        FairlabError: all associations are equal or one is nan: then the effect size is undefined, which is not 0.

    Example:
        >>> round(weat_effect_size([1.0, 0.0], [-1.0, 0.0]), 6)  # 1 / sqrt(2 / 3)
        1.224745

    Source: Caliskan et al. 2017.
    """
    value = float(_effect_sizes(np.asarray(x_N, dtype=np.float64), np.asarray(y_N, dtype=np.float64)))
    if np.isnan(value):
        raise FairlabError("the effect size is undefined, as all associations are equal or one is not a number")
    return value


def resampled_effect_sizes(
    x_N: Array,
    y_N: Array,
    resamples: int,
    rng: np.random.Generator,
    words: tuple[Sequence[Hashable], Sequence[Hashable]] | None = None,
) -> Array:
    """Effect sizes (resamples,) of bootstrap samples, drawn within each target set; nan where undefined.

    Args:
        x_N: associations of the targets X.
        y_N: associations of the targets Y.
        resamples: number of samples.
        rng: draws them.
        words: what each target of X and of Y was made of; targets of one word are drawn together. None draws targets.
    """
    of_x, of_y = words or (range(len(x_N)), range(len(y_N)))
    drawn = []
    centre = np.concatenate([x_N, y_N]).mean()  # so that squares of nearly equal numbers lose no digits
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


def _effect_sizes(x: Array, y: Array) -> Array:
    """Effect sizes along the last axis; nan where undefined."""
    deviation = np.concatenate([x, y], axis=-1).std(axis=-1, ddof=1)
    return (x.mean(axis=-1) - y.mean(axis=-1)) / np.where(deviation > ROUNDING, deviation, np.nan)


def weat_p_value(x_N: ArrayLike, y_N: ArrayLike, rng: np.random.Generator) -> float:
    """One-sided p-value of the permutation test: how often a random split of X and Y is as extreme.

    The statistic is the sum of s over X, which for fixed X and Y orders splits as their difference of means does.
    Every split into sets of the sizes of X and Y counts, X and Y themselves included, where there are at most 100,000;
    else 99,999 random splits, and X and Y. Ties count as extreme.

    Args:
        x_N: associations s(w) of the targets X.
        y_N: associations s(w) of the targets Y, as many as of X or not.
        rng: random generator that draws the random splits.

    Returns:
        Within (0, 1], at least 1e-5 where splits are drawn. Small means that X leans to A more than chance explains.

    Example:
        >>> weat_p_value([2.0, 1.0], [0.0, -1.0], np.random.default_rng(0)) == 1 / 6
        True

    Source: Caliskan et al. 2017; random splits as in May et al. 2019.
    """
    x = np.asarray(x_N, dtype=np.float64)
    pooled = np.concatenate([x, np.asarray(y_N, dtype=np.float64)])
    # Sums of the same numbers in another order differ by rounding and are ties all the same.
    bound = x.sum() - ROUNDING * np.abs(pooled).sum()
    splits = comb(len(pooled), len(x))
    if splits <= MOST_EXACT_SPLITS:
        chosen = np.fromiter(chain.from_iterable(combinations(range(len(pooled)), len(x))), dtype=np.intp)
        return float((pooled[chosen.reshape(splits, len(x))].sum(axis=-1) >= bound).mean())
    draw = _sums_of_halves if 2 * len(x) == len(pooled) else _sums_of_splits
    hits = 1 + sum(int((sums >= bound).sum()) for sums in draw(pooled, len(x), rng))
    return hits / (SAMPLED_SPLITS + 1)


def _sums_of_splits(pooled: Array, size: int, rng: np.random.Generator) -> Iterator[Array]:
    """Sums over the first set of random splits, in chunks, by shuffling."""
    rows = max(1, CHUNK // len(pooled))
    for start in range(0, SAMPLED_SPLITS, rows):
        shuffled = np.tile(pooled, (min(rows, SAMPLED_SPLITS - start), 1))
        rng.permuted(shuffled, axis=1, out=shuffled)
        yield shuffled[:, :size].sum(axis=-1)


def _sums_of_halves(pooled: Array, size: int, rng: np.random.Generator) -> Iterator[Array]:
    """Sums over random halves, in chunks: a fair coin for every item, kept where as many fell on either side.

    Each half is as likely as any other, and bits are drawn, counted and summed (by a table of every byte's sum) some
    ten times faster than items are shuffled.
    """
    words = -(-len(pooled) // 64)
    padded = np.zeros(words * 64)
    padded[: len(pooled)] = pooled
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    table = (padded.reshape(-1, 8) @ bits.T).ravel()  # sum over the items of byte b where it has the value v: 256 b + v
    offsets = 256 * np.arange(words * 8)
    unused = np.uint64(words * 64 - len(pooled))
    needed = SAMPLED_SPLITS
    while needed:
        coins = rng.integers(0, 2**64, size=(words, COINS), dtype="<u8")
        coins[-1] >>= unused
        halves = coins[:, np.bitwise_count(coins).sum(axis=0, dtype=np.uint16) == size].T[:needed]
        needed -= len(halves)
        yield table[np.ascontiguousarray(halves).view(np.uint8) + offsets].sum(axis=-1)


class EffectSize(Metric):
    """Effect size of an association test over batches of embeddings, which may cut through its sets.

    ``update(embeddings, sets)`` takes embeddings (B, D) and the set of each (B,): 0 for the targets X, 1 for Y, 2 for
    the attributes A, 3 for B; others are left out. ``compute`` gives :func:`weat_effect_size` of all that was seen, in
    float64; nan while a set is empty and where the effect size is undefined.

    Example:
        >>> metric = EffectSize()
        >>> metric.update(torch.tensor([[3.0, 0], [1, 1], [0, 2], [1, 1]]), torch.tensor([0, 0, 1, 1]))
        >>> metric.update(torch.tensor([[1.0, 0], [0, 1]]), torch.tensor([2, 3]))
        >>> round(metric.compute().item(), 6)  # of the associations 1, 0 and -1, 0: 1 / sqrt(2 / 3)
        1.224745
    """

    full_state_update = False
    higher_is_better = None
    embeddings: list[Tensor]
    sets: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.add_state("embeddings", default=[], dist_reduce_fx="cat")
        self.add_state("sets", default=[], dist_reduce_fx="cat")

    def update(self, embeddings: Tensor, sets: Tensor) -> None:
        """Take a batch."""
        self.embeddings.append(embeddings.detach().double())
        self.sets.append(sets)

    def compute(self) -> Tensor:
        """The effect size."""
        parts = []
        if len(self.embeddings):  # a list, or one tensor once processes have met
            embeddings, sets = dim_zero_cat(self.embeddings).cpu().numpy(), dim_zero_cat(self.sets).cpu().numpy()
            parts = [embeddings[sets == number] for number in range(4)]
        if not parts or not all(map(len, parts)):
            return torch.tensor(torch.nan, dtype=torch.float64)
        X, Y, A, B = parts
        return torch.tensor(_effect_sizes(associations(X, A, B), associations(Y, A, B)), dtype=torch.float64)
