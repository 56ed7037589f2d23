import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairlab.metrics.permutation_test import weat_p_value
from fairlab.metrics.significance import holm
from fairlab.metrics.weat import associations, resampled_effect_sizes, weat_effect_size
from fairlab.types import FairlabError

seeds = st.integers(0, 2**32 - 1)


def rng(seed=0):
    return np.random.default_rng(seed)


def random_sets(seed, sizes=(5, 4, 3, 6), width=7):
    """Embeddings of X, Y, A and B."""
    return [rng([seed, k]).normal(size=(size, width)) for k, size in enumerate(sizes)]


def effect_size(X, Y, A, B):
    return weat_effect_size(associations(X, A, B), associations(Y, A, B))


def cosine(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True)) / math.sqrt(sum(p * p for p in a) * sum(q * q for q in b))


def by_definition(X, Y, A, B):
    """Effect size and exact p-value by the definition, in loops."""
    s_X, s_Y = (
        [sum(cosine(w, a) for a in A) / len(A) - sum(cosine(w, b) for b in B) / len(B) for w in W] for W in (X, Y)
    )
    both = s_X + s_Y
    center = sum(both) / len(both)
    deviation = math.sqrt(sum((s - center) ** 2 for s in both) / (len(both) - 1))
    hits = [sum(split) >= sum(s_X) - 1e-12 for split in combinations(both, len(s_X))]
    return (sum(s_X) / len(s_X) - sum(s_Y) / len(s_Y)) / deviation, sum(hits) / len(hits)


def test_by_hand():
    X, Y, A, B = [[1, 0], [1, 1]], [[0, 3], [2, 2]], [[5, 0]], [[0, 1]]
    x, y = associations(X, A, B), associations(Y, A, B)
    np.testing.assert_allclose([x, y], [[1, 0], [-1, 0]], atol=1e-15)
    assert weat_effect_size(x, y) == pytest.approx(math.sqrt(3 / 2))  # 1/2 - -1/2, over sqrt((1 + 1) / 3)
    # Sums of the six splits: 1 0 1 -1 0 -1; the tie at 1 counts.
    assert weat_p_value(x, y, rng()) == 2 / 6


@given(seeds)
def test_equals_the_definition_in_loops(seed):
    X, Y, A, B = random_sets(seed)
    size, p = by_definition(X, Y, A, B)
    x, y = associations(X, A, B), associations(Y, A, B)
    assert weat_effect_size(x, y) == pytest.approx(size, abs=1e-10)
    assert weat_p_value(x, y, rng()) == pytest.approx(p)


@pytest.mark.parametrize("sizes", [(8, 8), (3, 9), (9, 2), (2, 2)])
def test_the_exact_p_value_equals_scipy(sizes):
    x, y = rng(1).normal(0.5, size=sizes[0]), rng(2).normal(size=sizes[1])
    expected = stats.permutation_test((x, y), lambda a, b: a.mean() - b.mean(), alternative="greater", n_resamples=1e9)
    assert weat_p_value(x, y, rng()) == pytest.approx(expected.pvalue)


@given(seeds)
def test_swapping_targets_or_attributes_flips_the_sign(seed):
    X, Y, A, B = random_sets(seed)
    size = effect_size(X, Y, A, B)
    assert effect_size(Y, X, A, B) == pytest.approx(-size)
    assert effect_size(X, Y, B, A) == pytest.approx(-size)


@given(seeds, st.floats(1e-6, 1e6))
def test_lengths_of_embeddings_and_scale_of_associations_do_not_matter(seed, scale):
    X, Y, A, B = random_sets(seed)
    stretched = [W * scale * rng(seed).uniform(0.1, 9, size=(len(W), 1)) for W in (X, Y, A, B)]
    assert effect_size(*stretched) == pytest.approx(effect_size(X, Y, A, B))
    x, y = associations(X, A, B), associations(Y, A, B)
    assert weat_p_value(7 * x, 7 * y, rng()) == weat_p_value(x, y, rng())


@given(seeds)
def test_bounds(seed):
    X, Y, A, B = random_sets(seed, sizes=(4, 4, 3, 6))
    x, y = associations(X, A, B), associations(Y, A, B)
    assert (np.abs(x) <= 2).all()
    assert -2 < weat_effect_size(x, y) < 2
    p, opposite = weat_p_value(x, y, rng()), weat_p_value(y, x, rng())
    assert 1 / 70 <= p <= 1
    assert p + opposite >= 1 + 1 / 70 - 1e-12  # the split itself is in both tails


@pytest.mark.parametrize(("x", "y"), [([0.3, 0.3], [0.3]), ([0.1 + 0.2], [0.3]), ([math.nan, 1.0], [0.0, 2.0])])
def test_an_undefined_effect_size_is_not_zero(x, y):
    with pytest.raises(FairlabError, match="undefined"):
        weat_effect_size(x, y)


def test_an_embedding_of_no_length_has_no_association():
    assert np.isnan(associations([[0.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]])).all()


def test_resampling_stays_within_each_set():
    x, y = rng(8).normal(1.0, size=40), rng(9).normal(size=60)
    draws = resampled_effect_sizes(x, y, 2000, rng())
    library = stats.bootstrap(
        (x, y),
        lambda a, b: (a.mean() - b.mean()) / np.concatenate([a, b]).std(ddof=1),
        n_resamples=2000,
        method="percentile",
        vectorized=False,
        rng=rng(1),
    ).confidence_interval
    assert np.quantile(draws, [0.025, 0.975]) == pytest.approx((library.low, library.high), abs=0.04)
    # With no spread inside a set every draw has the same sets.
    assert resampled_effect_sizes(np.ones(3), np.zeros(3), 5, rng()) == pytest.approx(np.full(5, math.sqrt(10 / 3)))


def test_a_set_of_one_cannot_be_resampled():
    assert np.isnan(resampled_effect_sizes(np.ones(1), np.zeros(4), 5, rng())).all()


def test_holm_by_hand():
    # In order: 0.005 x 4, 0.01 x 3, 0.03 x 2, 0.04 x 1 raised to the one before.
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.9]), [1.0, 1.0])
    assert holm([0.2]) == [0.2]


def test_targets_of_one_word_are_drawn_together():
    x, y = np.array([1.0, 1.0, 3.0, 3.0]), np.array([0.0, 0.0, 2.0, 2.0])
    together = resampled_effect_sizes(x, y, 4000, rng(), ("aabb", "ccdd"))
    apart = resampled_effect_sizes(x, y, 4000, rng())
    # With two words a side there are nine samples: which of the values 1, 2 or 3 is the mean of X, and 0, 1, 2 of Y.
    by_hand = {
        round(float((u.mean() - v.mean()) / np.concatenate([u, v]).std(ddof=1)), 6)
        for u in (np.array([1.0, 1, 1, 1]), np.array([1.0, 1, 3, 3]), np.array([3.0, 3, 3, 3]))
        for v in (np.array([0.0, 0, 0, 0]), np.array([0.0, 0, 2, 2]), np.array([2.0, 2, 2, 2]))
    }
    assert {round(float(draw), 6) for draw in together} == by_hand
    assert np.nanstd(together) > np.nanstd(apart)
