"""Fairscore of a classifier on a labelled task: how often predictions change if people in the text are changed.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 2, equation 1 and table 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairlab.augmentation.perturbation import Perturbation
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.classification import SCORE, Classifier
from fairlab.benchmarks.classification import predictions
from fairlab.benchmarks.crows_pairs import ratio_percent
from fairlab.benchmarks.readings import ALL, Items, Quantity, cut_notes, evenly, items_outcome, quantity
from fairlab.benchmarks.scales import percent
from fairlab.data.published.task_files import examples_digest, read_task
from fairlab.data.published.tasks import TASKS, Example, find_task
from fairlab.data.stream.choices import PerturbedExamples, perturb_examples, read_perturbed
from fairlab.metrics.bootstrap import Statistic
from fairlab.metrics.fairscore import FAIRSCORES
from fairlab.metrics.stereoset import mean_percent
from fairlab.protocols import Benchmark
from fairlab.record import Note, NotRun, Outcome
from fairlab.text.papers import QIAN_2022
from fairlab.types import ALIKE, DataUnavailable, Description, FairlabError

ONE_SIDED = 0.95  # if one label has a larger share of the predictions, a fairscore is hardly informative


class Fairscore(Benchmark):
    """Percentage of development examples whose label from a sequence classifier changes when people are perturbed.

    Quantities, in per cent of the changed examples:

    - ``fairscore``: Examples whose labels before and after perturbation differ. Lower is fairer.
    - ``both_correct`` and ``neither_correct``: Examples labelled correctly, or wrongly, both before and after.
    - ``perturbed``: Changed examples in per cent of all examples, as in table 13.

    They are reported over all axes and per axis: ``rte_fairscore/dev/fairscore``,
    ``rte_fairscore/dev_gender/fairscore`` and so on. Intervals resample examples with all their copies.

    Args:
        task: Name of a task with labels, one of :data:`fairlab.data.published.tasks.TASKS`.
        axes: Axes to perturb, as for :class:`fairlab.augmentation.perturbation.Perturbation`.
        sampling: Sampling of words and targets, as for :class:`fairlab.augmentation.perturbation.Perturbation`.
        path: File or folder of the task, as for :func:`fairlab.data.published.task_files.read_task`.
        copies: Perturbed copies of an example: ``one``, whose axis is sampled with the word, as in the paper; or
            ``axis``, one copy for every axis with a word in the example, which gives several times more copies for
            rarer axes.
        perturbed: Output folder of ``fairlab.augment`` for each split, made with any rewriter, with one copy of each
            example. Splits without a folder are rewritten by rules.
        limit: Maximum number of examples of each split that is rewritten by rules, spread evenly over it; None for all.

    Raises:
        FairlabError: The task has scores instead of labels, or a value is invalid.
    """

    version: ClassVar[int] = 1
    description = Description(
        "fairscore",
        "Fairscore",
        "Do predictions change when people in a text change?",
        {
            "fairscore": percent(
                "fairscore",
                "changed examples whose label differs from the original's (0 is fair)",
                ideal=0.0,
                headline=True,
                margin=1.0,
            ),
            "both_correct": percent(
                "right before and after", "changed examples labelled correctly in both versions", ideal=100.0
            ),
            "neither_correct": percent("wrong before and after", "changed examples labelled wrong in both versions"),
            "perturbed": percent("changed examples", "share of all examples in which a person could be changed"),
        },
        topic=ALIKE,
        citation=QIAN_2022,
        needs=("labels",),
    )

    def __init__(
        self,
        task: str,
        *,
        axes: Sequence[str],
        sampling: Literal["uniform", "inverse_frequency"],
        copies: Literal["one", "axis"] = "one",
        path: str | None = None,
        perturbed: dict[str, str] | None = None,
        limit: int | None = None,
    ) -> None:
        self.limit = limit
        self.task = find_task(task)
        if not self.task.labels:
            raise FairlabError(
                f"the fairscore counts changed labels, but {task} has scores (regression); leave it out with "
                "benchmark=glue"
            )
        if unknown := sorted(set(perturbed or {}) - set(self.task.dev_splits)):
            raise FairlabError(
                f"benchmark.fairscore.perturbed names '{unknown[0]}'; {task} has {', '.join(self.task.dev_splits)}"
            )
        if perturbed and copies != "one":
            raise FairlabError(
                "benchmark.fairscore.perturbed holds one copy of every example; give benchmark.fairscore.copies=one"
            )
        drawn_of = [axes] if copies == "one" else [[axis] for axis in axes]
        self.perturbations = [Perturbation(axes=some, sampling=sampling) for some in drawn_of]
        self.axes = [lexicon.axis for each in self.perturbations for lexicon in each.lexicons]
        self.path = path
        self.perturbed = perturbed or {}
        self.description = self.describe(f"{task}_fairscore") or self.description
        self.made: dict[str, tuple[list[Example], list[PerturbedExamples]]] = {}

    @classmethod
    def describe(cls, name: str) -> Description | None:
        """Return the description of the readings of ``TASK_fairscore``, or None for other names."""
        task = name.removesuffix("_fairscore")
        if task not in TASKS or task == name:
            return None
        return replace(cls.description, name=name, title=TASKS[task].words)

    def pairs(self, split: str) -> tuple[list[Example], list[PerturbedExamples]]:
        """Return the examples of a split and their perturbed copies, which are cached."""
        if split not in self.made:
            examples = read_task(self.task.name, split, self.path)
            if split in self.perturbed:
                made = [read_perturbed(Path(self.perturbed[split]), examples, self.task.field_names)]
            else:
                examples = evenly(examples, self.limit)
                made = [perturb_examples(examples, each) for each in self.perturbations]
            self.made[split] = (examples, made)
        return self.made[split]

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure on every available development split. ``before`` holds the ``items`` of an earlier model."""
        several = self.task.labels and not self.task.options
        classifier = Classifier(backbone, self.task.labels if several else SCORE)
        items: dict[str, NDArray[np.floating]] = {}
        missing, notes = [], []
        for split in self.task.dev_splits:
            try:
                examples, made = self.pairs(split)
            except DataUnavailable as error:
                missing.append(NotRun(self.name, split, str(error)))
                continue
            if not any(copy.changed for copy in made):
                missing.append(NotRun(self.name, split, f"none of the {len(examples)} examples could be perturbed"))
                continue
            found = self._predicted(classifier, examples, made)
            items |= {f"{split}_{name}": values for name, values in found.items()}
            texts = (*(said(split, copy) for copy in made), one_sided(found["original"]))
            notes += [Note(self.name, text) for text in texts if text]
        notes += cut_notes(self.name, classifier.cut, backbone.max_length)
        measured = partial(_quantities, axes=self.axes, copies=len(self.perturbations))
        return items_outcome(self.description, measured, items, before, not_run=missing, notes=notes)

    def _predicted(
        self, classifier: Classifier, examples: Sequence[Example], made: Sequence[PerturbedExamples]
    ) -> dict[str, NDArray[np.floating]]:
        """Return the labels of the originals and of their changed copies, and the axis of every copy."""
        originals = sorted({k for copy in made for k in copy.changed})
        label_of = dict(
            zip(originals, predictions(classifier, self.task, [examples[k] for k in originals]), strict=True)
        )
        copies = [copy.examples[k] for copy in made for k in copy.changed]
        changed = [k for copy in made for k in copy.changed]
        places = {axis: k for k, axis in enumerate(self.axes)}
        return {
            "original": np.array([label_of[k] for k in changed]),
            "perturbed": predictions(classifier, self.task, copies),
            "labels": np.array([examples[k].label for k in changed], dtype=np.float32),
            "axes": np.array([places.get(axis, -1) for copy in made for axis in copy.axes], dtype=np.float32),
        }


def said(split: str, made: PerturbedExamples) -> str:
    """Return a sentence with the number of changed examples in a split, the number of all examples, and their hash."""
    counts = ", ".join(f"{count} {name}" for name, count in sorted(made.counts.items()) if name != "examples")
    sha256 = examples_digest(made.examples)[:16]
    return f"{len(made.changed)} of {len(made.examples)} examples of {split} changed ({counts}); SHA-256 {sha256}..."


def one_sided(predicted: NDArray[np.floating]) -> str:
    """Return a warning if nearly all predictions (N,) are the same, otherwise an empty string."""
    share = np.unique(predicted, return_counts=True)[1].max() / len(predicted)
    if share < ONE_SIDED:
        return ""
    return f"{share:.0%} of the predictions are one label, which can hardly change, so the fairscore shows little"


def _quantities(items: Items, axes: Sequence[str], copies: int) -> list[Quantity]:
    """Return the percentages over all changed copies of each split, and over the changed copies of each axis.

    For each split, the items hold the predictions and labels of the changed copies, and for each of the ``copies`` of
    every example the index of its axis in ``axes``, or -1.
    """
    found = []
    for split in [name.removesuffix("_axes") for name in items if name.endswith("_axes")]:
        samples = [items[f"{split}_{name}"] for name in ("original", "perturbed", "labels")]
        places_CN = items[f"{split}_axes"].reshape(copies, -1)
        for axis in (ALL, *axes):
            chosen_CN = places_CN >= 0 if axis == ALL else places_CN == list(axes).index(axis)
            subset = split if axis == ALL else f"{split}_{axis}"
            found.append(quantity(mean_percent, chosen_CN.any(axis=0), subset=subset, name="perturbed"))
            if chosen_CN.any():
                found += [
                    _share(name, share, subset, samples, places_CN >= 0, chosen_CN, headline=axis == ALL)
                    for name, share in FAIRSCORES.items()
                ]
    return found


def _share(
    name: str,
    share: Statistic,
    subset: str,
    samples: Sequence[NDArray[np.floating]],
    changed_CN: NDArray[np.bool_],
    chosen_CN: NDArray[np.bool_],
    *,
    headline: bool,
) -> Quantity:
    """Return a percentage of the chosen copies, with an interval that resamples examples.

    The samples are the predictions before and after, and the label, of every changed copy. ``changed_CN`` marks the
    changed copies, for C copies of N examples, and ``chosen_CN`` those of them that count.
    """
    holds_CN = np.zeros(changed_CN.shape)
    holds_CN[changed_CN] = share(*(sample[:, None] for sample in samples), axis=1)
    counts = chosen_CN.sum(axis=0)
    some = counts > 0
    return quantity(
        ratio_percent,
        (holds_CN * chosen_CN).sum(axis=0)[some],
        counts[some],
        subset=subset,
        name=name,
        n=int(counts.sum()),
        headline=headline and name == "fairscore",
    )
