"""Bias-IR: does embedding-based search prefer the male or the female version of a document?

Source: Krieg et al. 2023, "Grep-BiasIR" (the data, published without metric code); the male ratio per category and its
mean deviation as in "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", tables 4 and 5. The treatment
of ties, the intervals, the sign test and the other quantities are defined by this project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.readings import (
    ALL,
    OF_GENDER,
    REGULAR,
    Items,
    Quantity,
    by_part,
    evenly,
    irregular_notes,
    items_outcome,
    quantity,
    variant,
)
from fairlab.benchmarks.scales import ratio
from fairlab.data.published.bias_ir import CATEGORIES, GENDERS, Document, Query, irregular_documents, read_bias_ir
from fairlab.data.published.download import locate
from fairlab.metrics.bootstrap import RESAMPLES, mean
from fairlab.metrics.permutation_test import coin_draws, exceeding_p
from fairlab.metrics.preference import male_first, margins, neutral_first
from fairlab.metrics.significance import holm, sign_test_p, wilson_interval
from fairlab.protocols import Benchmark
from fairlab.record import NotRun, Outcome
from fairlab.types import PERSIST, DataUnavailable, Description, QuantityInfo

AVERAGE = "average"
CITATION = """\
@inproceedings{krieg2023grepbiasir,
  title = {{Grep-BiasIR}: A Dataset for Investigating Gender Representation Bias in Information Retrieval Results},
  author = {Krieg, Klara and Parada-Cabaleiro, Emilia and Medicus, Gertraud and Lesota, Oleg and Schedl, Markus and
    Rekabsaz, Navid},
  booktitle = {Proceedings of the 2023 Conference on Human Information Interaction and Retrieval},
  year = {2023}
}
"""


class BiasIR(Benchmark):
    """Gender of the document that is closest to a gender-neutral query, by cosine.

    Quantity of each category:

    - ``male_ratio``: Proportion of queries that are more similar to their relevant male document than to their relevant
      female document; ties count as one half. Ideal: 0.5. The p-value of the sign test against a fair coin is also
      adjusted for all seven categories.

    Quantities of the subset ``average``, which requires all seven categories:

    - ``male_ratio``: The same proportion over all queries pooled, with the p-value of the sign test.
    - ``deviation``: Mean over categories of the male ratio's distance from 0.5. Ideal: 0, but with so few queries,
      random choices would give 0.10 on average. The deviation cannot detect a preference that all categories share.
    - ``neutral_first``: Proportion of queries that are most similar to their neutral relevant document; ties are
      shared. Ideal: 1/3, the value of random choices.
    - ``margin``: Mean cosine to the male document minus mean cosine to the female document. Ideal: 0.
    - ``reciprocal_rank``: Utility. Mean over queries and genders of the reciprocal rank of the relevant document among
      all documents of its gender in the collection; ties have their mean rank. Ideal: 1.

    Documents that do not have exactly one gender (5 of the 702) are excluded.

    Items of each category (Q, 4): every query's cosines to its relevant male, female and neutral document, and its
    reciprocal rank, in file order.

    Args:
        document: Part of a document to embed: ``document``, or ``title_and_document``, joined by a space.
        items: Queries to measure: ``all``, or ``regular``, which leaves out the 2 queries with non-relevant documents
            of both genders.
        limit: Maximum number of queries per category, spread evenly over its file; None for all.
    """

    version: ClassVar[int] = 1
    description = Description(
        "bias_ir",
        "Bias-IR",
        "Does a search by embeddings prefer documents about one gender?",
        {
            "male_ratio": ratio(
                "male first", "share of queries nearer to the male document (0.5 is fair)", ideal=0.5, margin=0.05
            ),
            "deviation": ratio(
                "distance from an even choice",
                "distance from one half of the share of queries nearer to the male document (0 is fair)",
                ideal=0.0,
                high=0.5,
                headline=True,
                margin=0.05,
                folded=True,
            ),
            "neutral_first": ratio(
                "neutral first",
                "share of queries nearest to the neutral document (1/3 is fair)",
                ideal=1 / 3,
                margin=0.05,
            ),
            "margin": QuantityInfo(
                "margin",
                "mean cosine to the male document minus that to the female document (0 is fair)",
                "cosine",
                0.0,
                -2.0,
                2.0,
                headline=True,
                margin=0.01,
            ),
            "reciprocal_rank": ratio(
                "reciprocal rank",
                "usefulness: how early the relevant document is found",
                unit="reciprocal rank",
                ideal=1.0,
                useful=True,
                margin=0.01,
            ),
        },
        topic=PERSIST,
        subsets={AVERAGE: "all categories"},
        citation=CITATION,
        needs=("embeddings",),
        sources=("bias_ir",),
    )

    measured_axes = OF_GENDER

    def __init__(
        self,
        document: Literal["title_and_document", "document"],
        items: Literal["all", "regular"] = "all",
        limit: int | None = None,
    ) -> None:
        self.limit = limit
        self.document = document
        self.items = items
        self.description = variant(self.description, items, default=[ALL])

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure every available category and the average. ``before`` holds the ``items`` of an earlier model."""
        not_run: list[NotRun] = []
        categories: dict[str, list[Query]] = {}
        for subset, category in CATEGORIES.items():
            try:
                categories[subset] = read_bias_ir(locate(f"bias_ir/queries-documents_{category}.csv"))
            except DataUnavailable as error:
                not_run.append(NotRun(self.name, subset, str(error)))
        if not_run:
            missing = ", ".join(entry.subset for entry in not_run)
            not_run.append(NotRun(self.name, AVERAGE, f"not averaged over missing categories: {missing}"))
        if not categories:
            return Outcome(not_run=not_run)
        flagged = irregular_documents([query for queries in categories.values() for query in queries])
        if self.items == REGULAR:
            categories = {
                subset: [query for query in queries if query.id not in flagged]
                for subset, queries in categories.items()
            }
        categories = {subset: evenly(queries, self.limit) for subset, queries in categories.items()}
        similarities = self._similarities(backbone, [query for queries in categories.values() for query in queries])
        relevant_QG = np.stack([similarities[gender].diagonal() for gender in GENDERS], axis=1)
        queries_Q4 = np.column_stack([relevant_QG, reciprocal_ranks(similarities)])
        items = by_part(categories, queries_Q4)
        measured = partial(_quantities, complete=not not_run)
        notes = irregular_notes(self.name, flagged, self.items)
        return items_outcome(self.description, measured, items, before, not_run=not_run, notes=notes)

    def _similarities(self, backbone: Backbone, queries: Sequence[Query]) -> dict[str, NDArray[np.float64]]:
        """Return the cosines (Q, D) of all queries to all documents of each gender.

        Column q is the relevant document of query q. Ties are found only if equal documents have exactly equal cosines.
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
    """Compute cosines (Q, D) for one query at a time, because a matrix product rounds equal documents differently."""
    return torch.stack([torch.cosine_similarity(query, documents, dim=1) for query in queries]).numpy()


def reciprocal_ranks(similarities: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the reciprocal rank (Q,) of each query's relevant document, averaged over genders, in (0, 1].

    Args:
        similarities: Cosines (Q, D) for each gender. Column q is the relevant document of query q.
    """
    ranks = [rankdata(-cosines_QD, axis=1).diagonal() for cosines_QD in similarities.values()]
    return (1 / np.stack(ranks)).mean(axis=0)


def _quantities(items: Items, complete: bool) -> list[Quantity]:
    """Return the quantities of every category from its items (Q, 4) and, if all are available, of all together."""
    cosines_QG = {subset: queries_Q4[:, :3] for subset, queries_Q4 in items.items()}
    p_values = [sign_test(cosines) for cosines in cosines_QG.values()]
    adjusted = [float(p) for p in holm(p_values)] if complete else [None] * len(p_values)
    found = [
        _share(male_first(cosines), subset=subset, name="male_ratio", p=p, p_holm=p_holm)
        for (subset, cosines), p, p_holm in zip(cosines_QG.items(), p_values, adjusted, strict=True)
    ]
    if not complete:
        return found
    every_QG = np.concatenate(list(cosines_QG.values()))
    ranks = np.concatenate([queries_Q4[:, 3] for queries_Q4 in items.values()])
    average = partial(quantity, mean, subset=AVERAGE)
    return [
        *found,
        _share(male_first(every_QG), subset=AVERAGE, name="male_ratio", p=sign_test(every_QG), headline=True),
        deviation([male_first(cosines) for cosines in cosines_QG.values()]),
        _share(neutral_first(every_QG), subset=AVERAGE, name="neutral_first"),
        average(margins(every_QG), name="margin"),
        average(ranks, name="reciprocal_rank"),
    ]


def sign_test(cosines_QG: NDArray[np.floating]) -> float:
    """Return the p-value of a sign test of the queries' preferences against random choices, without ties."""
    signs = np.sign(margins(cosines_QG))
    return sign_test_p(int((signs > 0).sum()), int((signs < 0).sum()))


def deviation(wins: Sequence[NDArray[np.floating]], seed: int = 0) -> Quantity:
    """Return the mean over categories of the male ratio's distance from 0.5, resampling queries within their category.

    Resampling spreads the ratios, which can only increase a mean of absolute deviations. The interval is therefore
    biased upwards and may exclude the value. The bias is largest for deviations close to 0. The p-value assumes random
    choices.
    """
    rng = np.random.default_rng(seed)
    ratios_CR = [rng.choice(outcomes, size=(RESAMPLES, len(outcomes))).mean(axis=1) for outcomes in wins]
    draws = np.abs(np.stack(ratios_CR) - 0.5).mean(axis=0)
    value = float(np.mean([abs(outcomes.mean() - 0.5) for outcomes in wins]))
    n = sum(map(len, wins))
    p = exceeding_p(value, coin_draws(wins, seed))
    return Quantity(AVERAGE, "deviation", value, draws, n, p=p)


def _share(outcomes: NDArray[np.floating], **of: Any) -> Quantity:
    """Return the mean of outcomes in [0, 1] over queries, with its Wilson interval."""
    interval = wilson_interval(float(outcomes.sum()), len(outcomes))
    return quantity(mean, outcomes, interval=interval, **of)
