"""Logistic regression that pays for how much its logits vary within counterfactual sets.

Source: Garg et al. 2019, "Counterfactual Fairness in Text Classification through Robustness", section 4 (counterfactual
logit pairing), with the variance of a set in the place of the distance of pairs.
Shape letters: N texts, F source scores, S counterfactual sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RIDGE = 1e-2  # of each coefficient, in units of the mean loss: as much as keeps correlated scores apart


def paired_logistic(
    features: Array, truth: NDArray[np.int64], sets: NDArray[np.int64], share: Array, weight: float
) -> Any:
    r"""A pipeline of scikit-learn that minimises the loss and the variance of logits within sets.

    .. math:: \frac1S \sum_i s_i\, \ell(y_i, w^\top x_i) + w^\top(\lambda C + \mathrm{RIDGE}\, I) w

    Here s is the share of a text in its set, lambda the weight, and C the mean covariance of the standardised features
    within a set, so that the penalty is the mean variance of the logits. With a Cholesky factor of the penalty it is an
    ordinary ridge regression in other coordinates, whose solution is put back.

    Args:
        features: source scores, (N, F); nan where one is missing.
        truth: true label of each text, (N,), 0 or 1.
        sets: number of each text's set, (N,).
        share: what part of its set each text is, (N,).
        weight: of the variance in the loss, at least 0.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    missing = SimpleImputer(strategy="median", keep_empty_features=True)
    scale = StandardScaler()
    values = scale.fit_transform(missing.fit_transform(features), sample_weight=share)
    within = covariance_within(values, sets)
    root = np.linalg.cholesky(weight * within + RIDGE * np.eye(values.shape[1]))
    turned = np.linalg.solve(root, values.T).T
    # scikit-learn minimises C * sum(loss) + |u|^2 / 2.
    model = LogisticRegression(C=1 / (2 * share.sum()), max_iter=1000).fit(turned, truth, sample_weight=share)
    model.coef_ = np.linalg.solve(root.T, model.coef_.T).T
    return Pipeline([("missing", missing), ("scale", scale), ("model", model)])


def covariance_within(values: Array, sets: NDArray[np.int64]) -> Array:
    """Mean covariance within the sets of two texts or more, (F, F); 0 where there is none.

    Example:
        >>> covariance_within(np.array([[1.0], [3.0], [9.0]]), np.array([0, 0, 1])).tolist()
        [[1.0]]
    """
    _, place, sizes = np.unique(sets, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(place, weights=column) for column in values.T], axis=1) / sizes[:, None]
    left = (values - means[place]) / np.sqrt(sizes[place])[:, None]
    return np.asarray(left.T @ left / max(1, int((sizes > 1).sum())))
