"""Shortcut X-ray of a labelled dataset: surface features that reveal the label.

The benchmark measures data instead of a model. It reports n-grams that are associated with a label, their positions,
the distance of documents from other labels in shortcut space, and the accuracy of a bag-of-words probe that reads only
the last field.

Source: Schuster et al. 2019, "Towards Debiasing Fact Verification Models", section 3, for the n-grams; Yang et al.
2025 (RAZOR), equations 12 and 14, for gamma; Gururangan et al. 2018, "Annotation Artifacts in Natural Language
Inference Data", section 2, for the probe of one field.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.readings import Quantity, evenly, outcome
from fairlab.benchmarks.scales import percent, points, ratio
from fairlab.data.stream.manifest import dataset_rows
from fairlab.metrics.bootstrap import mean_draws
from fairlab.metrics.lmi import LMI, association_draws, cramers_v, local_mutual_information, presence_table
from fairlab.metrics.shortcuts import TokenSpace
from fairlab.metrics.shortcuts_official import OfficialSpace
from fairlab.metrics.surface_probe import commonest_share, probe, too_little, transferred
from fairlab.protocols import DataBenchmark
from fairlab.record import Note, Outcome
from fairlab.text.papers import SCHUSTER_2019
from fairlab.text.surface_tokens import negations, surface_tokens
from fairlab.types import PERSIST, Count, Description, FairlabError, QuantityInfo, Row

PLACES = 10  # positions of the token map; the last one contains all later positions
LONGEST = 2  # maximum number of tokens in an n-gram


class Shortcuts(DataBenchmark):
    """Features of a dataset that reveal its labels.

    Quantities by subset:

    - ``claim_only``: ``accuracy`` of the probe, a logistic regression on the words and word pairs of the last field
      alone, in five folds that keep equal texts together; and its ``gain`` over the most frequent label (the headline;
      ideal: 0).
    - ``untouched``: The same quantities for a probe that is trained on the dataset and tested on the data in the
      argument ``untouched``.
    - ``negation``: ``association``, Cramer's V between the label and whether a text contains a negation. Ideal: 0.
    - ``gamma``: ``mean`` shortcut score of the documents, which is 1 minus the mean cosine to documents with other
      labels. Ideal: 0. With more than two labels there is also ``gamma_LABEL``; with two labels both values would be
      the same.

    Args:
        label: Name of the column with the label.
        fewest: Minimum number of occurrences of an n-gram in the table, at least 1.
        shown: Number of n-grams of each label and length in the table, at least 1.
        untouched: Additional labelled data, given like ``dataset``, with the same fields and label column, which no
            rewriter or filter of the dataset has seen. Its texts are left out of the probe's training. None disables
            it.
        compat: Method of computing shortcut scores: ``paper`` or ``official``, see :mod:`fairlab.metrics.shortcuts`.
        seed: Seed of the five folds.
        limit: Maximum number of documents, spread evenly over the dataset; None for all.

    Raises:
        FairlabError: A value is invalid.
    """

    version: ClassVar[int] = 1
    description = Description(
        "shortcuts",
        "Shortcuts",
        "Which surface features reveal the labels of a dataset?",
        {
            "gain": points(
                "gain",
                "accuracy from the words alone, above the commonest label's share (0: no shortcut)",
                ideal=0.0,
                headline=True,
            ),
            "accuracy": percent("accuracy", "labels that the words of the last field alone reveal"),
            "association": ratio(
                "association with the label",
                "Cramer's V of negations and labels (0: no association)",
                unit="Cramer's V",
                ideal=0.0,
                headline=True,
            ),
            "mean": QuantityInfo(
                "mean shortcut score",
                "1 minus the mean cosine to documents with other labels (0: no distance)",
                "1 - cosine",
                0.0,
                0.0,
                2.0,
            ),
        },
        topic=PERSIST,
        citation=SCHUSTER_2019,
        needs=("texts", "labels"),
    )
    vectors = None

    def __init__(
        self,
        *,
        label: str = "label",
        fewest: Count = 5,
        shown: Count = 20,
        untouched: str | None = None,
        compat: Literal["paper", "official"] = "paper",
        seed: int = 0,
        limit: int | None = None,
    ) -> None:
        self.limit, self.untouched = limit, untouched
        self.label, self.fewest, self.shown, self.seed, self.compat = label, fewest, shown, seed, compat

    def check_data(self, dataset: str, field: str | Sequence[str]) -> None:
        """Raise an error if no text can be read, or if a row has no label."""
        self._read(dataset, field)

    def measure_data(self, dataset: str, field: str | Sequence[str], embed: Any, folder: Path) -> Outcome:
        """Measure a dataset.

        Args:
            dataset: File, output of ``fairlab.augment``, ``task:NAME``, or hub dataset.
            field: Name of the column with the texts. Of several columns, the last one is measured.
            embed: Unused argument of the interface of data benchmarks.
            folder: Unused argument of the interface of data benchmarks.

        Raises:
            FairlabError: No text can be read, a row has no label, or there is only one label.
        """
        del embed, folder
        texts, labels, unread = self._read(dataset, field)
        tokens = [surface_tokens(text) for text in texts]
        space = (TokenSpace if self.compat == "paper" else OfficialSpace)(texts, labels)
        gamma = space.gamma()
        names = sorted(set(labels))
        documents = list(zip(tokens, labels, strict=True))
        found = {n: local_mutual_information(documents, n=n, fewest=self.fewest) for n in range(1, LONGEST + 1)}
        items = {f"gamma/{name}": gamma[[label == name for label in labels]] for name in names}
        for name in names:
            for entry in (one for of_label in found.values() for one in of_label[name][: self.shown]):
                items[f"lmi/{name}/{entry.ngram}"] = np.array([entry.value, entry.share, entry.count])
            shown = found[1][name][: self.shown]
            items |= {f"map/{name}/{one.ngram}": token_places(one, tokens, labels) for one in shown}
        notes = [f"{unread:,} rows of the dataset cannot be read and are left out"] if unread else []
        notes.append(f"the objective, the mean similarity of documents of different labels, is {space.objective:.6f}")
        quantities = [
            averaged(gamma, "gamma", "mean"),
            *(
                averaged(items[f"gamma/{name}"], f"gamma_{label_key(name)}", "mean")
                for name in (names if len(names) > 2 else ())
            ),
            negation(tokens, labels),
        ]
        probed = self._probe(texts, labels)
        if isinstance(probed, str):
            notes.append(probed)
        else:
            quantities = [*probed, *quantities]
        if self.untouched is not None:
            quantities = [*self._untouched(texts, labels, self.untouched, field), *quantities]
        return outcome(self.description, quantities, items=items, notes=[Note(self.name, text) for text in notes])

    def _read(self, dataset: str, field: str | Sequence[str]) -> tuple[list[str], list[str], int]:
        texts, labels, unread, reason = list[str](), list[str](), 0, ""
        for row in dataset_rows(dataset, field):
            if not isinstance(row, Row):
                unread, reason = unread + 1, reason or row.reason
                continue
            if row.extra.get(self.label) in (None, ""):
                raise FairlabError(
                    f"{row.place} of {dataset} has no '{self.label}'; give benchmark.shortcuts.label=NAME, or a label "
                    "to every row"
                )
            texts.append(row.fields[-1])
            labels.append(str(row.extra[self.label]))
        if unread and not texts:
            raise FairlabError(f"no row of {dataset} can be read: {reason}; give field=NAME or [FIRST,SECOND]")
        return evenly(texts, self.limit), evenly(labels, self.limit), unread

    def _probe(self, texts: Sequence[str], labels: Sequence[str]) -> list[Quantity] | str:
        """Return the probe's accuracy and gain over the majority label, or a sentence if there is too little data."""
        if short := too_little(labels, texts):
            return f"no probe of the last field: {short}"
        return gained(probe(texts, labels, self.seed), labels, "claim_only")

    def _untouched(
        self, texts: Sequence[str], labels: Sequence[str], dataset: str, field: str | Sequence[str]
    ) -> list[Quantity]:
        """Return the quantities of a probe that is trained on the dataset and tested on other data."""
        others, truth, _ = self._read(dataset, field)
        theirs = {text.strip().casefold() for text in others}
        kept = [place for place, text in enumerate(texts) if text.strip().casefold() not in theirs]
        trained, known = [texts[place] for place in kept], [labels[place] for place in kept]
        if short := too_little(known, trained):
            raise FairlabError(
                f"benchmark.shortcuts.untouched={dataset} leaves too little to train a probe on: {short}; give other "
                "data, or null"
            )
        return gained(transferred(trained, known, others, truth), truth, "untouched")


def gained(right: NDArray[np.float64], labels: Sequence[str], subset: str) -> list[Quantity]:
    """Return the accuracy of a probe and its gain over the most frequent label, in per cent."""
    commonest = commonest_share(labels)
    return [
        averaged(100.0 * (right - commonest), subset, "gain"),
        averaged(100.0 * right, subset, "accuracy", ideal=100.0 * commonest),
    ]


def averaged(values: NDArray[np.floating], subset: str, name: str, ideal: float | None = None) -> Quantity:
    """Return the mean of one value per document as a quantity.

    ``ideal`` is given only if it depends on the data.
    """
    return Quantity(subset, name, float(values.mean()), mean_draws(values), len(values), ideal=ideal)


def negation(tokens: Sequence[Sequence[str]], labels: Sequence[str]) -> Quantity:
    """Return the association between negations and the label."""
    table = presence_table([negations(some) > 0 for some in tokens], labels)
    draws = association_draws(table)
    value = float(cramers_v(table))
    return Quantity("negation", "association", value, draws, len(labels))


def token_places(entry: LMI, tokens: Sequence[Sequence[str]], labels: Sequence[str]) -> NDArray[np.float64]:
    """Count the occurrences of a token by position, and return the proportion in texts with the label of ``entry``.

    Returns:
        Counts and proportions (2, PLACES). A proportion is 0 if there are no occurrences.
    """
    count = np.zeros((2, PLACES))
    for some, label in zip(tokens, labels, strict=True):
        for place, token in enumerate(some):
            if token == entry.ngram:
                count[:, min(place, PLACES - 1)] += (1.0, label == entry.label)
    return np.stack([count[0], np.divide(count[1], count[0], out=np.zeros(PLACES), where=count[0] > 0)])


def label_key(name: str) -> str:
    """Return a label in the form used in the names of readings."""
    return "".join(character if character.isalnum() else "_" for character in name.casefold())
