"""Scores of one model for all divisions of the texts into folds.

A text that belongs to a fold is scored by the model of that fold. Other texts get the mean score over the folds.

Shape letters: N texts, R repeats of the division into folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairlab.data.safety import Judged, Predicted
from fairlab.data.safety_texts import SafetyText
from fairlab.methods.safety_ensemble.passes import BASELINE, DEBIASED, FoldModels, Part
from fairlab.methods.safety_ensemble.settings import Setting
from fairlab.methods.safety_ensemble.views import Views

Array = NDArray[np.float64]
TEST, VALIDATION = "test", "validation"
# Of one model of a fold: calibrated and uncalibrated scores (2, N), by part of the texts, and the importance of each
# source score (F,), which is None for models without trees, and for controls and rivals.
FoldScores = tuple[Mapping[str, Array], Array | None]


def fold_scores(
    models: FoldModels, setting: Setting, views: Views, others: Mapping[str, Views]
) -> dict[str, FoldScores]:
    """Return the scores from all models of a fold, by model name."""
    shown = {TEST: views.only(models.part.test), VALIDATION: models.held}
    shown |= {name: of.fresh() for name, of in others.items()}
    found: dict[str, FoldScores] = {}
    for name, model in models.named(setting).items():
        contributions = model.model.contributions if name in (BASELINE, DEBIASED) else None
        found[name] = {of: np.stack(model.scores(seen)) for of, seen in shown.items()}, contributions
    return found


class KeptScores:
    """Calibrated and uncalibrated scores (2, R, N) of one model, for each part of the texts and each harm.

    Args:
        harms: Names of the harms.
        folds: Fold of each text, (R, N); -1 for texts that are never measured.
        parts: Texts of each part: ``test`` and ``validation``, which are divided into folds, and other parts.
    """

    def __init__(
        self, harms: Sequence[str], folds: NDArray[np.int64], parts: Mapping[str, Sequence[SafetyText]]
    ) -> None:
        self.folds, self.parts = folds, parts
        self.count = int(folds.max()) + 1
        self.scores = {
            part: {harm: np.zeros((2, len(folds), len(texts))) for harm in harms} for part, texts in parts.items()
        }
        self.contributions: dict[str, list[Array]] = {}

    def add(self, harm: str, repeat: int, part: Part, found: FoldScores) -> None:
        """Add the scores from the model of one fold."""
        masks = {TEST: part.test, VALIDATION: part.validation}
        of_parts, contributions = found
        for of, scores in of_parts.items():
            if of in masks:
                self.scores[of][harm][:, repeat, masks[of]] = scores
            else:
                self.scores[of][harm][:, repeat] += scores / self.count
        if contributions is not None:
            self.contributions.setdefault(harm, []).append(contributions)

    def judged(self, features: Sequence[str], source_scores: Array) -> Judged:
        """Return the scores, combined over all folds."""
        predicted = {}
        for name, texts in self.parts.items():
            calibrated, uncalibrated = ({harm: both[k] for harm, both in self.scores[name].items()} for k in (0, 1))
            none = np.zeros((len(self.folds), len(texts)), dtype=np.int64)
            own = self.folds if name in (TEST, VALIDATION) else none
            measured = np.flatnonzero(own[0] >= 0).tolist()
            predicted[name] = Predicted(texts, own, calibrated, uncalibrated).only(measured)
        contributions = {harm: np.mean(found, axis=0) for harm, found in self.contributions.items()}
        return Judged(predicted, features, source_scores[self.folds[0] >= 0], contributions)
