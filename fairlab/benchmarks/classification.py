"""Utility of a fine-tuned classifier: the standard metrics of a labelled task on its development examples.

Source: Wang et al. 2019, "GLUE", section 3, and the papers of the other tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.classification import SCORE, Classifier
from fairlab.benchmarks.readings import Items, Quantity, cut_notes, evenly, items_outcome, quantity
from fairlab.benchmarks.scales import percent
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import TASKS, Example, Task, find_task
from fairlab.metrics.classification import METRICS
from fairlab.protocols import Benchmark
from fairlab.record import Note, NotRun, Outcome
from fairlab.types import KEPT, DataUnavailable, Description, FairlabError, QuantityInfo

CITATION = """\
@inproceedings{wang2019glue,
  title = {{GLUE}: A Multi-Task Benchmark and Analysis Platform for Natural Language Understanding},
  author = {Wang, Alex and Singh, Amanpreet and Michael, Julian and Hill, Felix and Levy, Omer and Bowman, Samuel R.},
  booktitle = {International Conference on Learning Representations},
  year = {2019}
}
"""
_of_100 = partial(QuantityInfo, ideal=100.0, high=100.0, useful=True, margin=1.0)
CORRELATIONS = {
    "pearson": _of_100(
        "Pearson correlation", "correlation with human scores, times 100 (100 is best)", "Pearson x 100", low=-100.0
    ),
    "spearman": _of_100(
        "Spearman correlation",
        "rank correlation with human scores, times 100 (100 is best)",
        "Spearman x 100",
        low=-100.0,
    ),
}
MEASURES = {
    "accuracy": _of_100("accuracy", "examples given the right label (100 is best)", "%", low=0.0),
    "f1": _of_100("F1", "F1 of the positive label (100 is best)", "%", low=0.0),
    "macro_f1": _of_100("macro-F1", "mean of the labels' F1 (100 is best)", "%", low=0.0),
    "matthews": _of_100(
        "Matthews correlation",
        "correlation of predicted and true labels, times 100 (100 is best)",
        "Matthews x 100",
        low=-100.0,
    ),
    **CORRELATIONS,
}
MAJORITY = percent("accuracy of the commonest label", "accuracy of giving every example the commonest label")
BASELINES = {"accuracy": "majority", "f1": "majority_f1", "macro_f1": "majority_macro_f1"}
Array = NDArray[np.float64]


class Classification(Benchmark):
    """Metrics of a sequence classifier on a task, such as ``sst2/dev/accuracy`` or ``mnli/dev_matched/accuracy``.

    Quantities, times 100:

    - Metrics of the task. CoLA: Matthews correlation and accuracy; MRPC and QQP: accuracy and F1; STS-B: Pearson's and
      Spearman's correlation; inference and fact checking: accuracy and macro-F1, and with two labels also the F1 of
      *SUPPORTS*; other tasks: accuracy.
    - ``majority`` and, for tasks with F1, ``majority_f1`` and ``majority_macro_f1``: Baseline that predicts the most
      frequent label for every example.

    Intervals resample examples. If a classifier has more fine-grained labels than the task, such as an MNLI classifier
    on HANS, its most likely label is mapped to a label of the task.

    Args:
        task: Name of a task, one of :data:`fairlab.data.published.tasks.TASKS`.
        path: File or folder of the task, as for :func:`fairlab.data.published.task_files.read_task`.
        splits: Names of the splits to measure on; None for all but the training split.
        limit: Maximum number of examples per split, spread evenly over it; None for all.

    Raises:
        FairlabError: The task or a split does not exist.
    """

    version: ClassVar[int] = 1
    description = Description(
        "classification",
        "Fine-tuned classifier",
        "Does a fine-tuned classifier give the right labels?",
        {
            **MEASURES,
            "majority": MAJORITY,
            "majority_f1": percent("F1 of the commonest label", "F1 of giving every example the commonest label"),
            "majority_macro_f1": percent(
                "macro-F1 of the commonest label", "macro-F1 of giving every example the commonest label"
            ),
        },
        topic=KEPT,
        citation=CITATION,
        needs=("labels",),
    )

    def __init__(
        self, task: str, path: str | None = None, splits: Sequence[str] | None = None, limit: int | None = None
    ) -> None:
        self.limit = limit
        self.task = find_task(task)
        self.splits = self.task.dev_splits if splits is None else list(splits)
        if unknown := [split for split in self.splits if split not in self.task.dev_splits]:
            raise FairlabError(
                f"{task} has no split '{unknown[0]}' to measure on; it has: {', '.join(self.task.dev_splits)}"
            )
        self.path = path
        self.description = replace(self.description, name=task, title=self.task.words)

    @classmethod
    def describe(cls, name: str) -> Description | None:
        """Return the description of a task's readings, or None if the name is not a task."""
        return replace(cls.description, name=name, title=TASKS[name].words) if name in TASKS else None

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure on every available development split. ``before`` holds the ``items`` of an earlier model."""
        found, items, missing = {}, {}, []
        for split in self.splits:
            try:
                found[split] = evenly(read_task(self.name, split, self.path), self.limit)
            except DataUnavailable as error:
                missing.append(NotRun(self.name, split, str(error)))
        if not found:
            return Outcome(not_run=missing)
        classifier = Classifier(backbone, outputs_for(self.task, backbone))
        notes = []
        for split, examples in found.items():
            predicted = predictions(classifier, self.task, examples)
            items[f"{split}_predictions"] = predicted
            items[f"{split}_labels"] = np.array([example.label for example in examples], dtype=np.float32)
            if self.task.labels and len(set(predicted)) == 1:
                text = f"every example of {split} was given the label {self.task.labels[int(predicted[0])]}"
                notes.append(Note(self.name, text))
        notes += cut_notes(self.name, classifier.cut, backbone.max_length)
        measured = partial(_quantities, self.task)
        return items_outcome(self.description, measured, items, before, not_run=missing, notes=notes)


def outputs_for(task: Task, backbone: Backbone) -> tuple[str, ...]:
    """Return the labels of a classifier's outputs: the task's labels, or the finer labels that the task merges."""
    if not task.labels or task.options:
        return SCORE
    own = {str(label).lower() for label in getattr(backbone.model.config, "id2label", {}).values()}
    return tuple(task.merged) if own == set(task.merged) else task.labels


def predictions(classifier: Classifier, task: Task, examples: list[Example]) -> NDArray[np.float32]:
    """Return the index of each example's most likely label, or its score, (N,)."""
    pairs = [pair for example in examples for pair in example.pairs]
    outputs = classifier.outputs(pairs, progress=task.name)
    if not task.labels:
        return outputs[:, 0]
    outputs = outputs.reshape(len(examples), -1)
    found = outputs.argmax(axis=1)
    if outputs.shape[1] == len(task.merged):
        found = np.array([task.labels.index(meant) for meant in task.merged.values()])[found]
    return found.astype(np.float32)


def _quantities(task: Task, items: Items) -> list[Quantity]:
    """Return the metrics of the classifier and of the majority baseline, from predictions and labels (N,) by split."""
    found, first = [], task.metrics[0]
    for split in task.dev_splits:
        if f"{split}_labels" not in items:
            continue
        predicted, truth = items[f"{split}_predictions"], items[f"{split}_labels"]
        found += [_measure(name, name, split, predicted, truth, headline=name == first) for name in task.metrics]
        if task.labels:
            commonest = np.full_like(truth, np.bincount(truth.astype(int)).argmax())
            names = [name for name in task.metrics if name in BASELINES]
            found += [_measure(BASELINES[name], name, split, commonest, truth) for name in names]
    return found


def _measure(
    name: str, metric: str, split: str, predicted: NDArray[np.floating], truth: NDArray[np.floating], **more: bool
) -> Quantity:
    def percent(*samples: NDArray[np.floating], axis: int) -> NDArray[np.floating]:
        return 100 * METRICS[metric](*samples, axis=axis)

    return quantity(percent, predicted, truth, subset=split, name=name, **more)
