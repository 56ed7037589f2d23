"""Shortcuts by word: documents are sets of tokens, scored by the association of the tokens with the label.

RAZOR's own score cannot identify a word, because it uses a token's idf and position but never its identity (see
``docs/razor.md``). This score is ours; local mutual information is defined as in Schuster et al. 2019, "Towards
Debiasing Fact Verification Models", section 3, with documents counted instead of occurrences.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fairlab.metrics.lmi import mutual_information
from fairlab.metrics.shortcuts import Floats, Space
from fairlab.metrics.token_ids import Tokenize
from fairlab.text.surface_tokens import surface_tokens


class AssociationSpace(Space):
    """Space that scores a document by its distinct tokens' mutual information with its label, summed over the tokens.

    The mutual information of a token is p(t, l) ln(p(l | t) / p(l)), with probabilities over documents. A common token
    associated with a label therefore has more weight than a rare one, and a token associated with other labels counts
    negatively. Replacing a document changes only the counts of its old and new tokens.

    Args:
        texts: Texts of the N documents.
        labels: Label of each of the N documents.
        tokenize: Function from a text to its tokens.

    Attributes:
        held: Number of documents of each label that contain each token, (V, L).

    Raises:
        FairlabError: All documents have one label, or there are no documents.
    """

    def __init__(self, texts: Iterable[str], labels: Iterable[object], *, tokenize: Tokenize = surface_tokens) -> None:
        super().__init__(labels)
        self.tokenize = tokenize
        self.vocabulary: dict[str, int] = {}
        self.documents = [self._distinct(text) for text in texts]
        self.held = np.zeros((len(self.vocabulary), len(self.names)), dtype=np.int64)
        for document, label in zip(self.documents, self.labels, strict=True):
            self.held[document, label] += 1

    def gamma(self) -> Floats:
        """Return the shortcut score (n,) of every document, which is unbounded.

        A high score indicates a shortcut.
        """
        values_VL = self._values(self.held)
        both = zip(self.documents, self.labels, strict=True)
        return np.array([self._pooled(values_VL[document, label]) for document, label in both])

    def score(self, document: int, text: str) -> float:
        """Return the shortcut score of ``text``, see :class:`Space`.

        Token counts are computed with the document replaced by the text.
        """
        ids, label = self._encode(text), self.labels[document]
        held = self.held[ids]
        held[:, label] += ~np.isin(ids, self.documents[document])
        return self._pooled(self._values(held)[:, label])

    def replace(self, document: int, text: str) -> None:
        """Replace a document by ``text``, see :class:`Space`."""
        ids, label = self._encode(text), self.labels[document]
        self.held[self.documents[document], label] -= 1
        self.held[ids, label] += 1
        self.documents[document] = ids

    @property
    def objective(self) -> float:
        """Return the negated mean score, which is close to 0 if tokens are hardly associated with labels."""
        return float(-self.gamma().mean())

    def _pooled(self, values: Floats) -> float:
        """Return the score of a document from the values of its distinct tokens."""
        return float(values.sum())

    def _values(self, held_GL: NDArray[np.int64]) -> Floats:
        """Return the value of each token for each label, (G, L), from the documents that contain it."""
        return mutual_information(held_GL, total=len(self), share_L=self.counts / len(self))

    def _distinct(self, text: str) -> NDArray[np.intp]:
        known = self.vocabulary
        return np.unique(
            np.array([known.setdefault(token, len(known)) for token in self.tokenize(text)], dtype=np.intp)
        )

    def _encode(self, text: str) -> NDArray[np.intp]:
        ids = self._distinct(text)
        if new := len(self.vocabulary) - len(self.held):
            self.held = np.pad(self.held, ((0, new), (0, 0)))
        return ids


class StrongestSpace(AssociationSpace):
    """Space that scores a document by the one token that reveals its label most, with the z-statistic of Gardner et al.

    The statistic is (p(l | t) - p(l)) / sqrt(p(l) (1 - p(l)) / n) for a token in n documents. Neither the length of a
    text nor its other tokens affect the score, as they do in a sum. The score of a document without tokens is 0.

    Source: Gardner et al. 2021, "Competency Problems: On Finding and Removing Artifacts in Language Data", section 4.
    The maximum over tokens is ours.
    """

    def _pooled(self, values: Floats) -> float:
        return float(values.max()) if len(values) else 0.0

    def _values(self, held_GL: NDArray[np.int64]) -> Floats:
        share_L = self.counts / len(self)
        count_G1 = np.maximum(held_GL.sum(axis=1, keepdims=True), 1)
        return (held_GL / count_G1 - share_L) / np.sqrt(share_L * (1 - share_L) / count_G1)
