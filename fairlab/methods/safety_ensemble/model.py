"""Classifier for one harm, with calibrated probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.methods.safety_ensemble.calibration import calibrated
from fairlab.methods.safety_ensemble.exported.arrays import Fitted

Array = NDArray[np.float64]
FOREST = "RandomForestClassifier"
LEAST = 1e-6  # lower bound of a probability before its logit is taken


@dataclass(frozen=True)
class HarmModel:
    """Fitted and calibrated model for one harm.

    Attributes:
        pipelines: Models that map source scores to the probability of the harm: scikit-learn pipelines after fitting,
            and arrays after loading. Medians replace missing scores, and the logits of all models are averaged.
        slope, intercept: Slope and intercept of the line that is applied to the logit, which calibrates scores on the
            validation seeds (Platt 1999).
    """

    pipelines: Sequence[Any]
    slope: float
    intercept: float

    def score(self, features: Array, owner: NDArray[np.int64] | None = None) -> Array:
        """Return the scores (N,) of N texts, in [0, 1].

        Args:
            features: Source scores, (N, F), or scores (K, F) of the rewrites of N texts.
            owner: Index of the text that each rewrite belongs to, (K,); the logits of a text's rewrites are averaged.
        """
        found = logits(self.pipelines, features)
        if owner is not None:
            found = mean_by_owner(found, owner)
        return calibrated(found, self.slope, self.intercept)

    @property
    def contributions(self) -> Array | None:
        """Return the importance of each source score in the first pipeline's forest, (F,).

        The values equal the forest's ``feature_importances_`` but are computed without a job per tree. The result is
        None if there is no forest.
        """
        forest = self.pipelines[0][-1]
        if type(forest).__name__ != FOREST:
            return None
        grown = [tree.feature_importances_ for tree in forest.estimators_ if tree.tree_.node_count > 1]
        mean = np.mean(grown, axis=0) if grown else np.zeros(forest.n_features_in_)
        return np.asarray(mean / mean.sum()) if mean.any() else mean


class Evaluated:
    """Log odds of the same texts under several fitted pipelines, each computed once.

    If pipelines share their last transformer, its output is also computed only once.

    Args:
        features: Source scores of the texts, (N, F).
    """

    def __init__(self, features: Array) -> None:
        self.features = features
        # The pipelines and transformers are kept with their results, so that no other one gets their id.
        self._found: dict[int, tuple[Any, Array]] = {}
        self._transformed: dict[int, tuple[Any, Array]] = {}

    def logits(self, pipelines: Sequence[Any]) -> Array:
        """Return the mean log odds (N,) of pipelines, before calibration."""
        return np.asarray(np.stack([self._log_odds(pipeline) for pipeline in pipelines]).mean(axis=0))

    def _log_odds(self, pipeline: Any) -> Array:
        if id(pipeline) not in self._found:
            found = np.clip(self._probabilities(pipeline), LEAST, 1 - LEAST)
            self._found[id(pipeline)] = pipeline, np.log(found) - np.log1p(-found)
        return self._found[id(pipeline)][1]

    def _probabilities(self, pipeline: Any) -> Array:
        """Return the same probabilities as ``predict_proba``.

        Forests are evaluated without the checks and without a job per tree, which would take longer than the evaluation
        itself.
        """
        if isinstance(pipeline, Fitted):
            return pipeline.probabilities(self.features)
        if type(pipeline[-1]).__name__ != FOREST:
            return np.asarray(pipeline[-1].predict_proba(self._last_features(pipeline))[:, 1])
        cleaned = np.asarray(pipeline[:-1].transform(self.features), dtype=np.float32)
        trees = pipeline[-1].estimators_
        unsafe = (tree.tree_.value[:, 0, 1].take(tree.tree_.apply(cleaned)) for tree in trees)
        return np.asarray(sum(unsafe) / len(trees))

    def _last_features(self, pipeline: Any) -> Array:
        """Return the features that the last step of a pipeline receives."""
        last = pipeline[-2]
        if id(last) not in self._transformed:
            self._transformed[id(last)] = last, np.asarray(pipeline[:-1].transform(self.features))
        return self._transformed[id(last)][1]


def logits(pipelines: Sequence[Any], features: Array) -> Array:
    """Return the pipelines' mean log odds (N,) for source scores (N, F), before calibration."""
    return Evaluated(features).logits(pipelines)


def mean_by_owner(values: Array, owner: NDArray[np.int64]) -> Array:
    """Return the mean (N,) of the values (K,) that belong to each owner.

    Example:
        >>> mean_by_owner(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
        [2.0, 5.0]
    """
    return np.asarray(np.bincount(owner, weights=values) / np.bincount(owner))
