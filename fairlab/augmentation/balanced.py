"""Pairs left out, or repeated, until what a bag of words sees in the last field alone goes with no label any more."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any, Literal

import numpy as np

from fairlab.augmentation.filtering import Filter
from fairlab.metrics.surface_probe import out_of_fold, too_little
from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.types import Count, FairlabError


class Balanced(Filter):
    """Keeps as many rows of every label among those that a probe of the last field takes for the same.

    A logistic regression on words and word pairs of the last field gives every row, out of fold, the probability of
    each label. Rows with the same likeliest label and a probability of it in the same bin look alike; of these as many
    are kept of every label as there are of the rarest, drawn at random. With ``by="repeating"`` none is left out for
    that: rows of rarer labels stand as often as those of the commonest, and only rows without a counterpart of another
    label go.

    Args:
        label: column of the label.
        bins: number of bins of the likeliest label's probability, of equal width between chance and 1.
        by: ``leaving_out`` or ``repeating``.
        seed: seed of the folds and of the draw.

    Raises:
        FairlabError: there are no bins, or ``by`` is neither; in ``decide``, a row has no label, or there are too
            few for a probe.

    Ours; close to :class:`fairlab.augmentation.z_filtered.ZFiltered`, which looks at single features.
    """

    title = "pairs balanced over words of the last field"
    limits = (
        "Single words of the last field are balanced; phrases, and words of the other field, may still tell the label."
    )
    citation = "This augmentation is fairlab's own."
    name = "balanced"
    why = "more of its label than of others among texts that look alike"
    settings = ("bins", "by")

    def __init__(
        self,
        *,
        label: str = "label",
        bins: Count = 10,
        by: Literal["leaving_out", "repeating"] = "leaving_out",
        seed: int = 0,
    ) -> None:
        if bins < 1:
            raise FairlabError(f"augmentation.bins must be at least 1, not {bins}")
        if by not in ("leaving_out", "repeating"):
            raise FairlabError(f"augmentation.by must be leaving_out or repeating, not {by}")
        super().__init__(label)
        self.bins, self.by, self.seed = bins, by, seed

    def kept(self, items: Sequence[Labelled]) -> Counter[int]:
        """See :meth:`Filter.kept`."""
        texts, labels = [item.text for item in items], [item.label for item in items]
        if short := too_little(labels, texts):
            raise FairlabError(f"augmentation=balanced trains a probe of the last field: {short}; give more rows")
        return self._times(out_of_fold(texts, labels, self.seed), labels)

    def _times(self, probabilities_NL: np.ndarray[Any, Any], labels: Sequence[str]) -> Counter[int]:
        likeliest, chance = probabilities_NL.argmax(axis=1), 1 / probabilities_NL.shape[1]
        above_chance = (probabilities_NL.max(axis=1) - chance) / (1 - chance)
        bins = np.minimum((above_chance * self.bins).astype(int), self.bins - 1)
        alike: dict[tuple[int, int], dict[str, list[int]]] = defaultdict(lambda: {name: [] for name in set(labels)})
        for place, label in enumerate(labels):
            alike[int(likeliest[place]), int(bins[place])][label].append(place)
        draw, found = Random(self.seed), Counter[int]()
        for by_label in (alike[key] for key in sorted(alike)):
            fewest, most = (one(map(len, by_label.values())) for one in (min, max))
            for label in sorted(by_label) if fewest else ():
                places = by_label[label]
                whole, rest = divmod(most, len(places)) if self.by == "repeating" else (0, fewest)
                found.update(places * whole + draw.sample(places, rest))
        return found
