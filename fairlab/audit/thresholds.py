"""Thresholds per label that reduce the gaps between groups at little cost in accuracy.

Shapes: N is the number of rows, L the number of labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.data import LabelledRows
from fairlab.audit.group_rates import Members
from fairlab.audit.outputs import predicted

Array = NDArray[np.float64]
GRID = 99  # number of quantiles of a label's probabilities that are tried as its threshold


@dataclass(frozen=True)
class Reached:
    """Accuracy and gap of predictions with certain thresholds.

    Attributes:
        accuracy: Proportion of rows that are labelled correctly.
        gap: Largest gap in false-positive or false-negative rate between two groups, over labels and columns.
    """

    accuracy: float
    gap: float


def chosen_cuts(data: LabelledRows, outputs: Array, columns: Sequence[Members], start: Array, keep: float) -> Array:
    """Return the thresholds (L,) with the smallest gap, among all thresholds that keep the accuracy.

    Labels are processed in turn, and the candidates for a label's threshold are quantiles of its probabilities. Of two
    exclusive labels, only the second has a threshold.

    Args:
        data: Rows with labels.
        outputs: Probabilities for the rows, (N, L).
        columns: Groups in each column.
        start: Thresholds to start from, (L,).
        keep: Largest loss of accuracy, as a proportion.
    """
    least = reached(data, outputs, columns, start).accuracy - keep
    best, cuts = (reached(data, outputs, columns, start).gap, -least), start.copy()
    places = [1] if data.kind == "one" and len(data.labels) == 2 else range(len(data.labels))
    for place in places:
        for threshold in np.quantile(outputs[:, place], np.linspace(0.01, 0.99, GRID)):
            tried = cuts.copy()
            tried[place] = threshold
            found = reached(data, outputs, columns, tried)
            if found.accuracy >= least - 1e-12 and (found.gap, -found.accuracy) < best:
                best, cuts = (found.gap, -found.accuracy), tried
    return cuts


def reached(data: LabelledRows, outputs: Array, columns: Sequence[Members], cuts: Array) -> Reached:
    """Return the accuracy and the gap of the predictions with certain thresholds."""
    labels = predicted(outputs, data.kind, cuts)
    right = labels == data.truth
    gaps = [gap for members in columns for gap in _gaps(data, labels, members)]
    return Reached(float((right if right.ndim == 1 else right.all(axis=1)).mean()), max(gaps, default=0.0))


def _gaps(data: LabelledRows, labels: Array, members: Members) -> Iterator[float]:
    """Yield the gap in each error rate of each label, between the groups that have rows for the rate."""
    for place in range(len(data.labels)):
        several = data.kind == "several"
        truth, given = ((side[:, place] if several else side == place) for side in (data.truth, labels))
        for actual in (0, 1):
            rows = (truth == actual)[:, None] & members.member_NK
            counts = rows.sum(axis=0)
            errors = (rows & (given != actual)[:, None]).sum(axis=0)
            rates = errors[counts > 0] / counts[counts > 0]
            if len(rates) > 1:
                yield float(np.ptp(rates))
