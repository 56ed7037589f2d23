"""Equalized odds by post-processing: the probability of predicting a label depends on group and model output.

fairlearn's ``ThresholdOptimizer`` fits these probabilities; no package is needed to apply them.

Source: Hardt et al. 2016, "Equality of Opportunity in Supervised Learning", section 4.2.
Shapes: N is the number of texts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.group_rates import SMALLEST
from fairlab.types import FairlabError, need_extra

Array = NDArray[np.float64]
OTHER = "(other)"  # group of texts without a group or in a group that was too small
LARGEST = 1e9  # threshold used instead of infinity, which JSON lacks


class Step(TypedDict):
    """Deterministic decision: the label is predicted if the score is above, or below, a threshold."""

    above: bool
    threshold: float
    weight: float


class Chances(TypedDict):
    """Probability of predicting a label in one group.

    The probability is the mean of a ``constant``, with the weight ``ignoring``, and of the weighted steps.
    """

    ignoring: float
    constant: float
    steps: list[Step]


def fit_chances(truth: Array, scores: Array, groups: Sequence[str], label: str) -> dict[str, Chances]:
    """Fit the probabilities of predicting a label, by group, for equalized odds and maximum accuracy on these rows.

    Groups with fewer than 20 rows, or with only one true value, are pooled with the texts without a group.

    Args:
        truth: True label, 0 or 1 for each row, (N,).
        scores: Probability of the label, (N,).
        groups: Group of each row; empty for no group.
        label: Name of the label, for messages.

    Raises:
        FairlabError: Fewer than two groups have 20 rows and both true values, or fairlearn is not installed.
    """
    need_extra("audit", "mend=odds", "fairlearn")
    from fairlearn.postprocessing import ThresholdOptimizer

    joined = np.array(_joined(truth, groups))
    if len(set(joined) - {OTHER}) < 2:
        raise FairlabError(
            f"fewer than two groups of fit have {SMALLEST} rows with and without '{label}', so mend=odds cannot "
            "equalize them; give more rows, or mend=threshold"
        )
    used = np.isin(joined, [name for name in set(joined) if name != OTHER or _is_enough(truth[joined == OTHER])])
    optimizer = ThresholdOptimizer(
        estimator=_identity_estimator(), constraints="equalized_odds", prefit=True, predict_method="predict_proba"
    )
    optimizer.fit(scores[used, None], truth[used], sensitive_features=joined[used])
    found = optimizer.interpolated_thresholder_.interpolation_dict
    chances = {str(name): _plain(one) for name, one in found.items()}
    half: Chances = {"ignoring": 0.0, "constant": 0.0, "steps": [{"above": True, "threshold": 0.5, "weight": 1.0}]}
    return {OTHER: half, **chances}


def chance_of(scores: Array, groups: Sequence[str], chances: Mapping[str, Chances]) -> Array:
    """Return the probability of predicting the label for each text (N,).

    ``scores`` are the model's probabilities of the label, (N,).
    """
    found = np.empty(len(scores))
    for k, (score, group) in enumerate(zip(scores, groups, strict=True)):
        one = chances.get(group, chances[OTHER])
        given = sum(step["weight"] * ((score > step["threshold"]) == step["above"]) for step in one["steps"])
        found[k] = one["ignoring"] * one["constant"] + (1 - one["ignoring"]) * given
    return found


def _joined(truth: Array, groups: Sequence[str]) -> list[str]:
    held = {name: truth[[group == name for group in groups]] for name in Counter(groups)}
    kept = {name for name, part in held.items() if _is_enough(part)}
    return [name if name in kept else OTHER for name in groups]


def _is_enough(truth: Array) -> bool:
    return len(truth) >= SMALLEST and len(set(truth)) > 1


def _plain(found: Mapping[str, object]) -> Chances:
    """Convert an entry of fairlearn's ``interpolation_dict`` to plain values."""
    steps: list[Step] = []
    for number in "01":
        operation: object = found[f"operation{number}"]
        threshold = float(getattr(operation, "threshold"))  # noqa: B009
        bounded = math.copysign(LARGEST, threshold) if math.isinf(threshold) else threshold
        above = getattr(operation, "operator") == ">"  # noqa: B009
        steps.append({"above": above, "threshold": bounded, "weight": float(str(found[f"p{number}"]))})
    ignoring, constant = (float(str(found.get(key, 0.0))) for key in ("p_ignore", "prediction_constant"))
    return {"ignoring": ignoring, "constant": constant, "steps": steps}


def _identity_estimator() -> Any:
    """Return an estimator that returns its features as probabilities, because fairlearn requires an estimator."""
    from sklearn.base import BaseEstimator

    class AsGiven(BaseEstimator):
        classes_ = (0, 1)

        def fit(self, *_: object) -> Any:
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict_proba(self, scores: Array) -> Array:
            return np.concatenate([1 - scores, scores], axis=1)

    return AsGiven()
