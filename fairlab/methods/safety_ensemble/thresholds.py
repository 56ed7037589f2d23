"""Score thresholds: the lowest one that meets a target on validation texts, which detects the most harmful texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.types import FairlabError

PRECISION, FALSE_POSITIVES = "precision", "false_positive_rate"
TARGETS = (PRECISION, FALSE_POSITIVES)


@dataclass(frozen=True)
class ThresholdTarget:
    """Target for a threshold.

    Attributes:
        of: Kind of target: ``precision`` for a minimum, or ``false_positive_rate`` for a maximum.
        value: Required precision or false-positive rate, above 0 and below 1.

    Raises:
        FairlabError: The target is unknown, or the value is out of range.
    """

    of: str
    value: float

    def __post_init__(self) -> None:
        if self.of not in TARGETS:
            raise FairlabError(f"method.target must give {' or '.join(TARGETS)}, not {self.of}")
        if not 0 < self.value < 1:
            raise FairlabError(f"method.target: {self.of} must be above 0 and below 1, not {self.value}")


def read_target(given: Mapping[str, float] | None) -> ThresholdTarget | None:
    """Return the target of a configuration, such as ``{precision: 0.8}``, or None if it is not set.

    Raises:
        FairlabError: The configuration does not have exactly one target, or the target is invalid.
    """
    if given is None:
        return None
    if len(given) != 1:
        raise FairlabError(f"method.target must give one of {', '.join(TARGETS)}, such as {{precision: 0.8}}")
    ((of, value),) = given.items()
    return ThresholdTarget(str(of), float(value))


def threshold(scores: ArrayLike, truth: ArrayLike, target: ThresholdTarget, harm: str) -> float:
    """Return the lowest score that meets a target when used as the threshold for unsafe texts.

    Args:
        scores: Scores of validation texts, (N,).
        truth: True labels of the texts, (N,), 0 or 1; both must occur.
        target: Target to meet.
        harm: Name of the harm, for the error message.

    Raises:
        FairlabError: A label does not occur, no score meets the target, or the target is so low that labelling all
            texts as unsafe meets it.

    Example:
        >>> threshold([0.1, 0.4, 0.6, 0.9], [0, 0, 1, 1], ThresholdTarget("precision", 0.6), "hate")
        0.4
    """
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(truth)
    if not 0 < labels.sum() < len(labels):
        raise FairlabError(f"the validation texts have fewer than two labels for {harm}; leave method.target out")
    if target.of == PRECISION and (share := labels.mean()) >= target.value:
        raise FairlabError(
            f"method.target: a model that flags every text has a precision of {share:.2f} for {harm}, which meets "
            f"{target.value:g}; give a precision above it"
        )
    candidates = np.unique(values)
    rates = np.stack([np.array(rates_at(values, labels, candidate)) for candidate in candidates])
    met = rates[:, 0] >= target.value if target.of == PRECISION else rates[:, 2] <= target.value
    if not met.any():
        best = rates[:, 0].max() if target.of == PRECISION else rates[:, 2].min()
        raise FairlabError(
            f"no threshold reaches a {target.of} of {target.value:g} for {harm} on the validation texts; the best is "
            f"{best:.2f}: give another method.target"
        )
    return float(candidates[met].min())


def rates_at(scores: NDArray[np.float64], truth: ArrayLike, cut: float) -> tuple[float, float, float]:
    """Return precision, recall and false-positive rate if texts that score at least ``cut`` are labelled unsafe.

    Precision is 1 if no text is labelled unsafe.

    Example:
        >>> rates_at(np.array([0.1, 0.4, 0.6, 0.9]), [0, 1, 0, 1], 0.5)
        (0.5, 0.5, 0.5)
    """
    named, unsafe = scores >= cut, np.asarray(truth) == 1
    hits = int((named & unsafe).sum())
    precision = hits / int(named.sum()) if named.any() else 1.0
    return precision, hits / int(unsafe.sum()), int((named & ~unsafe).sum()) / int((~unsafe).sum())
