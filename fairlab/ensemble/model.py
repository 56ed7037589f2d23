"""The classifier of one harm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LEAST = 1e-6  # of a probability whose logit is taken


@dataclass(frozen=True)
class HarmModel:
    """A fitted model of one harm, calibrated.

    Attributes:
        pipeline: scikit-learn pipeline from source scores to the probability of the harm; medians stand in for missing
            scores.
        slope, intercept: line that the logit is put through, so that scores are probabilities on the validation seeds
            (Platt 1999).
    """

    pipeline: Any
    slope: float
    intercept: float

    def score(self, features: Array) -> Array:
        """Scores (N,) in [0, 1] of source scores (N, F)."""
        return 1 / (1 + np.exp(-(self.slope * logits(self.pipeline, features) + self.intercept)))

    @property
    def contributions(self) -> Array | None:
        """Share of each source score in what the trees decide by, (F,); None where the model has no trees."""
        return getattr(self.pipeline[-1], "feature_importances_", None)


def logits(pipeline: Any, features: Array) -> Array:
    """Log odds (N,) that a pipeline gives source scores (N, F), before calibration."""
    probabilities = np.clip(pipeline.predict_proba(features)[:, 1], LEAST, 1 - LEAST)
    return np.log(probabilities) - np.log1p(-probabilities)
