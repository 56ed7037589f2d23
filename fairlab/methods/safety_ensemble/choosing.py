"""Comparison of settings on the validation texts of a harm, in order to select one setting.

Shape letters: R repeats of the division into folds, N texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairlab.data.safety_texts import SafetyText
from fairlab.methods.safety_ensemble.strengths import Candidate
from fairlab.metrics.acv import set_numbers, set_variances
from fairlab.metrics.ranking import average_precision

Array = NDArray[np.float64]


class Compared:
    """Validation scores for one harm under each setting, in all divisions of the texts into folds.

    The setting for a test fold is chosen by the scores of all texts outside the fold. Every score comes from models
    that were not trained on any version of the scored text. The texts of a test fold therefore do not influence the
    selected setting.

    Args:
        texts: N texts with labels.
        harm: Name of the harm.
        folds: Fold of each text, (R, N), or -1 for a text without a score; the scores of one fold of a repeat come from
            one model.
        baseline: Calibrated scores of the baseline, (R, N).
        scores: Calibrated scores (R, N) of each setting, by its name.
    """

    def __init__(
        self,
        texts: Sequence[SafetyText],
        harm: str,
        folds: NDArray[np.int64],
        baseline: Array,
        scores: Mapping[str, Array],
    ) -> None:
        self.truth = np.array([text.labels.get(harm, -1) for text in texts])
        self.seeds = np.array([text.seed for text in texts]) & (self.truth >= 0) & (folds[0] >= 0)
        self.place, _ = set_numbers([text.key if text.subgroup else None for text in texts])
        self.folds, self.baseline, self.scores = folds, baseline, scores

    def candidates(self, chosen: NDArray[np.bool_] | None = None) -> list[Candidate]:
        """Return the changes in AU-PRC and ACV from the baseline to each setting, in per cent.

        Args:
            chosen: Mask (N,) of the texts to use, which must contain either all or none of the texts of a set; None
                uses all texts.
        """
        inside = np.ones(len(self.truth), dtype=bool) if chosen is None else chosen
        precision, variance = self._measure(self.baseline, inside)
        found = []
        for name, scores in self.scores.items():
            other = self._measure(scores, inside)
            found.append(Candidate(name, _per_cent(other[0], precision), _per_cent(other[1], variance)))
        return found

    def _measure(self, scores_RN: Array, inside: NDArray[np.bool_]) -> tuple[float, float]:
        """Return the AU-PRC of the seed texts, averaged over all folds that contain harmful texts, and the ACV."""
        precisions = [
            float(average_precision(self.truth[some], scores[some]))
            for scores, folds in zip(scores_RN, self.folds, strict=True)
            for fold in np.unique(folds)
            if (some := inside & self.seeds & (folds == fold)).any() and self.truth[some].any()
        ]
        in_sets = inside & (self.place >= 0)
        place = np.unique(self.place[in_sets], return_inverse=True)[1]
        variances = [set_variances(scores[in_sets], place) for scores in scores_RN]
        return _mean(precisions), _mean(variances)


def _mean(values: Sequence[float] | Sequence[Array]) -> float:
    return float(np.mean(values)) if np.size(values) else 0.0


def _per_cent(value: float, of: float) -> float:
    return 100 * (value / of - 1) if of else 0.0
