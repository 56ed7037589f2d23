"""Utility of a language model: perplexity on plain text, or pseudo-perplexity if the model is a masked LM.

Source: Salazar et al. 2020, "Masked Language Model Scoring", section 2.3 (pseudo-perplexity).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.likelihood import likelihood
from fairlab.backbones.masked_lm import MaskedLM
from fairlab.benchmarks.readings import Items, Quantity, evenly, items_outcome, quantity, sampled_items
from fairlab.data.published.download import locate
from fairlab.metrics.perplexity import perplexity
from fairlab.protocols import Benchmark
from fairlab.record import Outcome
from fairlab.text.reading import text_lines
from fairlab.types import KEPT, Description, FairlabError, QuantityInfo

DEFAULT = "corpora/newstest/newstest2013.en"
CITATION = """\
@inproceedings{salazar2020masked,
  title = {Masked Language Model Scoring},
  author = {Salazar, Julian and Liang, Davis and Nguyen, Toan Q. and Kirchhoff, Katrin},
  booktitle = {Proceedings of the 58th Annual Meeting of the Association for Computational Linguistics},
  year = {2020}
}
"""
OF_TOKENS = QuantityInfo(
    "perplexity",
    "how unlikely each token is to the model, given those before it (1 is best)",
    "perplexity",
    1.0,
    low=1.0,
    useful=True,
)


class Perplexity(Benchmark):
    """Perplexity of a language model on the lines of a text file.

    Quantity of the subset ``text``: ``pseudo_perplexity`` of a masked LM (each token given all other tokens of its
    line) or ``perplexity`` of a causal LM (each token given the preceding ones). Both are the exponential of the mean
    negative log-likelihood per token, which is at least 1; ideal: 1. The two quantities cannot be compared with each
    other. Values of models with different tokenizers cannot be compared either. Intervals resample lines.

    Args:
        path: UTF-8 text file with one text per line; None for the news sentences of WMT 2013.
        lines: Number of lines to measure, sampled with ``seed``, at least 2; None for all.
        seed: Seed for the sampled lines.
        limit: Maximum number of these lines, spread evenly; None for all.
    """

    version: ClassVar[int] = 1
    description = Description(
        "perplexity",
        "Perplexity",
        "How well does a language model predict running text?",
        {
            "perplexity": OF_TOKENS,
            "pseudo_perplexity": replace(
                OF_TOKENS,
                label="pseudo-perplexity",
                meaning="how unlikely each token is to the model, given all others (1 is best)",
                unit="pseudo-perplexity",
            ),
        },
        topic=KEPT,
        citation=CITATION,
        needs=("token_log_probabilities",),
        smoke={"lines": 8},
    )

    def __init__(self, path: str | None, lines: int | None, seed: int = 0, limit: int | None = None) -> None:
        if lines is not None and lines < 2:
            raise FairlabError(f"perplexity.lines must be at least 2, not {lines}")
        self.path = path
        self.lines = lines
        self.seed = seed
        self.limit = limit

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure the model. ``before`` holds the ``items`` of an earlier measurement."""
        scorer = likelihood(backbone)  # done first, so that a model without a head is refused at once
        texts = evenly(read_lines(locate(DEFAULT, self.path), self.lines, self.seed), self.limit)
        if isinstance(scorer, MaskedLM):
            name = "pseudo_perplexity"
            scored = scorer.pseudo_log_likelihoods(scorer.tokenize(texts), progress=self.name)
        else:
            name = "perplexity"
            scored = scorer.log_likelihoods(texts, progress=self.name)
        items = {"log_likelihoods": scored.sums, "tokens": scored.counts.astype(np.float64)}
        return items_outcome(self.description, partial(_quantities, name=name), items, before)


def read_lines(path: Path, limit: int | None, seed: int) -> list[str]:
    """Read the non-empty lines of a text file in file order, or a sample of ``limit`` lines.

    Raises:
        FairlabError: The file is not UTF-8, or contains fewer than two lines of text.
    """
    texts = [line.strip() for line in text_lines(path) if line.strip()]
    if len(texts) < 2:
        raise FairlabError(f"{path} contains {len(texts)} lines of text; perplexity needs at least 2 for an interval")
    return sampled_items(texts, limit, seed)


def _quantities(items: Items, name: str) -> list[Quantity]:
    samples = (items["log_likelihoods"], items["tokens"])
    return [quantity(perplexity, *samples, subset="text", name=name, n=int(items["tokens"].sum()))]
