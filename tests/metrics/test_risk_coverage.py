"""The area under the risk-coverage curve by hand, and what a random order gives."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.llm.risk_coverage import area_under_risk_coverage, gain_over_random
from fairlab.types import FairlabError


def by_hand(order):
    """Mean over k of the error rate of the first k."""
    return sum(sum(order[:k]) / k for k in range(1, len(order) + 1)) / len(order)


def test_values_by_hand():
    # risks 0/1, 0/2, 1/3, 2/4
    assert area_under_risk_coverage([4, 3, 2, 1], [0, 0, 1, 1]) == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4)
    assert area_under_risk_coverage([1, 2, 3, 4], [0, 0, 1, 1]) == pytest.approx((1 + 1 + 2 / 3 + 1 / 2) / 4)
    assert area_under_risk_coverage([1, 1, 1, 1], [0, 1, 1, 0]) == pytest.approx(0.5)


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=5))
def test_ties_give_the_mean_over_their_orders(pairs):
    orders = [order for order in permutations(pairs) if [c for c, _ in order] == sorted((c for c, _ in pairs))[::-1]]
    expected = np.mean([by_hand([wrong for _, wrong in order]) for order in orders])
    confidence, wrong = zip(*pairs, strict=True)
    assert area_under_risk_coverage(confidence, wrong) == pytest.approx(expected)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=20))
def test_only_the_order_matters_and_equal_confidence_is_the_error_rate(pairs):
    confidence, wrong = map(np.array, zip(*pairs, strict=True))
    ranks = np.unique(confidence, return_inverse=True)[1]
    assert area_under_risk_coverage(confidence, wrong) == pytest.approx(
        area_under_risk_coverage(3.0 * ranks - 7, wrong)
    )
    assert area_under_risk_coverage(np.full(len(wrong), 0.3), wrong) == pytest.approx(wrong.mean())


def test_the_gain_is_above_chance_for_a_good_order_and_not_for_a_random_one():
    rng = np.random.default_rng(0)
    wrong = rng.random(80) < 0.5
    gain, low, high = gain_over_random(1.0 - wrong, wrong)
    assert 0.2 < low < gain < high
    assert gain == pytest.approx(wrong.mean() - area_under_risk_coverage(1.0 - wrong, wrong))
    _, low, high = gain_over_random(rng.random(80), wrong)
    assert low < 0 < high
    assert gain_over_random(np.ones(80), wrong) == pytest.approx((0.0, 0.0, 0.0))


@pytest.mark.parametrize(("confidence", "wrong"), [([], []), ([0.1, 0.2], [True])])
def test_lengths_that_do_not_fit_are_said(confidence, wrong):
    with pytest.raises(FairlabError, match="a risk-coverage curve needs a confidence per answer"):
        area_under_risk_coverage(confidence, wrong)
