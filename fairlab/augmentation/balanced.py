"""Pairs left out until what a bag of words sees in the last field alone goes with no label any more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from fairlab.augmentation.filtering import Filter
from fairlab.metrics.surface_probe import out_of_fold, too_little
from fairlab.rewriting.label_keeping import Labelled
from fairlab.types import Count, FairlabError


class Balanced(Filter):
    """Keeps as many rows of every label among those that a probe of the last field takes for the same.

    A logistic regression on words and word pairs of the last field gives every row, out of fold, the probability of
    each label. Rows with the same likeliest label and a probability of it in the same bin look alike; of these as many
    are kept of every label as there are of the rarest, drawn at random.

    Args:
        label: column of the label.
        bins: number of bins of the likeliest label's probability, of equal width between chance and 1.
        seed: seed of the folds and of the draw.

    Raises:
        FairlabError: there are no bins; in ``decide``, a row has no label, or there are too few for a probe.

    Ours; close to :class:`fairlab.augmentation.z_filtered.ZFiltered`, which looks at single features.
    """

    name = "balanced"
    why = "more of its label than of others among texts that look alike"
    settings = ("bins",)

    def __init__(self, *, label: str = "label", bins: Count = 10, seed: int = 0) -> None:
        if bins < 1:
            raise FairlabError(f"augmentation.bins must be at least 1, not {bins}")
        super().__init__(label)
        self.bins, self.seed = bins, seed

    def kept(self, items: Sequence[Labelled]) -> set[int]:
        """See :meth:`Filter.kept`."""
        texts, labels = [item.text for item in items], [item.label for item in items]
        if short := too_little(labels, texts):
            raise FairlabError(f"augmentation=balanced trains a probe of the last field: {short}; give more rows")
        return self._kept(out_of_fold(texts, labels, self.seed), labels)

    def _kept(self, probabilities_NL: np.ndarray[Any, Any], labels: Sequence[str]) -> set[int]:
        """Places of the rows that stay."""
        likeliest, chance = probabilities_NL.argmax(axis=1), 1 / probabilities_NL.shape[1]
        above_chance = (probabilities_NL.max(axis=1) - chance) / (1 - chance)
        bins = np.minimum((above_chance * self.bins).astype(int), self.bins - 1)
        alike: dict[tuple[int, int], dict[str, list[int]]] = defaultdict(lambda: {name: [] for name in set(labels)})
        for place, label in enumerate(labels):
            alike[int(likeliest[place]), int(bins[place])][label].append(place)
        draw = Random(self.seed)
        kept = set[int]()
        for by_label in (alike[key] for key in sorted(alike)):
            number = min(map(len, by_label.values()))
            kept |= {place for label in sorted(by_label) for place in draw.sample(by_label[label], number)}
        return kept
