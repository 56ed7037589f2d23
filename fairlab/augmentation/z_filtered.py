"""Removal of pairs whose last field contains a word that is associated with their label, by a z-test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from random import Random

from fairlab.augmentation.filtering import Filter
from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.text.surface_tokens import surface_tokens
from fairlab.types import Count, FairlabError, Share

Feature = tuple[str, str]  # pair of a feature and a label


class ZFiltered(Filter):
    """Filter that omits rows with a feature that is associated with their label, based on the rows kept so far.

    Features are the words and word pairs of the last field. Rows are processed in random order and in batches. Before
    each batch, the z-statistic of each feature is computed on the rows kept so far. A row of the batch is omitted if it
    contains one of the ``top`` features of its label with a z above ``threshold``. All rows of the first batch are
    kept.

    Args:
        label: Column of the label.
        top: Maximum number of features per label that exclude rows.
        threshold: z-statistic above which a feature can exclude rows.
        batch: Size of a batch, as a proportion of all rows.
        seed: Seed for the order of rows.

    Raises:
        FairlabError: In ``decide``, if all labels are the same.

    Source: Wu et al. 2022, "Generating Data to Mitigate Spurious Correlations in Natural Language Inference Datasets",
    section 3.2, with the z-statistic of Gardner et al. 2021, "Competency Problems", equation 1. The authors' code is
    not public. The default batch size is fairlab's choice. The authors also use the length of a hypothesis and its
    overlap with the premise as features.
    """

    title = "pairs without words that predict their label"
    limits = "Only words and word pairs are tested; the removed pairs may contain the rarer phenomena of the data."
    citation = """@inproceedings{wu2022generating,
  title = {Generating Data to Mitigate Spurious Correlations in Natural Language Inference Datasets},
  author = {Wu, Yuxiang and Gardner, Matt and Stenetorp, Pontus and Dasigi, Pradeep},
  booktitle = {Proceedings of ACL},
  year = {2022}
}"""
    name = "z_filtered"
    why = "a word that is associated with its label"
    settings = ("top", "threshold", "batch")

    def __init__(
        self, *, label: str = "label", top: Count = 20, threshold: float = 2.0, batch: Share = 0.05, seed: int = 0
    ) -> None:
        super().__init__(label)
        self.top, self.threshold, self.batch, self.seed = top, threshold, batch, seed

    def kept(self, items: Sequence[Labelled]) -> set[int]:
        """Return the indices of the rows to keep; see :meth:`Filter.kept`."""
        shares = Counter(item.label for item in items)
        if len(shares) < 2:
            raise FairlabError(
                "augmentation=z_filtered needs two labels, but all rows have the same; add rows with another"
            )
        features = [features_of(item.text) for item in items]
        order = Random(self.seed).sample(range(len(items)), len(items))
        size = max(1, round(self.batch * len(items)))
        kept, seen, together = set[int](), Counter[str](), Counter[Feature]()
        for start in range(0, len(order), size):
            biased = self._biased(seen, together, {label: count / len(items) for label, count in shares.items()})
            for place in order[start : start + size]:
                label = items[place].label
                if features[place].isdisjoint(biased[label]):
                    kept.add(place)
                    seen.update(features[place])
                    together.update((feature, label) for feature in features[place])
        return kept

    def _biased(
        self, seen: Counter[str], together: Counter[Feature], shares: dict[str, float]
    ) -> dict[str, frozenset[str]]:
        """Return, for each label, the features that exclude rows."""
        found: dict[str, frozenset[str]] = {}
        for label, share in shares.items():
            scores = {one: z_statistic(together[one, label], count, share) for one, count in seen.items()}
            above = [one for one, z in scores.items() if z > self.threshold]
            found[label] = frozenset(sorted(above, key=lambda one: (-scores[one], one))[: self.top])
        return found


def features_of(text: str) -> frozenset[str]:
    """Return the words and word pairs of a text."""
    tokens = surface_tokens(text)
    return frozenset([*tokens, *(" ".join(pair) for pair in pairwise(tokens))])


def z_statistic(together: int, count: int, share: float) -> float:
    """Return the z-statistic of a feature's association with a label.

    The statistic is the label's proportion among texts with the feature minus its proportion among all texts, in
    standard errors.

    Args:
        together: Number of texts with the feature and the label.
        count: Number of texts with the feature, above 0.
        share: Proportion of the label among all texts, between 0 and 1.

    Example:
        >>> z_statistic(9, 9, 0.5)
        3.0
    """
    return (together / count - share) / sqrt(share * (1 - share) / count)
