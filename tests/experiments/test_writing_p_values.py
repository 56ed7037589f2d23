"""P-values of the page on what language models write, against values counted by hand."""

import numpy as np
import pytest

from experiments.writing.tables import p_values


def test_p_values_are_those_of_random_signs_after_holm():
    sizes = np.array([1.0, 2.0, 3.0, 4.0, 5.0])  # all in one direction: 2 of 2**5 patterns are as extreme
    odds = np.zeros((5, 2, 3))
    odds[:, 0] += sizes[:, None]
    odds[:, :, 2] += np.array([1.0, -1.0, 1.0, -1.0, 0.0])[:, None]  # sums to 0: every pattern is as extreme
    found = p_values(odds.reshape(5, 6), {"gender": ["man", "woman"], "race": ["Black", "Asian", "white"]})
    assert list(found) == ["gender_man", "race_black", "race_asian", "race_white"]
    assert found["gender_man"] == pytest.approx(4 * 2 / 2**5)
    assert found["race_white"] == 1
