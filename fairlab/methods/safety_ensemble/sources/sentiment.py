"""Sentiment scores from VADER's rules and word list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np

from fairlab.methods.safety_ensemble.sources.base import Array, Source
from fairlab.types import need_extra


class Sentiment(Source):
    """Source of sentiment scores from VADER's rules and word list.

    VADER is not a safety classifier, but harmful texts usually sound negative.

    Raises:
        FairlabError: The package is not installed.
    """

    title = "sentiment according to VADER"
    limits = "Rules and a word list for English social media; negative words count regardless of their target."
    citation = """@inproceedings{hutto2014vader,
  title = {{VADER}: A Parsimonious Rule-Based Model for Sentiment Analysis of Social Media Text},
  author = {Hutto, C. J. and Gilbert, Eric},
  booktitle = {Proceedings of the International {AAAI} Conference on Web and Social Media},
  year = {2014}
}"""
    name = "sentiment"
    outputs = ("negative", "neutral", "positive", "compound")

    def __init__(self) -> None:
        need_extra("safety", f"the source {self.name}", "vaderSentiment")
        self.version = metadata.version("vaderSentiment")

    @cached_property
    def analyser(self) -> Any:
        """Return the analyser, whose word list is read on first use."""
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

        return SentimentIntensityAnalyzer()

    def score(self, texts: Sequence[str]) -> Array:
        """Return the scores (N, 4): shares of negative, neutral and positive words, and the compound score.

        The shares are in [0, 1], and the compound score is in [-1, 1].
        """
        found = [self.analyser.polarity_scores(text) for text in texts]
        return np.array([[one[key] for key in ("neg", "neu", "pos", "compound")] for one in found])
