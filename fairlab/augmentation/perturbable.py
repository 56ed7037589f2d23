"""Selection of texts that probably contain demographic information."""

from __future__ import annotations

from collections.abc import Sequence

from fairlab.lexicons import load_lexicon
from fairlab.protocols import RowAugmentationOnAxes
from fairlab.rewriting.perturbable_words import PerturbableWords, perturbability
from fairlab.text.papers import QIAN_2022
from fairlab.types import Made, NotNegative, Positive, Row

BELOW = "rows that are less perturbable"


class Perturbable(RowAugmentationOnAxes):
    """Augmentation that keeps rows with a high enough perturbability score, which it adds as a column.

    The score is defined in :func:`fairlab.rewriting.perturbable_words.perturbability`.

    Args:
        axes: Names of lexicons such as ``gender``, or paths of lexicon files.
        m0: Weight of named entities, at least 0.
        m1: Weight of listed words, at least 0.
        entities: Whether spaCy finds named entities, which is much slower than the other steps.
        at_least: Minimum perturbability of a kept row, above 0.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 3 and equation 2.
    """

    title = "selection of texts with demographic information"
    limits = "The score uses English word lists, so texts that refer to people without a listed word are left out."
    citation = QIAN_2022
    name = "perturbable"

    def __init__(
        self, *, axes: Sequence[str], m0: NotNegative, m1: NotNegative, entities: bool, at_least: Positive
    ) -> None:
        self.words = PerturbableWords([load_lexicon(axis) for axis in axes], "lexical")
        self.m0, self.m1, self.entities, self.at_least = m0, m1, entities, at_least

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return every row with its score, or the reason why the row is omitted, in order."""
        texts = [row.text for row in rows]
        scores = perturbability(self.words, texts, m0=self.m0, m1=self.m1, entities=self.entities)
        return [self._made(row, score) for row, score in zip(rows, scores, strict=True)]

    def _made(self, row: Row, score: float) -> Made:
        if score < self.at_least:
            return Made(counts={BELOW: 1})
        fields = row.named
        return Made(rows=({"id": row.id, **fields, **row.extra, "perturbability": round(score, 6)},))
