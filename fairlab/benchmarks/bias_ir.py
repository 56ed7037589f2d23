"""Bias-IR: whether a search by embeddings prefers the male or the female version of a document.

Source: Krieg et al. 2023, "Grep-BiasIR" (the data; it comes with no metric code); the male ratio per category and its
mean deviation as in "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", tables 4 and 5.
Ties, intervals, the sign test and the other quantities are this project's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.measured import measured
from fairlab.data.bias_ir import CATEGORIES, GENDERS, Document, Query, read_bias_ir
from fairlab.data.sources import locate
from fairlab.metrics.bootstrap import RESAMPLES, mean, percentile_interval
from fairlab.metrics.proportions import sign_test_p, wilson_interval
from fairlab.record import NotRun, Outcome, Reading
from fairlab.types import DataUnavailable, FairlabError

AVERAGE = "average"


class BiasIR:
    """Which gender's document lies closest to a query that names none, by cosine.

    Quantities per category: ``male_ratio`` (share of queries whose relevant male document is more similar than the
    relevant female one, a tie is one half; ideal 0.5) and ``sign_test_p`` (that ratio against a fair coin).

    Quantities of the subset ``average``, only where all seven categories could be read: ``deviation`` (mean over
    categories of the male ratio's distance from 0.5; ideal 0, but fair coins on so few queries give 0.10 on average),
    ``neutral_first`` (share of queries whose neutral relevant document is the most similar of the three, ties shared;
    the ideal of 1/3 is chance: none of the three preferred), ``margin`` (mean cosine to the male less that to the
    female document; ideal 0) and ``reciprocal_rank`` (utility: mean over queries and genders of one over the rank of
    the relevant document among all documents of its gender in the collection, ties at their mean rank; ideal 1).
    Documents of no one gender, 5 of the 702, take no part.

    Items per category: the margin of every query, in file order.

    Args:
        document: what is embedded of a document; the title and the text are joined by a blank.
    """

    name = "bias_ir"

    def __init__(self, document: Literal["title_and_document", "document"]) -> None:
        if document not in ("title_and_document", "document"):
            raise FairlabError(f"bias_ir.document must be title_and_document or document, not '{document}'")
        self.document = document

    def measure(self, backbone: Backbone, before: Mapping[str, NDArray[np.float32]] | None = None) -> Outcome:
        """Measure every category that can be had, and the average of all; ``before`` is not used."""
        outcome = Outcome()
        categories: dict[str, list[Query]] = {}
        for subset, category in CATEGORIES.items():
            try:
                categories[subset] = read_bias_ir(locate(f"bias_ir/queries-documents_{category}.csv"))
            except DataUnavailable as error:
                outcome.not_run.append(NotRun(self.name, subset, str(error)))
        if not categories:
            outcome.not_run.append(NotRun(self.name, AVERAGE, "no category could be read"))
            return outcome
        similarities = self._similarities(backbone, [query for queries in categories.values() for query in queries])
        relevant_QG = np.stack([similarities[gender].diagonal() for gender in GENDERS], axis=1)
        ends = np.cumsum([len(queries) for queries in categories.values()])
        by_category = dict(zip(categories, np.split(relevant_QG, ends[:-1]), strict=True))
        for subset, cosines_QG in by_category.items():
            outcome.items[subset] = margins(cosines_QG).astype(np.float32)
            outcome.readings += category_readings(subset, cosines_QG)
        if outcome.not_run:
            missing = ", ".join(entry.subset for entry in outcome.not_run)
            outcome.not_run.append(NotRun(self.name, AVERAGE, f"not averaged over missing categories: {missing}"))
        else:
            outcome.readings += average_readings(list(by_category.values()), reciprocal_ranks(similarities))
        return outcome

    def _similarities(self, backbone: Backbone, queries: Sequence[Query]) -> dict[str, NDArray[np.float64]]:
        """Per gender, cosines (Q, D) of all queries to all its documents; the first Q are the relevant ones in order.

        Of equal documents the cosines are equal to the last bit: ties depend on it.
        """
        documents = {gender: self._documents(queries, gender) for gender in GENDERS}
        texts = [[query.text for query in queries], *documents.values()]
        embeddings = backbone.embed([text for part in texts for text in part], progress=self.name).double()
        asked, *found = embeddings.split([len(part) for part in texts])
        return {gender: cosines(asked, part) for gender, part in zip(documents, found, strict=True)}

    def _documents(self, queries: Sequence[Query], gender: str) -> list[str]:
        documents = [query.relevant[gender] for query in queries]
        documents += [query.non_relevant[gender] for query in queries if gender in query.non_relevant]
        return [self._text(document) for document in documents]

    def _text(self, document: Document) -> str:
        return f"{document.title} {document.text}" if self.document == "title_and_document" else document.text


def cosines(queries: Tensor, documents: Tensor) -> NDArray[np.float64]:
    """Cosines (Q, D); one query at a time, since a matrix product would round equal documents differently."""
    return torch.stack([torch.cosine_similarity(query, documents, dim=-1) for query in queries]).numpy()


def margins(cosines_QG: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosine to the male document less that to the female one, per query; [-2, 2], ideal 0, positive prefers male."""
    return cosines_QG[:, 0] - cosines_QG[:, 1]


def male_first(cosines_QG: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for each query that prefers the male document to the female one, 0.5 for a tie, else 0."""
    return (np.sign(margins(cosines_QG)) + 1) / 2


def neutral_first(cosines_QG: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for each query most similar to the neutral document, 1/k where k documents share the first place, else 0."""
    first = cosines_QG == cosines_QG.max(axis=1, keepdims=True)
    return first[:, 2] / first.sum(axis=1)


def reciprocal_ranks(similarities: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Per query, mean over genders of 1 / rank of the relevant document: (0, 1], ideal 1.

    Shapes: Q queries; per gender cosines (Q, D), of which column q is query q's relevant document; to (Q,).
    """
    ranks = [rankdata(-cosines_QD, axis=1).diagonal() for cosines_QD in similarities.values()]
    return (1 / np.stack(ranks)).mean(axis=0)


def category_readings(subset: str, cosines_QG: NDArray[np.float64]) -> list[Reading]:
    """Male ratio and sign test of one category from cosines (Q, 3) to the relevant male, female, neutral documents."""
    signs = np.sign(margins(cosines_QG))
    wins, losses = int((signs > 0).sum()), int((signs < 0).sum())
    p = sign_test_p(wins, losses)
    return [
        _share(subset, "male_ratio", male_first(cosines_QG), ideal=0.5),
        Reading(BiasIR.name, subset, "sign_test_p", p, "p-value", None, wins + losses, math.nan, math.nan),
    ]


def average_readings(categories: Sequence[NDArray[np.float64]], ranks: NDArray[np.float64]) -> list[Reading]:
    """Readings over all categories, from the cosines (Q, 3) of each and the reciprocal ranks of all queries."""
    cosines_QG = np.concatenate(categories)
    wins = [male_first(category) for category in categories]
    low, high = deviation_interval(wins)
    value = float(np.mean([abs(outcomes.mean() - 0.5) for outcomes in wins]))
    reading = partial(measured, mean, benchmark=BiasIR.name, subset=AVERAGE)
    return [
        Reading(BiasIR.name, AVERAGE, "deviation", value, "ratio", 0.0, len(cosines_QG), low, high, headline=True),
        _share(AVERAGE, "neutral_first", neutral_first(cosines_QG), ideal=1 / 3),
        reading(margins(cosines_QG), quantity="margin", unit="cosine", ideal=0.0),
        reading(ranks, quantity="reciprocal_rank", unit="reciprocal rank", ideal=1.0),
    ]


def deviation_interval(wins: Sequence[NDArray[np.float64]], seed: int = 0) -> tuple[float, float]:
    """95 % percentile interval of the mean deviation from 0.5, queries resampled within their category.

    Resampling spreads the ratios, which only adds to a mean of absolute deviations: the interval lies high, all the
    more the closer the deviation is to 0, and may leave the value out.
    """
    rng = np.random.default_rng(seed)
    ratios_CR = [rng.choice(outcomes, size=(RESAMPLES, len(outcomes))).mean(axis=1) for outcomes in wins]
    return percentile_interval(np.abs(np.stack(ratios_CR) - 0.5).mean(axis=0))


def _share(subset: str, quantity: str, outcomes: NDArray[np.float64], ideal: float) -> Reading:
    """A share of queries with its Wilson interval."""
    n = len(outcomes)
    low, high = wilson_interval(float(outcomes.sum()), n)
    return Reading(BiasIR.name, subset, quantity, float(outcomes.mean()), "ratio", ideal, n, low, high)
