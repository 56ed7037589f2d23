import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from fairlab.metrics.significance import adjust_tested, agreement_p, association_p, sign_test_p, wilson_interval


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_printed_by_newcombe_1998(count, n, low, high):
    assert wilson_interval(count, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_as_scipy(case):
    count, n = case
    low, high = wilson_interval(count, n)
    assert 0 <= low <= count / n <= high <= 1
    assert (low, high) == pytest.approx(tuple(binomtest(count, n).proportion_ci(method="wilson")))


def test_wilson_of_a_half_count_lies_between_and_mirrors():
    low, high = wilson_interval(6.5, 14)
    assert wilson_interval(6, 14)[0] < low < wilson_interval(7, 14)[0]
    assert wilson_interval(7.5, 14) == pytest.approx((1 - high, 1 - low))
    assert all(math.isnan(bound) for bound in wilson_interval(0, 0))


def test_sign_test_by_hand():
    assert sign_test_p(9, 1) == pytest.approx(2 * (1 + 10) / 2**10)
    assert sign_test_p(1, 9) == sign_test_p(9, 1)
    assert sign_test_p(3, 3) == 1.0
    assert sign_test_p(0, 0) == 1.0


def test_agreement_by_chance_is_that_of_permuted_labels():
    rng = np.random.default_rng(0)
    truth, answers = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    answers[:14] = truth[:14]
    seen = (answers == truth).sum()
    drawn = np.array([(rng.permutation(answers) == truth).sum() for _ in range(20_000)])
    z = (seen - drawn.mean()) / drawn.std()
    assert agreement_p(answers, truth) == pytest.approx(norm.sf(z), rel=0.1)
    assert agreement_p([0, 0, 0], [0, 1, 0]) == agreement_p([0], [0]) == 1
    # Of the three orders of one label, one agrees in three places and two in one: mean 5/3, variance 8/9.
    assert agreement_p([0, 0, 1], [0, 0, 1]) == pytest.approx(norm.sf((3 - 5 / 3) / math.sqrt(8 / 9)))


def test_association_is_that_of_permuted_rows():
    rng = np.random.default_rng(1)
    first, second = rng.random((40, 3)), rng.random((40, 3))
    second[:, 0] += 0.5 * first[:, 0]
    seen = (first * second).sum()
    drawn = np.array([(rng.permutation(first) * second).sum() for _ in range(20_000)])
    z = (seen - drawn.mean()) / drawn.std()
    assert 0.5 < z < 4
    assert association_p(first, second) == pytest.approx(norm.sf(z), rel=0.1)
    assert association_p(np.ones((4, 1)), first[:4, :1]) == 1


def test_only_tests_with_a_p_value_are_adjusted():
    found = {"a": 0.01, "untested": None, "undefined": math.nan, "b": 0.03}
    assert adjust_tested(found) == {"a": 0.02, "b": 0.03}
    assert adjust_tested(found, lambda p: np.array(p) / 2) == {"a": 0.005, "b": 0.015}
