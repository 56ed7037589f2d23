"""What a model is shown of a text: the text itself, the text without identities, or all of its versions.

Shape letters: N texts, F source scores, M versions of all texts together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.methods.safety_ensemble.model import Array, HarmModel, logits
from fairlab.rewriting.identities import Identities

TEXT, BLIND, AVERAGE = "text", "blind", "average"
RIVALS = (BLIND, AVERAGE)


@dataclass(frozen=True)
class Views:
    """Source scores of texts, as each view has them.

    Attributes:
        text: scores of the texts, (N, F).
        blind: scores of the texts with identity words in neutral forms, (N, F); None where no model is shown them.
        versions: scores of the texts and of all versions of them, (M, F); None likewise.
        owner: number of the text that each version is of, (M,).
    """

    text: Array
    blind: Array | None = None
    versions: Array | None = None
    owner: NDArray[np.int64] | None = None

    def only(self, chosen: NDArray[np.bool_]) -> Views:
        """The views of some of the texts."""
        blind = None if self.blind is None else self.blind[chosen]
        if self.versions is None or self.owner is None:
            return Views(self.text[chosen], blind)
        kept = chosen[self.owner]
        return Views(self.text[chosen], blind, self.versions[kept], (np.cumsum(chosen) - 1)[self.owner[kept]])

    def logits(self, pipelines: Sequence[Any], view: str) -> Array:
        """Mean log odds (N,) that fitted pipelines give by one view; of several versions, their mean."""
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
    """A calibrated model and the view that it is shown."""

    model: HarmModel
    view: str = TEXT

    def scores(self, views: Views) -> tuple[Array, Array]:
        """Scores (N,) in [0, 1]: calibrated, and as the model gives them."""
        found = views.logits(self.model.pipelines, self.view)
        return _sigmoid(self.model.slope * found + self.model.intercept), _sigmoid(found)


def seen(score: Callable[[Sequence[str]], Array], texts: Sequence[str], views: Sequence[str]) -> Views:
    """The views of texts that some models are shown.

    Args:
        score: function from texts to source scores (N, F).
        texts: the N texts.
        views: names of the views that are needed beside the text itself.
    """
    identities = Identities() if views else None
    blind = versions = owner = None
    if identities and BLIND in views:
        blind = score([identities.blinded(text) for text in texts])
    if identities and AVERAGE in views:
        found = [[text, *identities.versions(text)] for text in texts]
        owner = np.repeat(np.arange(len(texts)), [len(some) for some in found])
        versions = score([version for some in found for version in some])
    return Views(score(texts), blind, versions, owner)


def _sigmoid(values: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-values)))
