"""Paired differences: hand-computed values, reference implementations, and coverage by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_rel

from fairlab.judge.paired import paired_difference, sign_flip_p


def test_with_independent_items_it_is_the_paired_t_interval():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=30), rng.normal(size=30) + 0.3
    found = paired_difference(first, second)
    expected = ttest_rel(second, first).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    inner = ttest_rel(second, first).confidence_interval(0.90)
    assert found.inner == pytest.approx((inner.low, inner.high))


def test_with_right_and_wrong_answers_the_test_is_mcnemars_exact_one():
    first = np.array([1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1.0])
    second = np.array([1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1.0])
    assert paired_difference(first, second).p == pytest.approx(binomtest(1, 6).pvalue)


def test_clusters_by_hand():
    """Cluster sums 2, 0, ..., 0 over eight clusters of two items; mean 1/8, residuals 7/4 and seven times -1/4."""
    first, second = np.zeros(16), np.zeros(16)
    second[:2] = 1
    clusters = [str(k // 2) for k in range(16)]
    found = paired_difference(first, second, clusters)
    error = math.sqrt(8 / 7 * ((7 / 4) ** 2 + 7 * (1 / 4) ** 2)) / 16
    assert found.difference == 1 / 8
    assert found.high - found.difference == pytest.approx(2.364624 * error, rel=1e-6)  # t of 7 degrees
    assert found.difference - found.low == pytest.approx(2.364624 * error, rel=1e-6)
    assert found.inner == pytest.approx((1 / 8 - 1.894579 * error, 1 / 8 + 1.894579 * error), rel=1e-6)
    assert found.detectable == pytest.approx((2.364624 + 0.841621) * error, rel=1e-6)  # 80 % below 0.84 deviations
    assert found.needed == 165  # 16 (8 x 0.400781)^2 = 164.5
    assert (found.units, found.n, found.changed, found.p) == (8, 16, 2, 1.0)


def test_no_number_of_items_is_needed_to_detect_zero_or_a_constant():
    ends = np.tile([1.0, -1.0], 4)
    assert paired_difference(np.zeros(8), ends).needed is None
    assert paired_difference(np.zeros(8), np.ones(8)).needed is None


def test_too_few_items_have_no_interval_but_a_p_value():
    found = paired_difference(np.zeros(5), np.ones(5))
    assert math.isnan(found.low)
    assert math.isnan(found.detectable)
    assert found.needed is None
    assert found.p == pytest.approx(2 / 2**5)


def test_equal_scores():
    found = paired_difference(np.ones(20), np.ones(20))
    assert (found.difference, found.p, found.changed, found.needed) == (0.0, 1.0, 0, None)


def test_many_items_are_drawn_and_agree_with_the_exact_test():
    rng = np.random.default_rng(3)
    sums = rng.normal(size=14) + 0.4
    exact = sign_flip_p(sums)
    assert exact * 2**14 == round(exact * 2**14)
    more = np.concatenate([sums, [1e-300]])  # one unit more, which moves nothing: signs are drawn
    drawn = sign_flip_p(more)
    assert drawn == pytest.approx(exact, abs=0.01)
    assert drawn * 10_001 == pytest.approx(round(drawn * 10_001), abs=1e-6)
    assert drawn == sign_flip_p(more, 0) == paired_difference(np.zeros(15), more).p
    assert drawn != sign_flip_p(more, 1) == paired_difference(np.zeros(15), more, seed=1).p


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=12))
@settings(max_examples=50)
def test_the_p_value_does_not_depend_on_the_order_of_the_models(values):
    sums = np.array(values)
    assert sign_flip_p(sums) == sign_flip_p(-sums)


def test_the_detectable_difference_is_found_with_a_power_of_80_percent():
    rng = np.random.default_rng(0)
    detectable = paired_difference(np.zeros(200), rng.normal(size=200)).detectable
    found = [
        ttest_rel(rng.normal(size=200) + detectable, np.zeros(200)).pvalue < 0.05  # deviation 1, as above
        for _ in range(1000)
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("units", [30, 120])
@pytest.mark.parametrize("size", [1, 4])
def test_coverage_and_false_findings(units, size):
    """2,000 simulated pairs of models without a difference, with items that share a group's difficulty."""
    rng = np.random.default_rng([units, size])
    covered = false = 0
    for trial in range(2000):
        shared = rng.normal(size=(units, 1))
        difficulty = shared + rng.normal(size=(units, size))
        group = rng.normal(size=(units, 1)) * 0.5
        first = (difficulty + group + rng.normal(size=(units, size)) > 0).astype(float).ravel()
        second = (difficulty - group + rng.normal(size=(units, size)) > 0).astype(float).ravel()
        clusters = np.repeat(np.arange(units), size).astype(str).tolist()
        found = paired_difference(first, second, clusters, seed=trial)
        covered += found.low <= 0 <= found.high
        false += found.p < 0.05
    assert 0.93 <= covered / 2000 <= 0.97
    assert false / 2000 <= 0.06


def test_a_p_value_from_drawn_signs_is_never_zero():
    """Among 10,000 patterns, chance gives all of 60 signs alike in none; the observed pattern itself counts."""
    assert sign_flip_p(1 + np.arange(60) / 100) == 1 / 10_001


def test_large_sums_that_differ_by_rounding_count_as_equal():
    """Of 4,096 patterns of signs, only all alike give as large a sum."""
    assert sign_flip_p(1e9 * (1 + np.arange(12) / 7)) == 2 / 2**12


def test_sums_of_one_size_have_the_binomial_p_value():
    sums = np.array([2.0] * 15 + [-2.0] * 5 + [0.0] * 9)
    assert sign_flip_p(sums) == pytest.approx(binomtest(15, 20).pvalue)


def test_the_normal_limit_is_near_the_drawn_signs(monkeypatch):
    sums = np.random.default_rng(0).normal(0.03, size=2_000)
    drawn = sign_flip_p(sums)
    monkeypatch.setattr("fairlab.judge.paired.NORMAL_FROM", 2_000)
    normal = sign_flip_p(sums)
    assert normal == pytest.approx(drawn, abs=0.015)  # about three standard errors of 10,000 draws
    assert normal == pytest.approx(math.erfc(abs(sums.sum()) / math.sqrt(2 * (sums**2).sum())))
