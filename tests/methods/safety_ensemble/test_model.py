"""A harm's model: the mean of logits, and a forest's probabilities as scikit-learn gives them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from fairlab.methods.safety_ensemble.calibration import UNCHANGED, calibrated, calibration_line
from fairlab.methods.safety_ensemble.model import HarmModel, logits


def test_logits_are_the_mean_of_those_that_scikit_learn_gives():
    rng = np.random.default_rng(0)
    features = rng.random((60, 3))
    features[::7, 1] = np.nan
    truth = (rng.random(60) > 0.5).astype(int)
    forest = make_pipeline(SimpleImputer(), RandomForestClassifier(7, min_samples_leaf=8, random_state=0))
    line = make_pipeline(SimpleImputer(), LogisticRegression())
    both = [forest.fit(features, truth), line.fit(features, truth)]
    odds = [np.log(one.predict_proba(features)[:, 1] / one.predict_proba(features)[:, 0]) for one in both]
    np.testing.assert_allclose(logits(both, features), np.mean(odds, axis=0), rtol=1e-12)
    scores = HarmModel(both, 2.0, -1.0).score(features)
    np.testing.assert_allclose(scores, 1 / (1 + np.exp(1 - np.sum(odds, axis=0))))
    importances = HarmModel(both, 1.0, 0.0).contributions
    np.testing.assert_allclose(importances, both[0][-1].feature_importances_, rtol=1e-12)
    assert HarmModel(both[::-1], 1.0, 0.0).contributions is None
    owner = np.arange(60) // 2
    means = np.mean(odds, axis=0).reshape(30, 2).mean(axis=1)
    np.testing.assert_allclose(HarmModel(both, 2.0, -1.0).score(features, owner), 1 / (1 + np.exp(1 - 2 * means)))
    for leaf in (26, 60):  # some of the trees are a leaf alone, or all
        grown = make_pipeline(SimpleImputer(), RandomForestClassifier(7, min_samples_leaf=leaf, random_state=0))
        grown.fit(features, truth)
        assert 1 in {tree.tree_.node_count for tree in grown[-1].estimators_}
        importances = HarmModel([grown], 1.0, 0.0).contributions
        np.testing.assert_allclose(importances, grown[-1].feature_importances_, rtol=1e-12)


def test_a_line_is_fitted_to_labels_that_rise_with_the_log_odds():
    """A quarter of the texts at 0 are unsafe and three quarters of those at 1: the log odds are -log 3 and log 3."""
    odds, truth = np.repeat([0.0, 1.0], 4), np.array([1, 0, 0, 0, 1, 1, 1, 0])
    assert calibration_line(odds, truth) == pytest.approx((2 * np.log(3), -np.log(3)), abs=1e-3)
    assert calibration_line(odds, 1 - truth) == calibration_line(odds, np.ones(8)) == (1.0, 0.0)


def test_log_odds_of_any_size_are_probabilities_without_overflow():
    with np.errstate(all="raise", under="ignore"):
        assert calibrated(np.array([-1e4, -2.0, 0.0, 1e4]), *UNCHANGED).tolist() == pytest.approx(
            [0, 1 / (1 + np.e**2), 0.5, 1]
        )
