"""Fairscore of a classifier on a labelled task: predictions that change when people change.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 2, equation 1 and table 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.augmentation.perturbation import Perturbation
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.classification import SCORE, Classifier
from fairlab.benchmarks.classification import predictions
from fairlab.benchmarks.readings import ALL, Items, Quantity, cut_notes, evenly, outcome, quantity
from fairlab.data.published.task_files import examples_digest, read_task
from fairlab.data.published.tasks import Example, find_task
from fairlab.data.stream.choices import PerturbedExamples, perturb_examples, read_perturbed
from fairlab.metrics.bootstrap import Statistic
from fairlab.metrics.fairscore import FAIRSCORES
from fairlab.record import Note, NotRun, Outcome
from fairlab.types import DataUnavailable, FairlabError

ONE_SIDED = 0.95  # share of one label among predictions from which on a fairscore says little


class Fairscore:
    """How often a sequence classifier's label changes between development examples and their perturbed versions.

    Quantities, in per cent of the examples that really changed: ``fairscore`` (differing labels; lower is fairer),
    ``both_correct`` and ``neither_correct``; and ``perturbed``, how many those are of all, as in table 13. They are
    given for all of them and for those of each axis: ``rte_fairscore/dev/fairscore``,
    ``rte_fairscore/dev_gender/fairscore`` and so on. Examples are resampled.

    Args:
        task: name of a task with labels, one of :data:`fairlab.data.published.tasks.TASKS`.
        axes: axes to perturb, as :class:`fairlab.augmentation.perturbation.Perturbation` takes them.
        sampling: how words and targets are drawn, as :class:`fairlab.augmentation.perturbation.Perturbation` takes it.
        path: file or folder of the task, as :func:`fairlab.data.published.task_files.read_task` takes it.
        perturbed: for some splits, the output of ``fairlab.augment`` whose texts are taken, made with any rewriter; the
            other splits, and all with None, are rewritten by rules.
        limit: most examples of each split that is rewritten here, spread evenly over it; None takes all.

    Raises:
        FairlabError: the task is one of scores, or a value is wrong.
    """

    def __init__(
        self,
        task: str,
        *,
        axes: Sequence[str],
        sampling: str,
        path: str | None = None,
        perturbed: dict[str, str] | None = None,
        limit: int | None = None,
    ) -> None:
        self.limit = limit
        self.task = find_task(task)
        if not self.task.labels:
            raise FairlabError(
                f"the fairscore counts labels that change, and {task} has scores (regression); leave it out with "
                "benchmark=glue"
            )
        if unknown := sorted(set(perturbed or {}) - set(self.task.dev_splits)):
            raise FairlabError(
                f"benchmark.fairscore.perturbed names '{unknown[0]}'; {task} has {', '.join(self.task.dev_splits)}"
            )
        self.perturbation = Perturbation(axes=axes, sampling=sampling)  # type: ignore[arg-type]
        self.axes = [lexicon.axis for lexicon in self.perturbation.lexicons]
        self.path = path
        self.perturbed = perturbed or {}
        self.name = f"{task}_fairscore"
        self.made: dict[str, tuple[list[Example], PerturbedExamples]] = {}

    def pairs(self, split: str) -> tuple[list[Example], PerturbedExamples]:
        """Examples of a split and their perturbed versions, made once."""
        if split not in self.made:
            examples = read_task(self.task.name, split, self.path)
            if split in self.perturbed:
                made = read_perturbed(Path(self.perturbed[split]), examples, self.task.field_names)
            else:
                examples = evenly(examples, self.limit)
                made = perturb_examples(examples, self.perturbation)
            self.made[split] = (examples, made)
        return self.made[split]

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure on every development split there is; ``before`` holds the ``items`` of an earlier model."""
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
            if not made.changed:
                missing.append(NotRun(self.name, split, f"none of the {len(examples)} examples could be perturbed"))
                continue
            originals = [examples[k] for k in made.changed]
            versions = [made.examples[k] for k in made.changed]
            items[f"{split}_original"] = predictions(classifier, self.task, originals)
            items[f"{split}_perturbed"] = predictions(classifier, self.task, versions)
            items[f"{split}_labels"] = np.array([example.label for example in originals], dtype=np.float32)
            places = {axis: k for k, axis in enumerate(self.axes)}
            items[f"{split}_axes"] = np.array([places.get(axis, -1) for axis in made.axes], dtype=np.float32)
            notes += [
                Note(self.name, text) for text in (said(split, made), one_sided(items[f"{split}_original"])) if text
            ]
        notes += cut_notes(self.name, classifier.cut, backbone.max_length)
        later, earlier = _quantities(items, self.axes), _quantities(before, self.axes) if before else []
        return outcome(self.name, later, earlier, items=items, not_run=missing, notes=notes)


def said(split: str, made: PerturbedExamples) -> str:
    """What a fairscore is over, in a sentence."""
    counts = ", ".join(f"{count} {name}" for name, count in sorted(made.counts.items()) if name != "examples")
    sha256 = examples_digest(made.examples)[:16]
    return f"{len(made.changed)} of {len(made.examples)} examples of {split} changed ({counts}); SHA-256 {sha256}..."


def one_sided(predicted: NDArray[np.floating]) -> str:
    """A warning where nearly all predictions (N,) are one label, in a sentence; else nothing."""
    share = np.unique(predicted, return_counts=True)[1].max() / len(predicted)
    if share < ONE_SIDED:
        return ""
    return f"{share:.0%} of the predictions are one label, which hardly can change: the fairscore says little"


def _quantities(items: Items, axes: Sequence[str]) -> list[Quantity]:
    """The shares over all changed examples of each split, and over those of each axis that has any.

    Args:
        items: for each split, predictions and labels of the changed examples, and for every example the place of its
            axis among ``axes``, or -1.
        axes: names of the axes.
    """
    found = []
    for split in [name.removesuffix("_axes") for name in items if name.endswith("_axes")]:
        arrays = [items[f"{split}_{name}"] for name in ("original", "perturbed", "labels")]
        places = items[f"{split}_axes"]
        changed = places[places >= 0]
        for axis in (ALL, *axes):
            number = None if axis == ALL else list(axes).index(axis)
            chosen = changed >= 0 if number is None else changed == number
            perturbed = places >= 0 if number is None else places == number
            subset = split if axis == ALL else f"{split}_{axis}"
            more: dict[str, Any] = {"subset": subset, "unit": "%", "ideal": None}
            found.append(quantity(_percent, perturbed, name="perturbed", **more))
            samples = [array[chosen] for array in arrays]
            if chosen.any():
                found += [
                    _share(name, share, subset, samples, headline=axis == ALL) for name, share in FAIRSCORES.items()
                ]
    return found


def _percent(values: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    return 100 * values.mean(axis=axis)


def _share(
    name: str, share: Statistic, subset: str, samples: Sequence[NDArray[np.floating]], *, headline: bool
) -> Quantity:
    def percent(*arrays: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
        return 100 * share(*arrays, axis=axis)

    ideal = {"fairscore": 0.0, "both_correct": 100.0, "neither_correct": None}[name]
    lead = headline and name == "fairscore"
    return quantity(percent, *samples, subset=subset, name=name, unit="%", ideal=ideal, headline=lead)
