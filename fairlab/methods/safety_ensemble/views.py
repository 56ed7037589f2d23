"""Views of a text that a model can receive: the text itself, the text without identities, or all of its versions.

Shape letters: N texts, F source scores, M versions of all texts together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.methods.safety_ensemble.model import Array, HarmModel, logits
from fairlab.rewriting.identities import SUBGROUPS, Identities

TEXT, BLIND, AVERAGE = "text", "blind", "average"
RIVALS = (BLIND, AVERAGE)


@dataclass(frozen=True)
class Views:
    """Source scores of texts in each view.

    Attributes:
        text: Scores of the texts, (N, F).
        blind: Scores of the texts with identity words in neutral forms, (N, F); None if no model uses them.
        versions: Scores of the texts and of all their versions, (M, F); None if no model uses them.
        owner: Index of the text that each version belongs to, (M,).
    """

    text: Array
    blind: Array | None = None
    versions: Array | None = None
    owner: NDArray[np.int64] | None = None

    def only(self, chosen: NDArray[np.bool_]) -> Views:
        """Return the views of some of the texts."""
        blind = None if self.blind is None else self.blind[chosen]
        if self.versions is None or self.owner is None:
            return Views(self.text[chosen], blind)
        kept = chosen[self.owner]
        return Views(self.text[chosen], blind, self.versions[kept], (np.cumsum(chosen) - 1)[self.owner[kept]])

    def logits(self, pipelines: Sequence[Any], view: str) -> Array:
        """Return mean log odds (N,) of fitted pipelines for one view, averaged over versions if there are several."""
        if view == BLIND:
            assert self.blind is not None
            return logits(pipelines, self.blind)
        if view == AVERAGE:
            assert self.versions is not None
            assert self.owner is not None
            return np.asarray(
                np.bincount(self.owner, weights=logits(pipelines, self.versions)) / np.bincount(self.owner)
            )
        return logits(pipelines, self.text)


@dataclass(frozen=True)
class Shown:
    """Calibrated model and the view that it receives."""

    model: HarmModel
    view: str = TEXT

    def scores(self, views: Views) -> tuple[Array, Array]:
        """Return scores (N,) in [0, 1]: calibrated, and as the model gives them."""
        found = views.logits(self.model.pipelines, self.view)
        return _sigmoid(self.model.slope * found + self.model.intercept), _sigmoid(found)


def seen(
    score: Callable[[Sequence[str]], Array],
    texts: Sequence[str],
    views: Sequence[str],
    identities: Sequence[str] = (SUBGROUPS,),
) -> Views:
    """Return the views of texts that the models need.

    Args:
        score: Function from texts to source scores (N, F).
        texts: Texts to view, N in number.
        views: Names of the views that are needed in addition to the text itself.
        identities: Names of the lexicons of identities.
    """
    words = Identities(identities) if views else None
    blind = versions = owner = None
    if words and BLIND in views:
        blind = score([words.blinded(text) for text in texts])
    if words and AVERAGE in views:
        found = [[text, *words.versions(text)] for text in texts]
        owner = np.repeat(np.arange(len(texts)), [len(some) for some in found])
        versions = score([version for some in found for version in some])
    return Views(score(texts), blind, versions, owner)


def _sigmoid(values: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-values)))
