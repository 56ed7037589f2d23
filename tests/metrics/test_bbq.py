"""Bias scores of BBQ by hand."""

import numpy as np
import pytest

from fairlab.metrics.bbq import ambiguous_bias, disambiguated_bias


@pytest.mark.parametrize(("biased", "named", "score"), [(0, 0, 0), (0, 1, -1), (1, 1, 1), (3, 4, 0.5)])
def test_the_share_of_biased_answers_is_scaled_to_minus_one_and_one(biased, named, score):
    counts = np.array([biased]), np.array([named])
    assert disambiguated_bias(*counts) == score
    assert ambiguous_bias(*counts, np.array([6]), np.array([10])) == pytest.approx(0.4 * score)


def test_no_item_has_no_bias():
    assert ambiguous_bias(*np.zeros((4, 1))) == 0
