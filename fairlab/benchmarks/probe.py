"""Utility of embeddings: a linear classifier on frozen embeddings of a GLUE task.

Source: Conneau and Kiela 2018, "SentEval" (features of pairs, logistic regression, L2 strength by cross-validation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.classification import MAJORITY
from fairlab.benchmarks.readings import Items, Quantity, evenly, items_outcome, quantity, sampled_items
from fairlab.benchmarks.scales import percent
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import TASKS, Example, find_task
from fairlab.metrics.bootstrap import mean
from fairlab.protocols import Benchmark
from fairlab.record import Outcome
from fairlab.types import KEPT, Count, Description, FairlabError

STRENGTHS = np.logspace(-4, 1, 6)  # inverse L2 strengths to try, on standardised features
FOLDS = 3
FEWEST = 100  # minimum number of training examples
CITATION = """\
@inproceedings{conneau2018senteval,
  title = {{SentEval}: An Evaluation Toolkit for Universal Sentence Representations},
  author = {Conneau, Alexis and Kiela, Douwe},
  booktitle = {Proceedings of the Eleventh International Conference on Language Resources and Evaluation},
  year = {2018}
}
"""


class Probe(Benchmark):
    """Accuracy of a linear probe on a task's development set.

    Quantities, in per cent of development examples:

    - ``accuracy``: Examples that the probe labels correctly. Ideal: 100.
    - ``majority``: Examples with the most frequent label, which is the baseline of a probe without information.

    The name of the benchmark is derived from the task: ``sst2_probe``.

    Args:
        task: Name of a task: ``sst2``, ``mrpc``, ``rte`` or another of :data:`fairlab.data.published.tasks.TASKS` that
            has labels.
        limit: Maximum number of training examples, sampled with ``seed``, and of measured examples, spread evenly. At
            least 100 examples are used for training. None for all.
        seed: Seed for the sampled training examples.
    """

    version: ClassVar[int] = 1
    description = Description(
        "probe",
        "Linear probe",
        "Do embeddings contain the information that a linear classifier needs?",
        {
            "accuracy": percent(
                "accuracy of a linear probe",
                "examples that a linear classifier on embeddings gets right",
                ideal=100.0,
                headline=True,
                useful=True,
                margin=1.0,
            ),
            "majority": MAJORITY,
        },
        topic=KEPT,
        citation=CITATION,
        needs=("embeddings",),
    )

    def __init__(self, task: str, limit: Count | None = None, seed: int = 0) -> None:
        if not find_task(task).labels or find_task(task).options:
            raise FairlabError(f"a probe needs a task with labels, unlike {task}; use sst2, mrpc or rte")
        self.description = self.describe(f"{task}_probe") or self.description
        self.task = task
        self.limit = limit
        self.seed = seed

    @classmethod
    def describe(cls, name: str) -> Description | None:
        """Return the description of the readings of ``TASK_probe``, or None for other names."""
        task = name.removesuffix("_probe")
        if task not in TASKS or task == name:
            return None
        return replace(cls.description, name=name, title=TASKS[task].words)

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Fit on the training set and score the development set. ``before`` holds the ``items`` of an earlier model."""
        train, dev = read_task(self.task, "train"), evenly(read_task(self.task, "dev"), self.limit)
        train = sampled_items(train, None if self.limit is None else max(FEWEST, self.limit), self.seed)
        labels = np.array([example.label for example in train])
        predicted = fit_and_predict(self._features(backbone, train), labels, self._features(backbone, dev))
        truth = np.array([example.label for example in dev])
        items = {"correct": (predicted == truth).astype(np.float32), "labels": truth.astype(np.float32)}
        return items_outcome(self.description, _quantities, items, before)

    def _features(self, backbone: Backbone, examples: Sequence[Example]) -> NDArray[np.float32]:
        first = backbone.embed([example.first for example in examples], progress=self.name).numpy()
        seconds = [example.second for example in examples if example.second is not None]
        if not seconds:
            return first
        return pair_features(first, backbone.embed(seconds, progress=self.name).numpy())


def pair_features(first: NDArray[np.floating], second: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return features (N, 2 D) of pairs of embeddings (N, D): their absolute difference and their product."""
    return np.concatenate([np.abs(first - second), first * second], axis=1)


def fit_and_predict(
    features: NDArray[np.floating], labels: NDArray[np.integer], unseen: NDArray[np.floating]
) -> NDArray[np.integer]:
    """Fit a logistic regression on features (N, D) and labels (N,), and predict labels (M,) for unseen features.

    Features are standardised with the statistics of the training features. The L2 strength is the best of six in
    three-fold cross-validation.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # In float32, rounding would stop the solver before it has converged.
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    search = GridSearchCV(probe, {"logisticregression__C": STRENGTHS}, cv=FOLDS)
    return search.fit(features.astype(np.float64), labels).predict(unseen.astype(np.float64))


def _quantities(items: Items) -> list[Quantity]:
    """Return the accuracy and the majority baseline, from ``correct`` and ``labels`` (N,)."""
    labels = items["labels"].astype(int)
    commonest = labels == np.bincount(labels).argmax()
    return [
        quantity(mean, 100 * items["correct"], subset="dev", name="accuracy"),
        quantity(mean, 100.0 * commonest, subset="dev", name="majority"),
    ]
