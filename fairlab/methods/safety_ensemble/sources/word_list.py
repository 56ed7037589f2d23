"""Occurrences of listed words in texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairlab.files import sha256
from fairlab.methods.safety_ensemble.sources.base import LISTS, Array, Source
from fairlab.text.reading import text_lines
from fairlab.text.words import TermFinder, word_pieces
from fairlab.types import DataUnavailable, FairlabError


class WordList(Source):
    """Source of two scores: the share of a text's words that are listed, and whether any listed word occurs.

    Args:
        path: Path of a file with one term per line and comment lines that begin with ``# ``; or the name of a list that
            comes with fairlab: ``violence``.
        name: Name of the source, unique within an ensemble.

    Raises:
        DataUnavailable: The file does not exist.
        FairlabError: The file has no term.
    """

    title = "occurrences of listed words"
    limits = "Words without context: quoting, condemning or reporting a word counts the same as using it."
    citation = "A word list from fairlab or from the user."
    paths = ("path",)
    copied = ("path",)
    built_in = ("violence",)
    outputs = ("share", "any")

    def __init__(self, *, path: str, name: str = "word_list") -> None:
        self.name = name
        file = LISTS / f"{path}.txt" if path in self.built_in else Path(path)
        if not file.is_file():
            raise DataUnavailable(
                f"{path} is not a word list; give a file of one term per line, or {', '.join(self.built_in)}"
            )
        terms = [line for line in text_lines(file) if word_pieces(line) and not line.startswith("# ")]
        if not terms:
            raise FairlabError(f"{file} contains no terms; give a file of one term per line")
        self.finder = TermFinder(terms)
        self.version = sha256(file)

    def score(self, texts: Sequence[str]) -> Array:
        """Return the share of listed words and whether any occurs, (N, 2), in [0, 1]."""
        counts = np.array([sum(1 for _ in self.finder.find(text)) for text in texts], dtype=np.float64)
        words = np.array([max(1, len(word_pieces(text))) for text in texts])
        return np.stack([np.minimum(counts / words, 1), counts > 0], axis=1)
