"""Shortcut space: documents by the weights and positions of their tokens, and how far each lies from other labels.

The mean cosine of a document to all documents of other labels is the dot product of its unit vector with the mean of
theirs, which is not scaled to unit length again, so a score of all documents takes one pass for the sums of unit
vectors by label and one for the products. Nothing of the size documents x documents is ever built, and vectors are
made in blocks and thrown away, so that memory holds token ids alone.

Source: Yang, Prenkaj and Kasneci 2025, "RAZOR: Sharpening Knowledge by Cutting Bias with Unsupervised Text Rewriting",
section 3.2 and equations 7-14; ``official`` follows the released code (``calculator.py``), which differs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fairlab.text.surface import surface_tokens
from fairlab.types import FairlabError

BLOCK = 16_384  # documents whose vectors are in memory at a time
WIDTH = 128  # lambda; the paper gives none
OFFICIAL_WIDTH = 8
HALF = 0.5  # share of documents whose vectors change, above which all sums are made anew
POSITION_ENCODINGS = ("paper", "vaswani")

Floats = NDArray[np.float64]
Tokenize = Callable[[str], Sequence[str]]


def positions(count: int, width: int, pe: Literal["paper", "vaswani"] = "paper", *, first: int = 1) -> Floats:
    """Position encodings tau (count, width): sines in even dimensions, cosines in odd ones.

    Args:
        count: of positions, from ``first``.
        width: lambda.
        pe: ``paper``, frequency 10000^(-2k/lambda) with k the dimension itself (equation 9 as printed); ``vaswani``,
            in which sine and cosine share a frequency.
        first: position of the first token; 1 in equation 10.

    Raises:
        FairlabError: another encoding, or no dimension.
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
    """Labelled documents under a shortcut score; documents are replaced one at a time.

    Attributes:
        names: of the labels, in order of first appearance.
        labels: (n,), each document's label by its place in ``names``.
        counts: (L,), documents of each label.
    """

    def __init__(self, labels: Iterable[object]) -> None:
        self.names: list[object] = []
        place: dict[object, int] = {}
        self.labels = np.fromiter((place.setdefault(label, len(place)) for label in labels), dtype=np.int32)
        self.names = list(place)
        if len(self.names) < 2:
            what = f"the label {self.names[0]} alone" if self.names else "no document"
            raise FairlabError(f"a shortcut score needs documents of two labels or more, and there is {what}")
        self.counts = np.bincount(self.labels, minlength=len(self.names)).astype(np.float64)

    def __len__(self) -> int:
        return len(self.labels)

    @abstractmethod
    def gamma(self) -> Floats:
        """Shortcut score (n,) of every document, in [0, 2]; a high one is a shortcut."""

    @abstractmethod
    def score(self, document: int, text: str) -> float:
        """The shortcut score that ``text`` would have in a document's place, the other documents being as they are."""

    @abstractmethod
    def replace(self, document: int, text: str) -> None:
        """Put ``text`` in a document's place; its label stays."""

    @property
    @abstractmethod
    def objective(self) -> float:
        """What rewriting maximises: the mean similarity of documents of different labels."""


class _UnitSums(Space):
    """A space in which documents are vectors; it holds the sums of their unit vectors by label.

    Attributes:
        sums: (L, D).
    """

    sums: Floats

    @abstractmethod
    def _units(self, documents: NDArray[np.intp]) -> Floats:
        """Unit vectors (N, D) of some documents; zero where a vector is zero."""

    def _blocks(self, documents: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        return (documents[start : start + BLOCK] for start in range(0, len(documents), BLOCK))

    def _sums(self, documents: NDArray[np.intp]) -> Floats:
        """Sums (L, D) of the unit vectors of some documents by label."""
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
        """Mean unit vectors (L, D) of the documents of all other labels."""
        return (self.sums.sum(axis=0) - self.sums) / (len(self) - self.counts)[:, None]

    def gamma(self) -> Floats:
        others_LD = self._others()
        found = np.empty(len(self))
        for block in self._blocks(np.arange(len(self))):
            found[block] = 1.0 - np.einsum("ij,ij->i", self._units(block), others_LD[self.labels[block]])
        return found

    @property
    def objective(self) -> float:
        """Mean cosine over pairs of documents of different labels, in [-1, 1].

        Equation 14 is its sum, ``objective * pairs``; with more than two labels all pairs of different labels count
        (ours, the paper's is binary).
        """
        total = self.sums.sum(axis=0)
        return float((total @ total - np.einsum("ij,ij->", self.sums, self.sums)) / 2 / self.pairs)

    @property
    def pairs(self) -> float:
        """Number of pairs of documents of different labels."""
        return float((len(self) ** 2 - (self.counts**2).sum()) / 2)


class _Tokens:
    """Documents as token ids in one flat array, with document frequencies.

    Attributes:
        ids, offsets: document ``d`` is ``ids[offsets[d] : offsets[d + 1]]``.
        frequency: (V,), documents that hold each token.
    """

    def __init__(self, texts: Iterable[str], tokenize: Tokenize) -> None:
        self.tokenize = tokenize
        self.vocabulary: dict[str, int] = {}
        ids, ends = array("i"), array("q", [0])
        for text in texts:
            ids.extend(self._known(text))
            ends.append(len(ids))
        self.ids = np.frombuffer(ids, dtype=np.int32) if len(ids) else np.empty(0, np.int32)
        self.offsets = np.frombuffer(ends, dtype=np.int64)
        self.frequency = np.zeros(len(self.vocabulary), dtype=np.int64)
        for start in range(0, len(self), BLOCK):
            rows, tokens = self.some(np.arange(start, min(start + BLOCK, len(self))))
            distinct = np.unique(rows * len(self.vocabulary) + tokens) % max(1, len(self.vocabulary))
            self.frequency += np.bincount(distinct, minlength=len(self.vocabulary))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _known(self, text: str) -> list[int]:
        known = self.vocabulary
        return [known.setdefault(token, len(known)) for token in self.tokenize(text)]

    def encode(self, text: str) -> NDArray[np.int32]:
        """Token ids of a text; new tokens get ids, and no document has them yet."""
        ids = np.array(self._known(text), dtype=np.int32)
        if new := len(self.vocabulary) - len(self.frequency):
            self.frequency = np.append(self.frequency, np.zeros(new, dtype=np.int64))
        return ids

    def of(self, document: int) -> NDArray[np.int32]:
        """Token ids of one document."""
        return self.ids[self.offsets[document] : self.offsets[document + 1]]

    def some(self, documents: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Row (0..N - 1) and id of every token of some documents, in order."""
        lengths = self.offsets[documents + 1] - self.offsets[documents]
        rows = np.repeat(np.arange(len(documents)), lengths)
        begin = np.cumsum(lengths) - lengths
        return rows, self.ids[self.offsets[documents][rows] + np.arange(len(rows)) - begin[rows]]

    def put(self, document: int, ids: NDArray[np.int32]) -> None:
        """Put other tokens in a document's place, and count document frequencies anew."""
        old, (start, end) = self.of(document), self.offsets[document : document + 2]
        self.frequency[np.unique(old)] -= 1
        self.frequency[np.unique(ids)] += 1
        self.ids = np.concatenate([self.ids[:start], ids, self.ids[end:]])
        self.offsets = np.concatenate(
            [self.offsets[: document + 1], self.offsets[document + 1 :] + len(ids) - len(old)]
        )


class TokenSpace(_UnitSums):
    """Documents as sums of their tokens' tf-idf times their positions' encodings, g of equation 10.

    S(t) = n(t, d) / |d| * ln(N / df(t)); g(d) = sum_j S(t_j) tau(j) / (|d| - 1). The divisor leaves every cosine as it
    is; it is 1 for documents of one token. A zero g, where every idf is 0 or there is no token, has cosine 0 to all.

    Replacing a document changes the idf of its old and its new tokens, and so the vectors of all documents that hold
    one of them; those are taken out of the sums and put in again.

    Args:
        texts: N documents.
        labels: N labels; equal ones are one label.
        width: lambda.
        pe: see :func:`positions`.
        tokenize: a text to its tokens; the paper names no tokens.

    Raises:
        FairlabError: documents of one label alone, none at all, or a wrong value.

    Source: section 3.2.
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
        self.tau = positions(1, width, pe)  # grows with the longest document seen
        self.pe = pe
        self.tokens = _Tokens(texts, tokenize)
        self.sums = self._sums(np.arange(len(self)))

    def vectors(self, documents: NDArray[np.intp]) -> Floats:
        """Vectors g of some documents, (N, lambda)."""
        rows, ids = self.tokens.some(documents)
        lengths = np.bincount(rows, minlength=len(documents))
        weights = self._weights(rows, ids, lengths, self._idf(self.tokens.frequency))
        divisors = np.maximum(lengths - 1, 1)
        return self._placed(weights / divisors[rows], lengths)

    def score(self, document: int, text: str) -> float:
        """See :class:`Space`: the text's own idf counts it in the document's place; other vectors stay."""
        ids = self.tokens.encode(text)
        if not len(ids):
            return 1.0
        distinct, inverse = np.unique(ids, return_inverse=True)
        frequency = self.tokens.frequency[distinct] + 1 - np.isin(distinct, self.tokens.of(document))
        lengths = np.array([len(ids)])
        weights = self._weights(
            np.zeros(len(ids), np.int64), ids, lengths, self._idf(frequency)[inverse], looked_up=True
        )
        (unit,) = _normalised(self._placed(weights, lengths))
        return float(1.0 - unit @ self._others()[self.labels[document]])

    def replace(self, document: int, text: str) -> None:
        """See :class:`Space`."""
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
        return _normalised(self.vectors(documents))

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
        """S of every token; ``idf`` by token id, or already looked up for each token."""
        keys = rows * len(self.tokens.vocabulary) + ids
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return counts[inverse] / lengths[rows] * (idf if looked_up else idf[ids])

    def _placed(self, weights: Floats, lengths: NDArray[np.int64]) -> Floats:
        """Weights of tokens, in order, times the encodings of their positions, summed by document."""
        longest = int(lengths.max(initial=1))
        if longest > len(self.tau):
            self.tau = positions(longest, self.tau.shape[1], self.pe)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        columns = np.arange(len(weights)) - np.repeat(ends[:-1], lengths)
        return csr_array((weights, columns, ends), shape=(len(lengths), len(self.tau))) @ self.tau


class EmbeddingSpace(_UnitSums):
    """Documents as sentence embeddings instead of surface features: the ablation of figure 4.

    Args:
        texts: N documents.
        labels: N labels.
        embed: texts to vectors (N, D).

    Raises:
        FairlabError: documents of one label alone, or none at all.

    Source: section 4.2.
    """

    def __init__(
        self, texts: Sequence[str], labels: Iterable[object], embed: Callable[[Sequence[str]], NDArray[np.floating]]
    ) -> None:
        super().__init__(labels)
        self.embed = embed
        self.units = _normalised(np.asarray(embed(texts), dtype=np.float64))
        self.sums = self._sums(np.arange(len(self)))

    def score(self, document: int, text: str) -> float:
        """See :class:`Space`."""
        return float(1.0 - self._embedded(text) @ self._others()[self.labels[document]])

    def replace(self, document: int, text: str) -> None:
        """See :class:`Space`."""
        new = self._embedded(text)
        self.sums[self.labels[document]] += new - self.units[document]
        self.units[document] = new

    def _embedded(self, text: str) -> Floats:
        return _normalised(np.asarray(self.embed([text]), dtype=np.float64))[0]

    def _units(self, documents: NDArray[np.intp]) -> Floats:
        return self.units[documents]


class OfficialSpace(Space):
    """The score of the released code: cosines token by token to the mean map of the other labels.

    The map f of a document gives each of its tokens the share of the document it makes up times the elementwise product
    of the encodings (``vaswani``, positions from 0) of all its positions; the map of a label is the mean over its
    documents. The similarity is the mean over the vocabulary of the cosine of f(t) to the label's; gamma is 1 less
    that. There is no idf, so a replacement changes the sums by its own tokens alone. The code's two classes become a
    document's label against all others, and its vocabulary (BERT's 30,522 pieces), which only scales the similarity,
    that of the data.

    Args:
        texts: N documents.
        labels: N labels.
        width: of the encodings; 8 in the code.
        tokenize: a text to its tokens.

    Raises:
        FairlabError: documents of one label alone, none at all, or a wrong value.
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
        self.tokens = _Tokens(texts, tokenize)
        self.sums = np.zeros((len(self.names), len(self.tokens.vocabulary), width))
        self.held = np.zeros(self.sums.shape[:2], dtype=np.int64)  # documents of each label that hold each token
        for start in range(0, len(self), BLOCK):
            block = np.arange(start, min(start + BLOCK, len(self)))
            rows, ids, maps = self._maps(*self.tokens.some(block), len(block))
            np.add.at(self.sums, (self.labels[block[rows]], ids), maps)
            np.add.at(self.held, (self.labels[block[rows]], ids), 1)

    def gamma(self) -> Floats:
        """See :class:`Space`."""
        found = np.ones(len(self))
        others = self._others()
        for start in range(0, len(self), BLOCK):
            block = np.arange(start, min(start + BLOCK, len(self)))
            rows, ids, maps = self._maps(*self.tokens.some(block), len(block))
            cosines = _cosines(maps, others[self.labels[block[rows]], ids])
            found[block] -= np.bincount(rows, cosines, minlength=len(block)) / self._size
        return found

    def score(self, document: int, text: str) -> float:
        """See :class:`Space`."""
        _, ids, maps = self._map(self._encoded(text))
        return float(1.0 - _cosines(maps, self._others()[self.labels[document], ids]).sum() / self._size)

    def replace(self, document: int, text: str) -> None:
        """See :class:`Space`."""
        new, label = self._encoded(text), self.labels[document]
        for tokens, sign in ((self.tokens.of(document), -1.0), (new, 1.0)):
            _, ids, maps = self._map(tokens)
            self.held[label, ids] += int(sign)
            # What rounding leaves of a token that is gone would have a direction.
            self.sums[label, ids] = np.where(self.held[label, ids, None], self.sums[label, ids] + sign * maps, 0.0)
        self.tokens.put(document, new)

    @property
    def objective(self) -> float:
        """Mean similarity of documents to the map of the other labels (ours; the code stops after one round)."""
        return float(1.0 - self.gamma().mean())

    @property
    def _size(self) -> int:
        return max(1, int((self.tokens.frequency > 0).sum()))

    def _others(self) -> Floats:
        """Sums of the maps of all other labels, (L, V, D); their mean has the same direction."""
        return self.sums.sum(axis=0) - self.sums

    def _encoded(self, text: str) -> NDArray[np.int32]:
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
        """Document, token and f(token) of every distinct token of ``count`` documents."""
        lengths = np.bincount(rows, minlength=count)
        longest = int(lengths.max(initial=1))
        if longest > len(self.tau):
            self.tau = positions(longest, self.tau.shape[1], "vaswani", first=0)
        places = np.arange(len(ids)) - (np.cumsum(lengths) - lengths)[rows]
        keys = rows * max(1, len(self.tokens.vocabulary)) + ids
        order = np.argsort(keys, kind="stable")
        distinct, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
        if not len(distinct):
            return distinct, distinct, np.empty((0, self.tau.shape[1]))
        products = np.multiply.reduceat(self.tau[places[order]], first, axis=0)
        found = distinct // len(self.tokens.vocabulary)
        return found, distinct % len(self.tokens.vocabulary), (counts / lengths[found])[:, None] * products


def _normalised(vectors: Floats) -> Floats:
    """Rows in unit length; a zero row stays zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)


def _cosines(one: Floats, other: Floats) -> Floats:
    """Cosine of rows with rows, 0 where either is zero."""
    return np.einsum("ij,ij->i", _normalised(one), _normalised(other))
