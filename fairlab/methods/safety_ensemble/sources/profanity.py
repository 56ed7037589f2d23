"""Profanity by the weights of the package alt-profanity-check."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from fairlab.methods.safety_ensemble.sources.base import Array, Source
from fairlab.methods.safety_ensemble.sources.word_classifier import WordClassifier, read_classifier
from fairlab.types import need_extra


class Profanity(Source):
    """Probability that a text is offensive, by alt-profanity-check: a linear SVM on weighted words, calibrated.

    The package's weights are read where it is installed, and its code is not run: it would import scikit-learn.

    Raises:
        FairlabError: the package is not installed; in ``score``, when its files are not those expected.
    """

    title = "profanity by alt-profanity-check"
    limits = "A linear model of words in English: it takes quoted and reclaimed words for offence, and sees no context."
    citation = "Dimitrios Mistriotis and Victor Zhou: alt-profanity-check, a package of Python."
    name = "profanity"
    outputs = ("offensive",)

    def __init__(self) -> None:
        need_extra("safety", f"the source {self.name}", "profanity_check")
        self.version = metadata.version("alt-profanity-check")

    @cached_property
    def classifier(self) -> WordClassifier:
        """Reads the weights when it is first asked for."""
        found = find_spec("profanity_check")
        assert found is not None
        assert found.origin is not None
        return read_classifier(Path(found.origin).parent / "data")

    def score(self, texts: Sequence[str]) -> Array:
        """Scores (N, 1) in [0, 1]."""
        return self.classifier(texts)[:, None]
