"""Thresholds of scores: the lowest one that meets a target on validation texts, so that the most harm is found."""

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
    """What a threshold must meet.

    Attributes:
        of: ``precision``, at least, or ``false_positive_rate``, at most.
        value: share, above 0 and below 1.

    Raises:
        FairlabError: an unknown target, or a value that is no share.
    """

    of: str
    value: float

    def __post_init__(self) -> None:
        if self.of not in TARGETS:
            raise FairlabError(f"method.target must give {' or '.join(TARGETS)}, not {self.of}")
        if not 0 < self.value < 1:
            raise FairlabError(f"method.target: {self.of} must lie above 0 and below 1, not {self.value}")


def read_target(given: Mapping[str, float] | None) -> ThresholdTarget | None:
    """The target of a configuration, ``{precision: 0.8}``; None where there is none.

    Raises:
        FairlabError: it holds not one target, or one that cannot be.
    """
    if given is None:
        return None
    if len(given) != 1:
        raise FairlabError(f"method.target must give one of {', '.join(TARGETS)}, such as {{precision: 0.8}}")
    ((of, value),) = given.items()
    return ThresholdTarget(str(of), float(value))


def threshold(scores: ArrayLike, truth: ArrayLike, target: ThresholdTarget, harm: str) -> float:
    """The lowest of the scores from which naming texts unsafe meets a target.

    Args:
        scores: scores of validation texts, (N,).
        truth: their true labels, (N,), 0 or 1, both of which occur.
        target: what is to be met.
        harm: name of the harm, for the error.

    Raises:
        FairlabError: a label does not occur, or no score meets the target.

    Example:
        >>> threshold([0.1, 0.4, 0.6, 0.9], [0, 0, 1, 1], ThresholdTarget("precision", 0.6), "hate")
        0.4
    """
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(truth)
    if not 0 < labels.sum() < len(labels):
        raise FairlabError(f"the validation texts have fewer than two labels for {harm}; leave method.target out")
    candidates = np.unique(values)
    rates = np.stack([np.array(rates_at(values, labels, candidate)) for candidate in candidates])
    met = rates[:, 0] >= target.value if target.of == PRECISION else rates[:, 2] <= target.value
    if not met.any():
        best = rates[:, 0].max() if target.of == PRECISION else rates[:, 2].min()
        raise FairlabError(
            f"no threshold gives {harm} a {target.of} of {target.value:g} on the validation texts; the best is "
            f"{best:.2f}: give another method.target"
        )
    return float(candidates[met].min())


def rates_at(scores: NDArray[np.float64], truth: ArrayLike, cut: float) -> tuple[float, float, float]:
    """Precision, recall and false-positive rate of naming the texts unsafe that score at least ``cut``.

    Precision is 1 where none is named.

    Example:
        >>> rates_at(np.array([0.1, 0.4, 0.6, 0.9]), [0, 1, 0, 1], 0.5)
        (0.5, 0.5, 0.5)
    """
    named, unsafe = scores >= cut, np.asarray(truth) == 1
    hits = int((named & unsafe).sum())
    precision = hits / int(named.sum()) if named.any() else 1.0
    return precision, hits / int(unsafe.sum()), int((named & ~unsafe).sum()) / int((~unsafe).sum())
