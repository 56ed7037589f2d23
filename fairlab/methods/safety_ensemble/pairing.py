"""Logistic regression with a penalty on the variance of its logits within counterfactual sets.

Source: Garg et al. 2019, "Counterfactual Fairness in Text Classification through Robustness", section 4 (counterfactual
logit pairing), with the variance within a set instead of the distance between two texts.
Shape letters: N texts, F source scores, S counterfactual sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RIDGE = 1e-4  # penalty on each coefficient, in units of the mean loss
WIDTH = 0.5  # of the kernel exp(-WIDTH * mean squared difference of two texts' standardised scores)
FittedKernel = tuple[list[tuple[str, Any]], Array]  # pipeline steps, and the kernel values of the training texts
LANDMARKS = 200  # number of training texts that the kernel compares a text with


def paired_logistic(
    features: Array,
    truth: NDArray[np.int64],
    sets: NDArray[np.int64],
    weights: Array,
    penalty: float,
    state: int,
    *,
    evenly: bool = False,
    kernel: FittedKernel | None = None,
) -> Any:
    r"""Fit a logistic-regression pipeline that minimises the loss plus the variance of logits within sets.

    .. math:: \frac1S \sum_i s_i\, \ell(y_i, w^\top x_i) + w^\top(\lambda C + \mathrm{RIDGE}\, I) w

    Here s are the weights and S their sum, lambda is the penalty, and x are kernel values of the ranks of a text's
    scores (Nystroem's approximation of a Gaussian kernel), so that the model can be nonlinear. C is the mean covariance
    of x within a set, so that the penalty is the mean variance of the logits. A Cholesky factor of the second term
    turns the problem into an ordinary ridge regression in other coordinates, whose solution is transformed back.

    Args:
        features: Source scores, (N, F); NaN for a missing score.
        truth: True label of each text, (N,), 0 or 1.
        sets: Number of each text's set, (N,).
        weights: Weight of each text, (N,).
        penalty: Weight of the variance, at least 0.
        state: Seed of the kernel's landmarks.
        evenly: Whether every direction gets the mean penalty, which makes shrinkage independent of the sets.
        kernel: Kernel that was already fitted to the same features and state; None fits a new kernel.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline

    steps, values = kernel or fitted_kernel(features, state)
    within = covariance_within(values, sets)
    if evenly:
        within = np.trace(within) / len(within) * np.eye(len(within))
    root = np.linalg.cholesky(penalty * within + RIDGE * np.eye(values.shape[1]))
    turned = np.linalg.solve(root, values.T).T
    # scikit-learn minimises C * sum(loss) + |u|^2 / 2.
    model = LogisticRegression(C=1 / (2 * weights.sum()), max_iter=2000).fit(turned, truth, sample_weight=weights)
    model.coef_ = np.linalg.solve(root.T, model.coef_.T).T
    return Pipeline([*steps, ("model", model)])


def fitted_kernel(features: Array, state: int) -> FittedKernel:
    """Fit the pipeline steps that map source scores (N, F), which may be NaN, to kernel values of their ranks.

    The steps are returned with the kernel values of the scores.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import QuantileTransformer, StandardScaler

    landmarks = min(LANDMARKS, len(features))
    kernel = Pipeline(
        [
            ("missing", SimpleImputer(strategy="median", keep_empty_features=True)),
            ("ranks", QuantileTransformer(n_quantiles=min(200, len(features)), random_state=state)),
            ("scale", StandardScaler()),
            ("kernel", Nystroem(gamma=WIDTH / features.shape[1], n_components=landmarks, random_state=state)),
        ]
    )
    values = kernel.fit_transform(features)
    return kernel.steps, values


def covariance_within(values: Array, sets: NDArray[np.int64]) -> Array:
    """Return the mean covariance (F, F) within sets of two or more texts.

    The covariance is 0 if there is no such set.

    Example:
        >>> covariance_within(np.array([[1.0], [3.0], [9.0]]), np.array([0, 0, 1])).round(6).tolist()
        [[1.0]]
    """
    _, place, sizes = np.unique(sets, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(place, weights=column) for column in values.T], axis=1) / sizes[:, None]
    left = (values - means[place]) / np.sqrt(sizes[place])[:, None]
    return np.asarray(left.T @ left / max(1, int((sizes > 1).sum())))
