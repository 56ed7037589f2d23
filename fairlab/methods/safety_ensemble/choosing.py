"""Effects of settings on a harm's validation texts, from which one setting is chosen.

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
    """Validation scores of the settings of one harm, in all divisions.

    The setting of a test fold is chosen by the scores of all texts outside the fold. Each of these scores comes from
    models that were not trained on any version of the text. The scores of the texts that are measured on a test fold
    thus do not influence its setting.

    Args:
        texts: Texts to score, N in number.
        harm: Name of the harm.
        folds: Fold of each text, (R, N), or -1 for a text without a score; the scores of one fold of a repeat come from
            one model.
        baseline: Calibrated scores of the baseline, (R, N).
        scores: Calibrated scores (R, N) by the name of the setting.
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
        """Return each setting's change from the baseline.

        Args:
            chosen: Mask of the texts to use, (N,), which must include whole sets; None uses all texts.
        """
        inside = np.ones(len(self.truth), dtype=bool) if chosen is None else chosen
        precision, variance = self._measured(self.baseline, inside)
        found = []
        for name, scores in self.scores.items():
            other = self._measured(scores, inside)
            found.append(Candidate(name, _per_cent(other[0], precision), _per_cent(other[1], variance)))
        return found

    def _measured(self, scores_RN: Array, inside: NDArray[np.bool_]) -> tuple[float, float]:
        """Return the AU-PRC of the seeds, averaged over repeats and folds that contain harm, and the ACV."""
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
