"""Which version of an item scores highest, by hand."""

import numpy as np
import pytest

from fairlab.metrics.preference import male_first, margins, neutral_first

SCORES = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.3], [0.1, 0.1, 0.1], [1.0, 0, 0]])


def test_preferences_and_their_ties():
    assert margins(SCORES) == pytest.approx([-0.1, 0.2, 0, 1])
    assert male_first(SCORES).tolist() == [0, 1, 0.5, 1]
    assert neutral_first(SCORES) == pytest.approx([1, 1 / 2, 1 / 3, 0])
