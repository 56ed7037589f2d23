import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from fairlab.metrics.ranking import area_under_roc, average_precision

SCORES = st.integers(0, 20).map(lambda value: value / 20)


@given(st.lists(st.tuples(SCORES, st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=30))
def test_average_precision_is_scikit_learns(items):
    scores, truth, weights = (np.array(column) for column in zip(*items, strict=True))
    if not (truth * weights).sum():
        assert math.isnan(average_precision(truth, scores, weights))
        return
    expected = average_precision_score(truth, scores, sample_weight=weights)
    assert float(average_precision(truth, scores, weights)) == pytest.approx(expected)
    both = average_precision(truth, scores, np.stack([weights, 3 * weights]))
    assert both == pytest.approx([expected, expected])


@given(st.lists(st.tuples(SCORES, st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_area_under_the_roc_curve_is_scikit_learns(items):
    scores, truth, weights = (np.array(column) for column in zip(*items, strict=True))
    if len(set(truth[weights > 0])) < 2:
        assert math.isnan(area_under_roc(truth, scores, weights))
        return
    expected = roc_auc_score(truth, scores, sample_weight=weights)
    assert float(area_under_roc(truth, scores, weights)) == pytest.approx(expected)
    assert area_under_roc(truth, -scores, np.stack([weights, 3 * weights])) == pytest.approx([1 - expected] * 2)
