import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairlab.metrics.classification import pearson, spearman

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=40)


@given(PAIRS)
def test_equals_scipy_with_ties(pairs):
    a, b = np.array(pairs, dtype=float).T
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert math.isnan(spearman(a, b))
    else:
        assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)


def test_works_along_an_axis():
    a = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    b = np.array([[1.0, 5.0, 9.0], [1.0, 5.0, 9.0]])
    assert spearman(a, b).tolist() == [1.0, -1.0]


@given(PAIRS)
def test_pearson_equals_scipy(pairs):
    a, b = np.array(pairs, dtype=float).T
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert math.isnan(pearson(a, b))
    else:
        assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-12)
