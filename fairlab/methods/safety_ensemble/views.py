"""Views of a text that a model can receive: unchanged, without identities, or rewritten to reference groups.

Shape letters: N texts, F source scores, K rewritten texts in total, U of them distinct.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.methods.safety_ensemble.averaging import turned_scores
from fairlab.methods.safety_ensemble.calibration import UNCHANGED, calibrated
from fairlab.methods.safety_ensemble.model import Array, Evaluated, HarmModel, mean_by_owner
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.rewriting.identities import SUBGROUPS, Identities
from fairlab.rewriting.references import References

TEXT, BLIND, AVERAGE = "text", "blind", "average"
RIVALS = (BLIND, AVERAGE)


@dataclass(frozen=True)
class Views:
    """Source scores of texts in each view.

    Attributes:
        text: Scores of the texts, (N, F).
        blind: Scores of the texts with identity words in neutral forms, (N, F); None if no model uses them.
        turned: Scores of the rewrites to reference groups, (U, F), without duplicate rows; None if no model uses them.
        row: Row of each rewrite's scores in ``turned``, (K,).
        owner: Index of the text that each rewrite belongs to, (K,).
        evaluated: Log odds computed so far, by view.
    """

    text: Array
    blind: Array | None = None
    turned: Array | None = None
    row: NDArray[np.int64] | None = None
    owner: NDArray[np.int64] | None = None
    evaluated: dict[str, Evaluated] = field(default_factory=dict)

    def fresh(self) -> Views:
        """Return the same views without the log odds that were computed so far, to free memory."""
        return replace(self, evaluated={})

    def only(self, chosen: NDArray[np.bool_]) -> Views:
        """Return the views of the chosen texts."""
        blind = None if self.blind is None else self.blind[chosen]
        if self.turned is None or self.row is None or self.owner is None:
            return Views(self.text[chosen], blind)
        kept = chosen[self.owner]
        rows, row = np.unique(self.row[kept], return_inverse=True)
        owner = (np.cumsum(chosen) - 1)[self.owner[kept]]
        return Views(self.text[chosen], blind, self.turned[rows], row, owner)

    def logits(self, pipelines: Sequence[Any], view: str) -> Array:
        """Return the mean log odds (N,) of fitted pipelines for one view, averaged over each text's rewrites."""
        scores = {BLIND: self.blind, AVERAGE: self.turned}.get(view, self.text)
        assert scores is not None
        found = self.evaluated.setdefault(view, Evaluated(scores)).logits(pipelines)
        if view == AVERAGE:
            assert self.row is not None
            assert self.owner is not None
            return mean_by_owner(found[self.row], self.owner)
        return found


@dataclass(frozen=True)
class Shown:
    """Calibrated model, and the view of the texts that it receives."""

    model: HarmModel
    view: str = TEXT

    def scores(self, views: Views) -> tuple[Array, Array]:
        """Return scores (N,) in [0, 1], calibrated and uncalibrated."""
        found = views.logits(self.model.pipelines, self.view)
        return calibrated(found, self.model.slope, self.model.intercept), calibrated(found, *UNCHANGED)


def seen(
    sources: Sources,
    texts: Sequence[str],
    views: Sequence[str],
    identities: Sequence[str] = (SUBGROUPS,),
    measured: NDArray[np.bool_] | None = None,
) -> Views:
    """Compute the views of texts that the models need.

    Args:
        sources: Sources of the scores.
        texts: N texts to score.
        views: Names of the views that are needed in addition to the text itself.
        identities: Names of the lexicons of identities.
        measured: Mask (N,) of the texts on which models are measured; only these are rewritten to reference groups.
            None stands for all texts.
    """
    blind = None
    if BLIND in views:
        words = Identities(identities)
        blind = sources.score([words.blinded(text) for text in texts])
    if AVERAGE in views:
        text, turned, owner = turned_scores(sources, texts, References(identities), measured)
        rows, row = np.unique(turned, axis=0, return_inverse=True)  # rewrites of the same template are identical
        return Views(text, blind, rows, row, owner)
    return Views(sources.score(texts), blind)
