"""Random scores: a control with which as many documents are rewritten as with a shortcut score, whatever they say."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import numpy as np

from fairlab.metrics.shortcuts import Floats, Space

BYTES = 8  # number of bytes of the digest that form the number


class ChanceSpace(Space):
    """Space with a random score for each text, uniform in [0, 1) and the same in every run.

    The best of ``c`` label-preserving rewrites scores below the document with probability c / (c + 1).

    Args:
        texts: Texts of the N documents.
        labels: Label of each of the N documents.

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
        """Return the random score of ``text``, see :class:`Space`."""
        return _score(text)

    def replace(self, document: int, text: str) -> None:
        """Replace a document by ``text``, see :class:`Space`."""
        self.scores[document] = _score(text)

    @property
    def objective(self) -> float:
        """Return the negated mean score, which does not depend on the content of the documents."""
        return float(-self.scores.mean())


def _score(text: str) -> float:
    return int.from_bytes(sha256(text.encode()).digest()[:BYTES], "big") / 2.0 ** (8 * BYTES)
