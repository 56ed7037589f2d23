"""Documents as token ids in one flat array, with document frequencies."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

BLOCK = 16_384  # number of documents whose vectors are in memory at a time

Tokenize = Callable[[str], Sequence[str]]


def blocks(count: int) -> Iterator[NDArray[np.intp]]:
    """Yield the numbers of ``count`` documents in blocks."""
    for start in range(0, count, BLOCK):
        yield np.arange(start, min(start + BLOCK, count))


class TokenIds:
    """Documents as token ids in one flat array, with document frequencies.

    Attributes:
        ids, offsets: Document ``d`` is ``ids[offsets[d] : offsets[d + 1]]``.
        frequency: Number of documents that contain each token, (V,).
    """

    def __init__(self, texts: Iterable[str], tokenize: Tokenize) -> None:
        self.tokenize = tokenize
        self.vocabulary: dict[str, int] = {}
        ids, ends = array("i"), array("q", [0])
        for text in texts:
            ids.extend(self._known_ids(text))
            ends.append(len(ids))
        self.ids = np.asarray(ids, dtype=np.int32)
        self.offsets = np.frombuffer(ends, dtype=np.int64)
        self.frequency = np.zeros(len(self.vocabulary), dtype=np.int64)
        for block in blocks(len(self)):
            rows, tokens = self.some(block)
            distinct = np.unique(rows * len(self.vocabulary) + tokens) % len(self.vocabulary)
            self.frequency += np.bincount(distinct, minlength=len(self.vocabulary))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _known_ids(self, text: str) -> list[int]:
        known = self.vocabulary
        return [known.setdefault(token, len(known)) for token in self.tokenize(text)]

    def encode(self, text: str) -> NDArray[np.int32]:
        """Return the token ids of a text.

        New tokens get ids with a document frequency of 0.
        """
        ids = np.array(self._known_ids(text), dtype=np.int32)
        if new := len(self.vocabulary) - len(self.frequency):
            self.frequency = np.append(self.frequency, np.zeros(new, dtype=np.int64))
        return ids

    def of(self, document: int) -> NDArray[np.int32]:
        """Return the token ids of one document."""
        return self.ids[self.offsets[document] : self.offsets[document + 1]]

    def some(self, documents: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the row (0 to N - 1) and the id of every token in N documents, in order."""
        lengths = self.offsets[documents + 1] - self.offsets[documents]
        rows = np.repeat(np.arange(len(documents)), lengths)
        begin = np.cumsum(lengths) - lengths
        return rows, self.ids[self.offsets[documents][rows] + np.arange(len(rows)) - begin[rows]]

    def put(self, document: int, ids: NDArray[np.int32]) -> None:
        """Replace the tokens of a document, and update the document frequencies."""
        old, (start, end) = self.of(document), self.offsets[document : document + 2]
        self.frequency[np.unique(old)] -= 1
        self.frequency[np.unique(ids)] += 1
        self.ids = np.concatenate([self.ids[:start], ids, self.ids[end:]])
        self.offsets = np.concatenate(
            [self.offsets[: document + 1], self.offsets[document + 1 :] + len(ids) - len(old)]
        )
