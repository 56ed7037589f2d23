"""The permutation test: ties, both ends, and sampled splits beside exact ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairlab.metrics import permutation_test
from fairlab.metrics.permutation_test import coin_draws, exceeding_p, shuffled_effect_sizes, weat_p_value
from fairlab.metrics.weat import weat_effect_size

seeds = st.integers(0, 2**32 - 1)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("unit", [0.1, 1e6 / 3])
@given(seed=seeds)
def test_sums_that_differ_by_rounding_are_ties(unit, seed):
    whole = rng(seed).integers(-5, 6, size=(2, 6))  # sums of whole numbers are exact, those of tenths are not
    assert weat_p_value(*(whole * unit), rng()) == weat_p_value(*whole, rng())


def test_sampled_p_values_reach_both_ends():
    low, high = np.arange(30.0), np.arange(50.0, 80.0)
    assert weat_p_value(high, low, rng()) == 1e-5
    assert weat_p_value(low, high, rng()) == 1
    assert weat_p_value(high, low[:20], rng()) == 1e-5  # by shuffling, as the sets differ in size
    assert weat_p_value(low[:20], high, rng()) == 1
    assert weat_p_value(np.ones(30), np.ones(30), rng()) == 1


def test_as_many_splits_as_may_be_exact_are_exact(monkeypatch):
    monkeypatch.setattr(permutation_test, "MOST_EXACT_SPLITS", 6)  # two of four
    assert weat_p_value([2.0, 1.0], [0.0, -1.0], rng()) == 1 / 6


@pytest.mark.parametrize("sizes", [(8, 8), (5, 9)])
def test_sampling_is_near_the_exact_value(monkeypatch, sizes):
    x, y = rng(3).normal(0.4, size=sizes[0]), rng(4).normal(size=sizes[1])
    exact = weat_p_value(x, y, rng())
    monkeypatch.setattr(permutation_test, "MOST_EXACT_SPLITS", 0)
    sampled = weat_p_value(x, y, rng(5))
    assert sampled == pytest.approx(exact, abs=5 * math.sqrt(exact / 100_000))
    assert sampled != exact
    assert sampled == weat_p_value(x, y, rng(5))


@pytest.mark.parametrize("n", [6, 64, 66, 130])
def test_random_halves_are_halves_and_all_alike(n):
    values = 2.0 ** rng(n).integers(0, 20, size=n)  # exact in any order
    sums = np.concatenate(list(permutation_test._sums_of_halves(values, n // 2, rng(1))))
    assert len(sums) == permutation_test.SAMPLED_SPLITS
    # Drawing n / 2 of n without replacement: mean and variance of the sum.
    variance = n / 2 * values.var(ddof=1) / 2
    assert sums.mean() == pytest.approx(values.sum() / 2, abs=5 * math.sqrt(variance / len(sums)))
    assert sums.var() == pytest.approx(variance, rel=0.05)
    counts = np.concatenate(list(permutation_test._sums_of_halves(np.ones(n), n // 2, rng(2))))
    assert (counts == n / 2).all()


def test_every_half_of_six_is_drawn_equally_often():
    sums = np.concatenate(list(permutation_test._sums_of_halves(2.0 ** np.arange(6), 3, rng(3))))
    _, counts = np.unique(sums, return_counts=True)
    assert len(counts) == 20  # 6 choose 3, each with a sum of its own
    assert stats.chisquare(counts).pvalue > 1e-3


def test_exact_up_to_a_hundred_thousand_splits():
    # 9 of 18: 48,620 splits; 10 of 20: 184,756, so there the sampled value is a multiple of 1e-5.
    x, y = rng(6).normal(0.3, size=10), rng(7).normal(size=10)
    exact, sampled = weat_p_value(x[:9], y[:9], rng()), weat_p_value(x, y, rng())
    assert exact * 48_620 == pytest.approx(round(exact * 48_620), abs=1e-6)
    assert sampled * 100_000 == pytest.approx(round(sampled * 100_000), abs=1e-6)


def test_fair_coins_are_as_far_from_even_as_chance_says():
    """Of four coins all alike once in eight, three alike once in two: |share - 1/2| is 1/2, 1/4 or 0."""
    draws = coin_draws([np.ones(4)])
    assert len(draws) == 9999
    assert sorted(set(draws.tolist())) == [0, 0.25, 0.5]
    assert [(draws == value).mean() for value in (0, 0.25, 0.5)] == pytest.approx([3 / 8, 1 / 2, 1 / 8], abs=0.02)
    assert exceeding_p(0.5, draws) == pytest.approx(1 / 8, abs=0.01)
    assert exceeding_p(0.0, draws) == 1


def test_ties_stay_ties_and_parts_are_averaged():
    draws = coin_draws([np.full(3, 0.5), np.array([1, 0.5])])
    assert set(draws.tolist()) == {0.125}  # (0 + |1/2 coin of two items|) / 2


def test_dealing_targets_gives_every_split_as_often():
    x, y = np.array([2.0, 1.0]), np.array([0.0, -1.0])
    draws = shuffled_effect_sizes(x, y, np.random.default_rng(0))
    observed = weat_effect_size(x, y)
    assert draws.max() == pytest.approx(observed)
    assert exceeding_p(observed, draws) == pytest.approx(1 / 6, abs=0.015)  # one split of six
    assert draws.mean() == pytest.approx(0, abs=0.05)


def test_targets_with_the_same_word_are_dealt_together():
    x, y = np.array([1.0, 1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 0.0])
    apart = shuffled_effect_sizes(x, y, np.random.default_rng(0))
    together = shuffled_effect_sizes(x, y, np.random.default_rng(0), (["a", "a", "b", "b"], ["c", "c", "d", "d"]))
    size = weat_effect_size(x, y)
    assert exceeding_p(size, apart) == pytest.approx(1 / 70, abs=0.005)
    assert exceeding_p(size, together) == pytest.approx(1 / 6, abs=0.015)


def test_tests_over_the_same_targets_are_dealt_alike():
    x, y = np.array([2.0, 1.0, 0.5]), np.array([0.0, -1.0, -2.0])
    first, second = (shuffled_effect_sizes(s * x, s * y, np.random.default_rng([0, 7])) for s in (1, -1))
    np.testing.assert_allclose(first, -second)
