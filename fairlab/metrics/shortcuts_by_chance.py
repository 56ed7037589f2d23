"""Random scores: a control that rewrites the same number of documents as a shortcut score, without reading them."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import numpy as np

from fairlab.metrics.shortcuts import Floats, Space

BYTES = 8  # number of bytes of the digest that form the number


class ChanceSpace(Space):
    """Score of each text, uniform in [0, 1) regardless of its label and the same in every run.

    The best of ``c`` label-preserving rewrites scores below the document with probability c / (c + 1).

    Args:
        texts: Texts of the N documents.
        labels: Label of each of the N documents; equal values are the same label.

    Raises:
        FairlabError: All documents have one label, or there are no documents.
    """

    def __init__(self, texts: Iterable[str], labels: Iterable[object]) -> None:
        super().__init__(labels)
        self.scores = np.array([_score(text) for text in texts])

    def gamma(self) -> Floats:
        """Return the score (n,) of every document, in [0, 1)."""
        return self.scores.copy()

    def score(self, document: int, text: str) -> float:
        """Score as :class:`Space` does."""
        return _score(text)

    def replace(self, document: int, text: str) -> None:
        """Replace as :class:`Space` does."""
        self.scores[document] = _score(text)

    @property
    def objective(self) -> float:
        """Return the negated mean score, which is unrelated to the documents' content."""
        return float(-self.scores.mean())


def _score(text: str) -> float:
    return int.from_bytes(sha256(text.encode()).digest()[:BYTES], "big") / 2.0 ** (8 * BYTES)
