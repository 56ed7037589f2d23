"""Output columns of a scored text: score and label of each harm and, on request, source scores and variances.

Shape letters: N texts, F source scores, M texts and their versions together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from fairlab.methods.safety_ensemble.exported.export import Ensemble
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.rewriting.identities import Identities

LABEL, VARIANCE = "{}_label", "{}_variance"
SOURCES, MISSING = "sources", "missing"  # columns for source scores, and for sources that did not score the text
DIGITS = 6


class Columns:
    """Names and values of the output columns for texts.

    Args:
        ensemble: Ensemble that scores the texts.
        sources: Sources of the ensemble.
        source_scores: Whether the scores of the sources are included, under ``sources``.
        versions: Whether word lists rewrite every text to other subgroups, and these versions are scored too. Columns
            such as ``hate_variance`` then hold the variance of the scores of a text and its versions, or None if it has
            no versions, or if a source scores only some of them.

    Raises:
        FairlabError: The sources differ from the sources that the ensemble was trained on.
    """

    def __init__(
        self, ensemble: Ensemble, sources: Sources, *, source_scores: bool = False, versions: bool = False
    ) -> None:
        ensemble.refuse_others(sources)
        self.ensemble, self.sources = ensemble, sources
        self.source_scores = source_scores
        self.identities = Identities(ensemble.identities) if versions else None
        self.libraries = ThreadpoolController()  # controls the libraries loaded so far
        self.source_of = np.repeat(np.arange(len(sources.sources)), [len(one.outputs) for one in sources.sources])

    def __call__(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Return the output columns of each text."""
        # The matrices are so small that threads would wait for each other much longer than they work.
        with self.libraries.limit(limits=1, user_api="blas"):
            return self._rows(texts)

    def _rows(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        sets = [[text, *(self.identities.versions(text) if self.identities else ())] for text in texts]
        owner_M = np.repeat(np.arange(len(sets)), [len(some) for some in sets])
        first_N = np.searchsorted(owner_M, np.arange(len(sets)))
        every = [text for some in sets for text in some]
        features_MF, received_KF, owner_K = self.ensemble.features(self.sources, every)
        by_harm = self._scores(features_MF, received_KF, owner_K)
        rows: list[dict[str, Any]] = [{} for _ in texts]
        mixed_N = _partly_scored(features_MF, owner_M)
        for harm, scores_M in by_harm.items():
            cut = self.ensemble.thresholds.get(harm)
            for row, score in zip(rows, scores_M[first_N], strict=True):
                row[harm] = None if np.isnan(score) else round(float(score), DIGITS)
                if row[harm] is not None and cut is not None:
                    row[LABEL.format(harm)] = int(score >= cut)
            if self.identities:
                self._add_variances(rows, VARIANCE.format(harm), np.where(mixed_N[owner_M], np.nan, scores_M), owner_M)
        for row, features_F in zip(rows, features_MF[first_N], strict=True):
            self._add_sources(row, features_F)
        return rows

    def _scores(
        self,
        features_MF: NDArray[np.float64],
        received_KF: NDArray[np.float64],
        owner_K: NDArray[np.int64] | None,
    ) -> dict[str, NDArray[np.float64]]:
        """Return the scores (M,) for each harm, which are NaN for texts without any source score."""
        known_M = ~np.all(np.isnan(features_MF), axis=1)
        found = {harm: np.full(len(features_MF), np.nan) for harm in self.ensemble.models}
        if owner_K is None:
            received_KF = received_KF[known_M]
        else:
            known_K = known_M[owner_K]
            received_KF, owner_K = received_KF[known_K], (np.cumsum(known_M) - 1)[owner_K[known_K]]
        for harm, scores in self.ensemble.of_features(received_KF, owner_K).items():
            found[harm][known_M] = scores
        return found

    def _add_variances(
        self, rows: list[dict[str, Any]], name: str, scores_M: NDArray[np.float64], owner_M: NDArray[np.int64]
    ) -> None:
        from fairlab.metrics.acv import set_variances  # imports torch, which only versions need

        if not rows:
            return
        for row, variance, size in zip(rows, set_variances(scores_M, owner_M), np.bincount(owner_M), strict=True):
            row[name] = float(f"{variance:.{DIGITS}g}") if size > 1 and np.isfinite(variance) else None

    def _add_sources(self, row: dict[str, Any], features_F: NDArray[np.float64]) -> None:
        absent = np.isnan(features_F)
        if absent.any():
            row[MISSING] = [self.sources.sources[k].name for k in np.unique(self.source_of[absent])]
        if self.source_scores:
            row[SOURCES] = {
                name: None if np.isnan(value) else round(float(value), DIGITS)
                for name, value in zip(self.sources.features, features_F, strict=True)
            }


def _partly_scored(features_MF: NDArray[np.float64], owner_M: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether some but not all texts of each set lack a source score (N,).

    Medians replace missing scores, so the scores of such texts differ even if their words do not matter.
    """
    sizes_N1 = np.bincount(owner_M)[:, None]
    missing_NF = np.zeros((len(sizes_N1), features_MF.shape[1]))
    np.add.at(missing_NF, owner_M, np.isnan(features_MF))
    return np.asarray(((missing_NF > 0) & (missing_NF < sizes_N1)).any(axis=1))
