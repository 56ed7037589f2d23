"""The variance penalty: its optimum, and what it does to sets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.pipeline import Pipeline

from fairlab.methods.safety_ensemble.model import Evaluated
from fairlab.methods.safety_ensemble.pairing import covariance_within, fitted_kernel, paired_logistic
from fairlab.methods.safety_ensemble.passes import set_shares

SETS = np.repeat(np.arange(30), 3)


def example():
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.integers(0, 2, 30), 3)
    identity = np.tile([0.0, 1.0, 2.0], 30)
    return np.stack([truth + rng.normal(size=90), identity + truth, rng.normal(size=90)], axis=1), truth


def test_a_kernel_that_was_fitted_before_changes_nothing_and_is_shared():
    features, truth = example()
    kernel = fitted_kernel(features, 3)
    alone = paired_logistic(features, truth, SETS, set_shares(SETS), 1.0, 3)
    pipelines = [paired_logistic(features, truth, SETS, set_shares(SETS), k, 3, kernel=kernel) for k in (1.0, 5.0)]
    np.testing.assert_allclose(pipelines[0].predict_proba(features), alone.predict_proba(features), rtol=1e-12)
    assert pipelines[0][-2] is pipelines[1][-2]
    together = Evaluated(features)
    for pipeline in pipelines:
        np.testing.assert_array_equal(together.logits([pipeline]), Evaluated(features).logits([pipeline]))


@pytest.mark.parametrize("evenly", [False, True])
def test_it_is_the_minimum_of_loss_and_variance(evenly):
    features, truth = example()
    share = set_shares(SETS)
    pipeline = paired_logistic(features, truth, SETS, share, 2.0, 0, evenly=evenly)
    values = pipeline[:-1].transform(features)
    within = covariance_within(values, SETS)
    if evenly:
        within = np.eye(len(within)) * within.diagonal().mean()

    sign = 2 * truth - 1
    penalty = 2.0 * within + 1e-4 * np.eye(values.shape[1])

    def objective(weights):
        logits = values @ weights[:-1] + weights[-1]
        loss = (share * np.logaddexp(0, -sign * logits)).sum() / share.sum()
        pull = -share * sign / (1 + np.exp(sign * logits)) / share.sum()
        slope = np.r_[values.T @ pull + 2 * penalty @ weights[:-1], pull.sum()]
        return loss + weights[:-1] @ penalty @ weights[:-1], slope

    best = minimize(objective, np.zeros(values.shape[1] + 1), jac=True, tol=1e-12)
    model = pipeline[-1]
    assert objective(np.r_[model.coef_[0], model.intercept_])[0] == pytest.approx(best.fun, abs=1e-5)


def test_texts_without_versions_have_no_variance():
    assert covariance_within(np.array([[1.0], [3.0]]), np.array([0, 1])).tolist() == [[0.0]]


def test_the_penalty_is_the_mean_variance_of_logits():
    features, truth = example()
    pipeline = paired_logistic(features, truth, SETS, set_shares(SETS), 0.5, 0)
    logits = pipeline.decision_function(features).reshape(30, 3)
    weights = pipeline[-1].coef_[0]
    within = covariance_within(pipeline[:-1].transform(features), SETS)
    np.testing.assert_allclose(weights @ within @ weights, logits.var(axis=1).mean())


def test_a_larger_weight_narrows_the_sets():
    features, truth = example()
    spread = [
        paired_logistic(features, truth, SETS, set_shares(SETS), weight, 0)
        .decision_function(features)
        .reshape(30, 3)
        .var(axis=1)
        .mean()
        for weight in (0.0, 1.0, 100.0)
    ]
    assert spread[0] > 2 * spread[1] > 4 * spread[2]


def test_the_kernel_falls_with_the_mean_squared_difference_of_standardised_ranks():
    features, _ = example()
    steps, values = fitted_kernel(features, 3)
    standard = Pipeline(steps[:-1]).transform(features)
    assert standard.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    squares = ((standard[:, None] - standard[None]) ** 2).mean(axis=2)
    np.testing.assert_allclose(values @ values.T, np.exp(-squares / 2), atol=1e-4)  # every text is a landmark
