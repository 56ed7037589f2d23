"""Profanity scores with the weights of the package alt-profanity-check."""

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
    """Source of the probability that a text is offensive, according to alt-profanity-check.

    The classifier is a calibrated linear SVM on tf-idf-weighted words.

    The weights are read from the installed package, but its code is not run, because it would import scikit-learn.

    Raises:
        FairlabError: The package is not installed or, in ``score``, its files differ from the expected ones.
    """

    title = "profanity according to alt-profanity-check"
    limits = (
        "A linear model of English words: quoted and reclaimed words count as offensive, because context is ignored."
    )
    citation = "Dimitrios Mistriotis and Victor Zhou: alt-profanity-check, a Python package."
    name = "profanity"
    outputs = ("offensive",)

    def __init__(self) -> None:
        need_extra("safety", f"the source {self.name}", "profanity_check")
        self.version = metadata.version("alt-profanity-check")

    @cached_property
    def classifier(self) -> WordClassifier:
        """Return the classifier, whose weights are read on first use."""
        found = find_spec("profanity_check")
        assert found is not None
        assert found.origin is not None
        return read_classifier(Path(found.origin).parent / "data")

    def score(self, texts: Sequence[str]) -> Array:
        """Return the probability that each text is offensive, (N, 1)."""
        return self.classifier(texts)[:, None]
