"""Permutation tests for association tests: exact for small sets, sampled for large sets.

Source: Caliskan et al. 2017, "Semantics derived automatically from language corpora contain human-like biases";
sampling as in May et al. 2019, "On Measuring Social Biases in Sentence Encoders".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.metrics.bootstrap import cluster_sums

MOST_EXACT_SPLITS = 100_000
SAMPLED_SPLITS = 99_999
CHUNK = 2_000_000  # number of values shuffled at a time
COIN_DRAWS = 9_999  # number of draws of a simulated null distribution
COINS = 1 << 15  # number of sets of coins that are tossed at a time
ROUNDING = 1e-12  # associations are of order 1, so smaller differences are float64 noise
Array = NDArray[np.float64]


def weat_p_value(x_N: ArrayLike, y_N: ArrayLike, rng: np.random.Generator) -> float:
    """Return the one-sided p-value of the permutation test, which is the share of splits that are at least as extreme.

    The statistic is the sum of s over X, which ranks splits in the same order as the difference of means. If there are
    at most 100,000 splits into sets of the sizes of X and Y, all of them are used, including X and Y themselves.
    Otherwise 99,999 random splits are used in addition to X and Y. Ties count as extreme.

    Args:
        x_N: Associations s(w) of the targets X.
        y_N: Associations s(w) of the targets Y, which may differ in number from ``x_N``.
        rng: Random generator that draws the random splits.

    Returns:
        p-value within (0, 1], at least 1e-5 for random splits. A small value means that X is more strongly associated
        with A than chance explains.

    Example:
        >>> weat_p_value([2.0, 1.0], [0.0, -1.0], np.random.default_rng(0)) == 1 / 6
        True

    Source: Caliskan et al. 2017; random splits as in May et al. 2019.
    """
    x = np.asarray(x_N, dtype=np.float64)
    pooled = np.concatenate([x, np.asarray(y_N, dtype=np.float64)])
    # Sums of the same numbers in a different order may differ by rounding, but still count as ties.
    bound = x.sum() - ROUNDING * np.abs(pooled).sum()
    splits = comb(len(pooled), len(x))
    if splits <= MOST_EXACT_SPLITS:
        chosen = np.fromiter(chain.from_iterable(combinations(range(len(pooled)), len(x))), dtype=np.intp)
        return float((pooled[chosen.reshape(splits, len(x))].sum(axis=1) >= bound).mean())
    draw = _sums_of_halves if 2 * len(x) == len(pooled) else _sums_of_splits
    hits = 1 + sum(int((sums >= bound).sum()) for sums in draw(pooled, len(x), rng))
    return hits / (SAMPLED_SPLITS + 1)


def coin_draws(preferences: Sequence[ArrayLike], seed: int = 0) -> Array:
    """Return draws (9,999,) of the mean distance between shares and one half, for random preferences.

    Args:
        preferences: For each part, the preference of every item: 1 for the first version, 0 for the second, and 0.5 for
            a tie, which remains a tie.
        seed: Seed of the random preferences.
    """
    rng = np.random.default_rng(seed)
    found = np.zeros(COIN_DRAWS)
    for values in map(np.asarray, preferences):
        decided = int((values != 0.5).sum())
        heads = rng.binomial(decided, 0.5, size=COIN_DRAWS)
        found += np.abs((heads - decided / 2) / len(values)) / len(preferences)
    return found


def exceeding_p(value: float, draws: Array) -> float:
    """Return the share of null draws that are at least as large as a value, which counts as an additional draw."""
    return float(((draws >= value - ROUNDING).sum() + 1) / (len(draws) + 1))


def shuffled_effect_sizes(
    x_N: Array, y_N: Array, rng: np.random.Generator, words: tuple[Sequence[Hashable], Sequence[Hashable]] | None = None
) -> Array:
    """Return effect sizes (9,999,) under random assignment of the targets, or of their words, to X and Y.

    Args:
        x_N: Associations of the targets X.
        y_N: Associations of the targets Y.
        rng: Random generator; tests over the same targets that start from the same state get the same assignments.
        words: Word in each target of X and of Y; targets with the same word stay together. None to assign single
            targets.
    """
    of_x, of_y = words or (range(len(x_N)), range(len(y_N)))
    pooled = np.concatenate([x_N, y_N])
    (x_sums, x_sizes), (y_sums, y_sizes) = cluster_sums(x_N, of_x), cluster_sums(y_N, of_y)
    every, of_every = np.concatenate([x_sums, y_sums]), np.concatenate([x_sizes, y_sizes])
    dealt = rng.permuted(np.tile(np.arange(len(every)), (COIN_DRAWS, 1)), axis=1)[:, : len(x_sums)]
    total, n = every[dealt].sum(axis=1), of_every[dealt].sum(axis=1)
    deviation = pooled.std(ddof=1)
    difference = total / n - (pooled.sum() - total) / (len(pooled) - n)
    return np.asarray(difference / deviation, dtype=np.float64)


def _sums_of_splits(pooled: Array, size: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield sums over the first set of random splits, in chunks, by shuffling."""
    rows = max(1, CHUNK // len(pooled))
    for start in range(0, SAMPLED_SPLITS, rows):
        shuffled = np.tile(pooled, (min(rows, SAMPLED_SPLITS - start), 1))
        rng.permuted(shuffled, axis=1, out=shuffled)
        yield shuffled[:, :size].sum(axis=1)


def _sums_of_halves(pooled: Array, size: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield sums over random halves, in chunks, from a random bit per item; only even splits are kept.

    All halves are equally likely. Drawing, counting and summing bits (with a table of every byte's sum) is about ten
    times faster than shuffling items.
    """
    words = -(-len(pooled) // 64)
    padded = np.zeros(words * 64)
    padded[: len(pooled)] = pooled
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    # index 256 b + v: sum over the items of byte b if it has the value v
    table = (padded.reshape(-1, 8) @ bits.T).ravel()
    offsets = 256 * np.arange(words * 8)
    unused = np.uint64(words * 64 - len(pooled))
    needed = SAMPLED_SPLITS
    while needed:
        coins = rng.integers(0, 2**64, size=(words, COINS), dtype="<u8")
        coins[-1] >>= unused
        halves = coins[:, np.bitwise_count(coins).sum(axis=0, dtype=np.uint16) == size].T[:needed]
        needed -= len(halves)
        yield table[np.ascontiguousarray(halves).view(np.uint8) + offsets].sum(axis=1)
