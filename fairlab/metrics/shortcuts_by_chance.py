"""Scores drawn by chance: a control that rewrites as many documents as a shortcut score would, and looks at none."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

import numpy as np

from fairlab.metrics.shortcuts import Floats, Space

BYTES = 8  # of the digest that are read as a number


class ChanceSpace(Space):
    """Every text has a score of its own, uniform in [0, 1), whatever its label: the same in every run.

    Of ``c`` rewrites that keep their label, the best is below the document with probability c / (c + 1).

    Args:
        texts: texts of the N documents.
        labels: label of each of the N documents; equal ones are one label.

    Raises:
        FairlabError: documents of one label alone, or none at all.
    """

    def __init__(self, texts: Iterable[str], labels: Iterable[object]) -> None:
        super().__init__(labels)
        self.scores = np.array([_score(text) for text in texts])

    def gamma(self) -> Floats:
        """Score (n,) of every document, in [0, 1)."""
        return self.scores.copy()

    def score(self, document: int, text: str) -> float:
        """See :class:`Space`."""
        return _score(text)

    def replace(self, document: int, text: str) -> None:
        """See :class:`Space`."""
        self.scores[document] = _score(text)

    @property
    def objective(self) -> float:
        """The mean score, negated; it says nothing of the documents."""
        return float(-self.scores.mean())


def _score(text: str) -> float:
    return int.from_bytes(sha256(text.encode()).digest()[:BYTES], "big") / 2.0 ** (8 * BYTES)
