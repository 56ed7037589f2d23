import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sklearn_metrics

from fairlab.metrics.classification import METRICS, accuracy, f1, macro_f1, matthews, pearson, spearman


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (accuracy, sklearn_metrics.accuracy_score),
        (f1, lambda truth, predicted: sklearn_metrics.f1_score(truth, predicted, zero_division=0)),
        (matthews, sklearn_metrics.matthews_corrcoef),
    ],
)
def test_they_are_scikit_learns_row_by_row(ours, theirs):
    rng = np.random.default_rng(0)
    predicted, truth = rng.integers(0, 2, (2, 6, 40)).astype(float)
    predicted[0], truth[1], predicted[2], truth[2] = 0, 1, 1, 1  # constants
    expected = [theirs(truth[row], predicted[row]) for row in range(6)]
    np.testing.assert_allclose(ours(predicted, truth, axis=-1), expected, atol=1e-12)
    np.testing.assert_allclose(ours(predicted.T, truth.T, axis=0), expected, atol=1e-12)


def test_accuracy_of_three_labels_by_hand():
    assert accuracy(np.array([0, 1, 2, 2]), np.array([0, 2, 2, 1])) == 0.5


def test_macro_f1_is_scikit_learns_of_any_number_of_labels():
    rng = np.random.default_rng(1)
    predicted, truth = rng.integers(0, 3, (2, 6, 40)).astype(float)
    predicted[0], predicted[1], truth[1] = 0, 2, 2  # constants, and labels that are nowhere in a row
    expected = [sklearn_metrics.f1_score(t, p, average="macro") for p, t in zip(predicted, truth, strict=True)]
    np.testing.assert_allclose(macro_f1(predicted, truth), expected, atol=1e-12)
    np.testing.assert_allclose(macro_f1(predicted.T, truth.T, axis=0), expected, atol=1e-12)


def test_f1_asks_for_label_1():
    predicted, truth = np.array([1, 1, 1, 0]), np.array([1, 1, 0, 0])
    assert f1(predicted, truth) == pytest.approx(0.8)  # precision 2/3, recall 1
    assert f1(1 - predicted, 1 - truth) == pytest.approx(2 / 3)  # precision 1, recall 1/2


def test_labels_that_are_nowhere_or_in_one_place():
    assert f1(np.zeros(3), np.zeros(3)) == 0
    assert macro_f1(np.array([0, 0]), np.array([0, 1])) == pytest.approx(1 / 3)  # 2/3 of label 0, nothing of label 1


def test_every_measure_has_a_name():
    assert set(METRICS) == {"accuracy", "f1", "macro_f1", "matthews", "pearson", "spearman"}


PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=40)


@given(PAIRS)
def test_spearman_equals_scipy_with_ties(pairs):
    a, b = np.array(pairs, dtype=float).T
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert math.isnan(spearman(a, b))
    else:
        assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)


def test_spearman_works_along_an_axis():
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
