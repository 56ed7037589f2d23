"""A source outside of fairlab, as a user writes one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairlab.methods.safety_ensemble.sources.base import Source


class Exclamations(Source):
    """Share of a text's characters that are a mark, per ten characters and at most 1.

    Args:
        mark: The character that is counted.
    """

    title = "exclamation marks"
    limits = "An example: loud texts are not unsafe."
    citation = "An example of this project."
    name = "exclamations"
    version = "1"
    outputs = ("marks",)

    def __init__(self, *, mark: str = "!") -> None:
        self.mark = mark

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return scores (N, 1) in [0, 1]."""
        return np.array([[min(1.0, 10 * text.count(self.mark) / max(1, len(text)))] for text in texts])
