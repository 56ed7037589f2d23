"""Balancing of labelled pairs until a bag of words of the last field cannot predict the label."""

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
    """Filter that keeps equal numbers of rows per label among rows with the same probe prediction.

    A logistic regression on words and word pairs of the last field predicts the label probabilities of every row by
    cross-validation. Rows with the same most likely label, and a probability in the same bin, form a stratum. In each
    stratum, the same number of rows, drawn at random, is kept for every label: the number of rows with the rarest
    label. With ``by="repeating"``, rows are not removed for balance. Instead, rows of rarer labels are repeated up to
    the number of the most frequent label; only rows in strata with a single label are removed.

    Args:
        label: Column of the label.
        bins: Number of bins of the most likely label's probability, with equal widths between chance and 1.
        by: Method of balancing: ``leaving_out`` or ``repeating``.
        seed: Seed of the folds and of the draw.

    Raises:
        FairlabError: In ``decide``, if there are too few rows for a probe.

    This method is not published; it is similar to :class:`fairlab.augmentation.z_filtered.ZFiltered`, which examines
    single features.
    """

    title = "pairs balanced over words of the last field"
    limits = "Single words of the last field are balanced; phrases and the other field may still predict the label."
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
        super().__init__(label)
        self.bins, self.by, self.seed = bins, by, seed

    def kept(self, items: Sequence[Labelled]) -> Counter[int]:
        """Return the number of times that each row is kept, see :meth:`Filter.kept`."""
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
