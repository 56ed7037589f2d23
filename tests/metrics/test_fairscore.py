"""Fairscore and its companions by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairlab.metrics.fairscore import both_correct, fairscore, neither_correct

LABELS = st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=1, max_size=20)


def test_by_hand():
    original, perturbed, truth = np.array([0, 1, 1, 0, 2]), np.array([0, 0, 1, 1, 1]), np.array([0, 0, 0, 0, 0])
    assert fairscore(original, perturbed, truth) == 3 / 5
    assert both_correct(original, perturbed, truth) == 1 / 5
    assert neither_correct(original, perturbed, truth) == 2 / 5  # the third; the last, wrong in two ways


@given(LABELS)
def test_with_two_labels_the_shares_add_up_to_one(rows):
    arrays = np.array(rows).T
    total = fairscore(*arrays) + both_correct(*arrays) + neither_correct(*arrays)
    assert np.isclose(total, 1)


def test_shares_are_along_an_axis():
    original, perturbed = np.array([[0, 1], [1, 1]]), np.array([[0, 0], [0, 0]])
    assert fairscore(original, perturbed, original, axis=1).tolist() == [0.5, 1.0]
