"""Counterfactual variance, flips and sliced averages against plain Python."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.metrics.acv import (
    average_counterfactual_variance,
    set_flips,
    set_numbers,
    set_variances,
)
from fairlab.metrics.equalised_odds import equalised_odds_gap
from fairlab.metrics.sliced_averages import largest_gap, sliced_averages

SCORES = st.integers(0, 20).map(lambda value: value / 20)
EXAMPLES = st.lists(
    st.tuples(SCORES, st.sampled_from([None, "a", "b", "c", "d"]), st.integers(-1, 3), st.integers(0, 1)),
    min_size=1,
    max_size=40,
)


def test_scores_that_differ_by_rounding_have_no_variance():
    third = 0.1 + 0.2
    scores = np.array([third, 0.3, third, 0.7, 0.7, 0.7, 0.2, 0.4])
    place = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    assert third != 0.3
    np.testing.assert_allclose(set_variances(scores, place), [0, 0, 0.01], rtol=1e-12, atol=0)
    around, apart = set_variances([0, 0.6e-12, -0.6e-12, 0, 1.5e-12], np.array([0, 0, 0, 1, 1]))
    assert around == 0 < apart  # the first score of a set counts


@given(EXAMPLES)
def test_acv_is_plain_python(examples):
    scores, sets = [e[0] for e in examples], [e[1] for e in examples]
    variances = []
    for name in dict.fromkeys(name for name in sets if name is not None):
        of_set = [score for score, other in zip(scores, sets, strict=True) if other == name]
        if len(of_set) > 1:
            variances.append(statistics.pvariance(of_set))
    expected = statistics.fmean(variances) if variances else math.nan
    assert average_counterfactual_variance(scores, sets) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(EXAMPLES, st.integers(0, 1))
def test_sliced_averages_are_plain_python(examples, of):
    scores, _, slices, truth = zip(*examples, strict=True)
    means, sizes = sliced_averages(scores, slices, truth, of, 4)
    for k in range(4):
        chosen = [e[0] for e in examples if e[2] == k and e[3] == of]
        assert sizes[k] == len(chosen)
        expected = statistics.fmean(chosen) if chosen else math.nan
        assert means[k] == pytest.approx(expected, abs=1e-12, nan_ok=True)
    held = [value for value in means if not math.isnan(value)]
    expected = max(held) - min(held) if len(held) > 1 else math.nan
    assert float(largest_gap(means)) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_flips_by_hand():
    place, names = set_numbers(["x", "x", "y", "y", "z", None, "low", "low"])
    assert (place.tolist(), names) == ([0, 0, 1, 1, -1, -1, 2, 2], ["x", "y", "low"])
    scores = [0.4, 0.5, 0.5, 0.9, 0.1, 0.2, 0.1, 0.3]
    assert set_flips(scores, place, 0.5).tolist() == [1.0, 0.0, 0.0]
    assert set_variances(scores, place) == pytest.approx([0.0025, 0.04, 0.01])


def test_equalised_odds_by_hand():
    scores = [0.5, 0.1, 0.9, 0.9, 0.9, 0.1]  # the threshold itself counts as unsafe
    slices, truth = [0, 0, 1, 1, 0, 1], [0, 0, 0, 0, 1, 1]
    # False positive rates 1/2 and 1, true positive rates 1 and 0.
    assert float(equalised_odds_gap(scores, slices, truth, 0.5, 2)) == 1.0
    assert float(equalised_odds_gap(scores[:4], slices[:4], truth[:4], 0.5, 2)) == 0.5
    assert math.isnan(equalised_odds_gap(scores[:2], slices[:2], truth[:2], 0.5, 2))
