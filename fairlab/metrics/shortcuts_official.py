"""Shortcut score of the released code of RAZOR (``calculator.py``), which differs from the paper.

Source: Yang, Prenkaj and Kasneci 2025, "RAZOR", and its code.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fairlab.metrics.shortcuts import Floats, Space, positions, row_cosines
from fairlab.metrics.token_ids import TokenIds, Tokenize, blocks
from fairlab.text.surface_tokens import surface_tokens

OFFICIAL_WIDTH = 8


class OfficialSpace(Space):
    """Space with the score of the released code, which compares each token's vector with the other labels by cosine.

    The map f of a document assigns to each of its tokens the token's share of the document, times the elementwise
    product of the encodings (``vaswani``, positions from 0) of all the token's positions. The map of a label is the
    mean over its documents. The similarity is the cosine between f(t) of the document and of the label, averaged over
    the vocabulary; gamma is 1 minus this similarity. The score does not use idf, so replacing a document changes the
    sums only for the tokens involved. The released code has two classes; here they correspond to a document's label and
    to all other labels. The vocabulary of the released code (BERT's 30,522 pieces) only scales the similarity, so it is
    replaced by the vocabulary of the data.

    Args:
        texts: Texts of the N documents.
        labels: Label of each of the N documents.
        width: Length of a position encoding; 8 in the released code.
        tokenize: Function from a text to its tokens.

    Raises:
        FairlabError: All documents have one label, there are no documents, or a value is invalid.
    """

    def __init__(
        self,
        texts: Iterable[str],
        labels: Iterable[object],
        *,
        width: int = OFFICIAL_WIDTH,
        tokenize: Tokenize = surface_tokens,
    ) -> None:
        super().__init__(labels)
        self.tau = positions(1, width, "vaswani", first=0)
        self.tokens = TokenIds(texts, tokenize)
        self.sums = np.zeros((len(self.names), len(self.tokens.vocabulary), width))
        self.held = np.zeros(self.sums.shape[:2], dtype=np.int64)  # number of documents per label and token
        for block in blocks(len(self)):
            rows, ids, maps = self._maps(*self.tokens.some(block), len(block))
            np.add.at(self.sums, (self.labels[block[rows]], ids), maps)
            np.add.at(self.held, (self.labels[block[rows]], ids), 1)

    def gamma(self) -> Floats:
        """Return the shortcut score (n,) of every document, see :class:`Space`."""
        found = np.ones(len(self))
        others = self._others()
        for block in blocks(len(self)):
            rows, ids, maps = self._maps(*self.tokens.some(block), len(block))
            cosines = row_cosines(maps, others[self.labels[block[rows]], ids])
            found[block] -= np.bincount(rows, cosines, minlength=len(block)) / self._size
        return found

    def score(self, document: int, text: str) -> float:
        """Return the shortcut score of ``text``, see :class:`Space`."""
        _, ids, maps = self._map(self._encode(text))
        return float(1.0 - row_cosines(maps, self._others()[self.labels[document], ids]).sum() / self._size)

    def replace(self, document: int, text: str) -> None:
        """Replace a document by ``text``, see :class:`Space`."""
        new, label = self._encode(text), self.labels[document]
        for tokens, sign in ((self.tokens.of(document), -1.0), (new, 1.0)):
            _, ids, maps = self._map(tokens)
            self.held[label, ids] += int(sign)
            # Otherwise the rounding residue of a removed token would have a direction.
            self.sums[label, ids] = np.where(self.held[label, ids, None], self.sums[label, ids] + sign * maps, 0.0)
        self.tokens.put(document, new)

    @property
    def objective(self) -> float:
        """Return the mean similarity of documents to the mean map of the labels other than their own.

        The released code has no such objective, because it stops after one round. This one was added for fairlab.
        """
        return float(1.0 - self.gamma().mean())

    @property
    def _size(self) -> int:
        return max(1, int((self.tokens.frequency > 0).sum()))

    def _others(self) -> Floats:
        """Return, for each label, the sum of the maps of all other labels, (L, V, D).

        The mean of the maps has the same direction.
        """
        return self.sums.sum(axis=0) - self.sums

    def _encode(self, text: str) -> NDArray[np.int32]:
        ids = self.tokens.encode(text)
        if new := len(self.tokens.vocabulary) - self.sums.shape[1]:
            self.sums = np.pad(self.sums, ((0, 0), (0, new), (0, 0)))
            self.held = np.pad(self.held, ((0, 0), (0, new)))
        return ids

    def _map(self, ids: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        return self._maps(np.zeros(len(ids), np.int64), ids, 1)

    def _maps(
        self, rows: NDArray[np.int64], ids: NDArray[np.int32], count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """Return the document, token and map f(token) for each distinct token of each of ``count`` documents."""
        lengths = np.bincount(rows, minlength=count)
        longest = int(lengths.max())
        if longest > len(self.tau):
            self.tau = positions(longest, self.tau.shape[1], "vaswani", first=0)
        places = np.arange(len(ids)) - (np.cumsum(lengths) - lengths)[rows]
        keys = rows * len(self.tokens.vocabulary) + ids
        order = np.argsort(keys, kind="stable")
        distinct, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
        if not len(distinct):
            return distinct, distinct, np.empty((0, self.tau.shape[1]))
        products = np.multiply.reduceat(self.tau[places[order]], first, axis=0)
        found = distinct // len(self.tokens.vocabulary)
        return found, distinct % len(self.tokens.vocabulary), (counts / lengths[found])[:, None] * products
