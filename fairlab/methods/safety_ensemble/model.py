"""Classifier of one harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.methods.safety_ensemble.calibration import calibrated
from fairlab.methods.safety_ensemble.exported.arrays import Fitted

Array = NDArray[np.float64]
LEAST = 1e-6  # lower bound of a probability before its logit is taken


@dataclass(frozen=True)
class HarmModel:
    """Fitted and calibrated model of one harm.

    Attributes:
        pipelines: Pipelines from source scores to the probability of the harm, whose logits are averaged; medians
            replace missing scores. They are scikit-learn pipelines after fitting, and arrays after loading.
        slope, intercept: Line applied to the logit, so that scores are probabilities on the validation seeds
            (Platt 1999).
    """

    pipelines: Sequence[Any]
    slope: float
    intercept: float

    def score(self, features: Array, owner: NDArray[np.int64] | None = None) -> Array:
        """Return scores (N,) in [0, 1] of source scores (N, F).

        Args:
            features: Source scores, (N, F), or scores (K, F) of the rewrites of N texts.
            owner: Index of the text that each rewrite belongs to, (K,); the logits of a text are averaged.
        """
        found = logits(self.pipelines, features)
        if owner is not None:
            found = mean_by_owner(found, owner)
        return calibrated(found, self.slope, self.intercept)

    @property
    def contributions(self) -> Array | None:
        """Return each source score's importance in the first pipeline's trees, (F,), or None if it has no trees."""
        return getattr(self.pipelines[0][-1], "feature_importances_", None)


def logits(pipelines: Sequence[Any], features: Array) -> Array:
    """Return the mean log odds (N,) that pipelines give source scores (N, F), before calibration."""
    found = np.stack([_probabilities(pipeline, features) for pipeline in pipelines])
    probabilities = np.clip(found, LEAST, 1 - LEAST)
    return np.asarray((np.log(probabilities) - np.log1p(-probabilities)).mean(axis=0))


def mean_by_owner(values: Array, owner: NDArray[np.int64]) -> Array:
    """Return the mean (N,) of the values (K,) of each owner's texts.

    Example:
        >>> mean_by_owner(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
        [2.0, 5.0]
    """
    return np.asarray(np.bincount(owner, weights=values) / np.bincount(owner))


def _probabilities(pipeline: Any, features: Array) -> Array:
    """Return the probabilities of ``predict_proba``.

    A forest is evaluated without scikit-learn's checks and its job per tree, which would take longer than the
    evaluation.
    """
    if isinstance(pipeline, Fitted):
        return pipeline.probabilities(features)
    if type(pipeline[-1]).__name__ != "RandomForestClassifier":
        return np.asarray(pipeline.predict_proba(features)[:, 1])
    cleaned = np.asarray(pipeline[:-1].transform(features), dtype=np.float32)
    trees = pipeline[-1].estimators_
    return np.asarray(sum(tree.tree_.predict(cleaned)[:, 1] for tree in trees) / len(trees))
