"""Shortcut space: documents represented by weights and positions of tokens, and their distance from other labels.

The mean cosine of a document to all documents of other labels is the dot product of its unit vector with the mean of
their unit vectors, which is not rescaled. Scoring all documents therefore takes one pass for the sums of unit vectors
by label and one for the products. An array of the size documents x documents is not needed. Vectors are computed in
blocks and discarded, so that only token ids stay in memory.

Source: Yang, Prenkaj and Kasneci 2025, "RAZOR: Sharpening Knowledge by Cutting Bias with Unsupervised Text Rewriting",
section 3.2 and equations 7-14; ``official`` follows the released code (``calculator.py``), which differs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fairlab.metrics.token_ids import BLOCK, TokenIds, Tokenize
from fairlab.text.surface_tokens import surface_tokens
from fairlab.types import FairlabError

WIDTH = 128  # lambda; the paper gives no value
HALF = 0.5  # if more than this share of documents have changed vectors, all sums are recomputed
POSITION_ENCODINGS = ("paper", "vaswani")

Floats = NDArray[np.float64]


def positions(count: int, width: int, pe: Literal["paper", "vaswani"] = "paper", *, first: int = 1) -> Floats:
    """Return position encodings tau (count, width): sines in even dimensions, cosines in odd ones.

    Args:
        count: Number of positions, counted from ``first``.
        width: Length of an encoding, lambda; at least 1.
        pe: Kind of encoding: ``paper``, frequency 10000^(-2k/lambda) with k the dimension itself (equation 9 as
            printed); ``vaswani``, in which sine and cosine share a frequency.
        first: Position of the first token; 1 in equation 10.

    Raises:
        FairlabError: The kind of encoding is unknown, or ``width`` is below 1.
    """
    if pe not in POSITION_ENCODINGS or width < 1:
        raise FairlabError(
            f"position encodings must be {' or '.join(POSITION_ENCODINGS)}, of 1 dimension or more, not {pe}, {width}"
        )
    k = np.arange(width)
    exponents = 2 * k / width if pe == "paper" else 2 * (k // 2) / width
    angles = np.arange(first, first + count)[:, None] / 10_000.0**exponents
    return np.where(k % 2 == 0, np.sin(angles), np.cos(angles))


class Space(ABC):
    """Labelled documents with shortcut scores; documents can be replaced one at a time.

    Attributes:
        names: Names of the labels, in order of first appearance.
        labels: Label of each document, (n,), as an index of ``names``.
        counts: Number of documents of each label, (L,).
    """

    def __init__(self, labels: Iterable[object]) -> None:
        self.names: list[object] = []
        place: dict[object, int] = {}
        self.labels = np.fromiter((place.setdefault(label, len(place)) for label in labels), dtype=np.int32)
        self.names = list(place)
        if len(self.names) < 2:
            what = f"the label {self.names[0]} alone" if self.names else "no document"
            raise FairlabError(
                f"a shortcut score needs documents of two labels or more, but there is {what}; add documents with "
                "other labels, or name another column of labels"
            )
        self.counts = np.bincount(self.labels, minlength=len(self.names)).astype(np.float64)

    def __len__(self) -> int:
        return len(self.labels)

    @abstractmethod
    def gamma(self) -> Floats:
        """Return the shortcut score (n,) of every document, in [0, 2].

        A high score indicates a shortcut.
        """

    @abstractmethod
    def score(self, document: int, text: str) -> float:
        """Return the shortcut score that ``text`` would have if it replaced a document."""

    @abstractmethod
    def replace(self, document: int, text: str) -> None:
        """Replace a document by ``text``, keeping its label."""

    @property
    @abstractmethod
    def objective(self) -> float:
        """Return the objective that rewriting maximises: the mean similarity of documents with different labels."""


class _UnitSums(Space):
    """Space of document vectors, which stores the sum of unit vectors for each label.

    Attributes:
        sums: Sum of the documents' unit vectors for each label, (L, D).
    """

    sums: Floats

    @abstractmethod
    def _units(self, documents: NDArray[np.intp]) -> Floats:
        """Return the unit vectors (N, D) of the given documents.

        Zero vectors stay zero.
        """

    def _blocks(self, documents: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        return (documents[start : start + BLOCK] for start in range(0, len(documents), BLOCK))

    def _sums(self, documents: NDArray[np.intp]) -> Floats:
        """Return the sum of the given documents' unit vectors for each label, (L, D)."""
        total: Floats | None = None
        for block in self._blocks(documents):
            which = csr_array(
                (np.ones(len(block)), (self.labels[block], np.arange(len(block)))), shape=(len(self.names), len(block))
            )
            part = which @ self._units(block)
            total = part if total is None else total + part
        assert total is not None
        return total

    def _others(self) -> Floats:
        """Return, for each label, the mean unit vector of the documents with other labels, (L, D)."""
        return (self.sums.sum(axis=0) - self.sums) / (len(self) - self.counts)[:, None]

    def gamma(self) -> Floats:
        others_LD = self._others()
        found = np.empty(len(self))
        for block in self._blocks(np.arange(len(self))):
            found[block] = 1.0 - np.einsum("ij,ij->i", self._units(block), others_LD[self.labels[block]])
        return found

    @property
    def objective(self) -> float:
        """Return the mean cosine over pairs of documents with different labels, in [-1, 1].

        Equation 14 of the RAZOR paper is the sum, ``objective * pairs``. With more than two labels, all pairs with
        different labels count. This is our extension, because the paper's definition is binary.
        """
        total = self.sums.sum(axis=0)
        return float((total @ total - np.einsum("ij,ij->", self.sums, self.sums)) / 2 / self.pairs)

    @property
    def pairs(self) -> float:
        """Return the number of pairs of documents with different labels."""
        return float((len(self) ** 2 - (self.counts**2).sum()) / 2)


class TokenSpace(_UnitSums):
    """Documents represented by tf-idf-weighted sums of position encodings: the vector g of equation 10.

    S(t) = n(t, d) / |d| * ln(N / df(t)); g(d) = sum_j S(t_j) tau(j) / (|d| - 1). The divisor, which is 1 for documents
    of one token, does not affect cosines. A document without tokens, or whose tokens all have idf 0, has a zero vector,
    whose cosine to all others is 0.

    Replacing a document changes the idf of its old and new tokens, and thus the vectors of all documents with any of
    these tokens. These vectors are removed from the sums and added again.

    Args:
        texts: Texts of the N documents.
        labels: Label of each of the N documents.
        width: Length of a position encoding, lambda in the paper.
        pe: Kind of position encoding, ``paper`` or ``vaswani``; see :func:`positions`.
        tokenize: Function from a text to its tokens; the paper does not name a tokenizer.

    Raises:
        FairlabError: All documents have one label, there are no documents, or a value is invalid.

    Source: RAZOR (Yang et al. 2025), section 3.2.
    """

    def __init__(
        self,
        texts: Iterable[str],
        labels: Iterable[object],
        *,
        width: int = WIDTH,
        pe: Literal["paper", "vaswani"] = "paper",
        tokenize: Tokenize = surface_tokens,
    ) -> None:
        super().__init__(labels)
        self.tau = positions(1, width, pe)  # grows with the longest document
        self.pe = pe
        self.tokens = TokenIds(texts, tokenize)
        self.sums = self._sums(np.arange(len(self)))

    def vectors(self, documents: NDArray[np.intp]) -> Floats:
        """Return the vectors g of the given documents, (N, lambda)."""
        rows, ids = self.tokens.some(documents)
        lengths = np.bincount(rows, minlength=len(documents))
        weights = self._weights(rows, ids, lengths, self._idf(self.tokens.frequency))
        divisors = np.maximum(lengths - 1, 1)
        return self._sum_positions(weights / divisors[rows], lengths)

    def score(self, document: int, text: str) -> float:
        """Return the shortcut score of ``text``, see :class:`Space`.

        The idf is computed with the document replaced by the text. The vectors of other documents stay unchanged.
        """
        ids = self.tokens.encode(text)
        if not len(ids):
            return 1.0
        distinct, inverse = np.unique(ids, return_inverse=True)
        frequency = self.tokens.frequency[distinct] + 1 - np.isin(distinct, self.tokens.of(document))
        lengths = np.array([len(ids)])
        weights = self._weights(
            np.zeros(len(ids), np.int64), ids, lengths, self._idf(frequency)[inverse], looked_up=True
        )
        (unit,) = _normalise(self._sum_positions(weights, lengths))
        return float(1.0 - unit @ self._others()[self.labels[document]])

    def replace(self, document: int, text: str) -> None:
        """Replace a document by ``text``, see :class:`Space`."""
        new = self.tokens.encode(text)
        changed = np.zeros(len(self.tokens.vocabulary), dtype=bool)
        changed[np.setxor1d(self.tokens.of(document), new)] = True
        held = np.flatnonzero(changed[self.tokens.ids])
        touched = np.unique(np.append(np.searchsorted(self.tokens.offsets, held, side="right") - 1, document))
        anew = len(touched) > HALF * len(self)
        before = 0.0 if anew else self._sums(touched)
        self.tokens.put(document, new)
        self.sums = self._sums(np.arange(len(self))) if anew else self.sums - before + self._sums(touched)

    def _units(self, documents: NDArray[np.intp]) -> Floats:
        return _normalise(self.vectors(documents))

    def _idf(self, frequency: NDArray[np.int64]) -> Floats:
        return np.log(len(self) / np.maximum(frequency, 1))

    def _weights(
        self,
        rows: NDArray[np.int64],
        ids: NDArray[np.int32],
        lengths: NDArray[np.int64],
        idf: Floats,
        *,
        looked_up: bool = False,
    ) -> Floats:
        """Return the tf-idf weight S of every token.

        ``idf`` is indexed by token id or, if ``looked_up`` is true, has a value for each token.
        """
        keys = rows * len(self.tokens.vocabulary) + ids
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return counts[inverse] / lengths[rows] * (idf if looked_up else idf[ids])

    def _sum_positions(self, weights: Floats, lengths: NDArray[np.int64]) -> Floats:
        """Return, for each document, the sum of its tokens' position encodings times their weights."""
        longest = int(lengths.max())
        if longest > len(self.tau):
            self.tau = positions(longest, self.tau.shape[1], self.pe)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        columns = np.arange(len(weights)) - np.repeat(ends[:-1], lengths)
        return csr_array((weights, columns, ends), shape=(len(lengths), len(self.tau))) @ self.tau


class EmbeddingSpace(_UnitSums):
    """Documents represented by sentence embeddings instead of surface features.

    Args:
        texts: Texts of the N documents.
        labels: Label of each of the N documents.
        embed: Function from texts to vectors (N, D).

    Raises:
        FairlabError: All documents have one label, or there are no documents.

    Source: RAZOR (Yang et al. 2025), section 4.2 and the ablation in figure 4.
    """

    def __init__(
        self, texts: Sequence[str], labels: Iterable[object], embed: Callable[[Sequence[str]], NDArray[np.floating]]
    ) -> None:
        super().__init__(labels)
        self.embed = embed
        self.units = _normalise(np.asarray(embed(texts), dtype=np.float64))
        self.sums = self._sums(np.arange(len(self)))

    def score(self, document: int, text: str) -> float:
        """Return the shortcut score of ``text``, see :class:`Space`."""
        return float(1.0 - self._unit_vector(text) @ self._others()[self.labels[document]])

    def replace(self, document: int, text: str) -> None:
        """Replace a document by ``text``, see :class:`Space`."""
        new = self._unit_vector(text)
        self.sums[self.labels[document]] += new - self.units[document]
        self.units[document] = new

    def _unit_vector(self, text: str) -> Floats:
        return _normalise(np.asarray(self.embed([text]), dtype=np.float64))[0]

    def _units(self, documents: NDArray[np.intp]) -> Floats:
        return self.units[documents]


def _normalise(vectors: Floats) -> Floats:
    """Scale rows to unit length, except zero rows, which stay zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)


def row_cosines(one: Floats, other: Floats) -> Floats:
    """Return the cosine of each pair of corresponding rows, which is 0 if either row is zero."""
    return np.einsum("ij,ij->i", _normalise(one), _normalise(other))
