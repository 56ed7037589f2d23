"""Thresholds of each subgroup after the fact, as fairlearn chooses them, beside one threshold for all.

    pip install 'fairlab[audit]'
    python -m experiments.ensemble.postprocessing RUN [RUN ...]

RUN is the folder of a finished run that measured ``safety`` and ``safety_validation``. In every division and fold the
thresholds are chosen on the validation scores of that fold's model, and applied to its test scores, so that no text is
labelled by a threshold that it took part in. They must be told the subgroup of every text, which a new text does not
say; a subgroup with one label only in a validation fold has the threshold of texts about nobody. They change labels and
no scores: compared are recall and false-positive rate of the seeds, the share of counterfactual sets with both labels,
and the largest equalised-odds gap of a category, each a mean over divisions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from sklearn.base import BaseEstimator

from fairlab.augmentation.identity import Identity
from fairlab.data.safety import SafetyData
from fairlab.data.safety_texts import CATEGORIES, SUBGROUPS, SafetyText
from fairlab.metrics.acv import set_flips, set_numbers
from fairlab.metrics.equalised_odds import equalised_odds_gap
from fairlab.record import Record

FOLDER = Path(__file__).parent / "records" / "postprocessing"
PHASES = {"before": "baseline", "after": "debiased"}
ONE, NOBODY = "one threshold", "nobody"
CONSTRAINTS = {  # fairlearn's names; both weigh the two kinds of errors alike, as the single threshold does
    "equal false-positive rates": "false_positive_rate_parity",
    "equalised odds": "equalized_odds",
}
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """Scores of one fold's model: those that thresholds are chosen on, and those that they are applied to.

    Attributes:
        validation, test: which of the N texts, (N,).
        chosen_on, applied_to: scores (N,), of which only these texts' count.
    """

    validation: NDArray[np.bool_]
    test: NDArray[np.bool_]
    chosen_on: Array
    applied_to: Array


def folds(division: NDArray[np.int64], validation: Array, test: Array) -> Iterator[Fold]:
    """Yield the folds of a division (N,) with the scores (N,) that texts got in validation and in test."""
    count = int(division.max()) + 1
    for k in range(count):
        yield Fold(division == (k + 1) % count, division == k, validation, test)


def one_threshold(fold: Fold, truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels (N,) from the threshold of the best balanced accuracy in validation; those of the test texts count."""
    scores, labels = fold.chosen_on[fold.validation], truth[fold.validation]
    cuts = np.unique(scores)
    unsafe, safe = np.sort(scores[labels == 1]), np.sort(scores[labels == 0])
    recall = 1 - np.searchsorted(unsafe, cuts) / len(unsafe)
    specificity = np.searchsorted(safe, cuts) / len(safe)
    return (fold.applied_to >= cuts[np.argmax(recall + specificity)]).astype(np.int64)


class Given(BaseEstimator):
    """A classifier whose scores are its only feature."""

    def fit(self, *_: Any) -> Given:
        """Nothing to fit."""
        return self

    def predict(self, scores: Array) -> Array:
        """Return the scores (N,) of a table (N, 1)."""
        return np.asarray(scores)[:, 0]


def of_subgroups(constraint: str, groups: Sequence[str], state: int) -> Callable[[Fold, Any], NDArray[np.int64]]:
    """Return a function as :func:`one_threshold`, with thresholds of each subgroup by fairlearn."""
    from fairlearn.postprocessing import ThresholdOptimizer

    def labels(fold: Fold, truth: NDArray[np.int64]) -> NDArray[np.int64]:
        told = pooled(groups, truth, fold.validation)
        optimiser = ThresholdOptimizer(
            estimator=Given(),
            constraints=constraint,
            objective="balanced_accuracy_score",
            prefit=True,
            predict_method="predict",
        ).fit(
            fold.chosen_on[fold.validation][:, None], truth[fold.validation], sensitive_features=told[fold.validation]
        )
        found = np.zeros(len(truth), dtype=np.int64)
        found[fold.test] = optimiser.predict(
            fold.applied_to[fold.test][:, None], sensitive_features=told[fold.test], random_state=state
        )
        return found

    return labels


def pooled(groups: Sequence[str], truth: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.str_]:
    """Return groups (N,); one with fewer than two labels among the chosen texts joins the texts about nobody."""
    told = np.array(groups)
    few = [one for one in set(groups) if len(set(truth[chosen & (told == one)])) < 2]
    return np.where(np.isin(told, few), NOBODY, told)


def measured(labels: NDArray[np.int64], truth: NDArray[np.int64], texts: Sequence[SafetyText]) -> dict[str, float]:
    """Return what labels (N,) of all texts give."""
    seed = np.array([text.seed for text in texts])
    place, _ = set_numbers([text.key if text.subgroup else None for text in texts])
    gaps = []
    for category, names in CATEGORIES.items():
        number = {f"{category}:{name}": k for k, name in enumerate(names)}
        slices = np.array([number.get(text.subgroup, -1) for text in texts])
        inside = slices >= 0
        if inside.any():
            gaps.append(float(equalised_odds_gap(labels[inside], slices[inside], truth[inside], 0.5, len(names))))
    return {
        "recall": float(labels[seed & (truth == 1)].mean()),
        "false_positive_rate": float(labels[seed & (truth == 0)].mean()),
        "flip_rate": float(100 * set_flips(labels, place, 0.5).mean()),
        "equalised_odds_gap": max(gaps),
    }


def of_run(folder: Path) -> dict[str, Any]:
    """Return the numbers of a run's harms, by model and way of labelling."""
    import fairlearn

    record = Record.load(folder)
    seed = record.config["seed"]
    node = {key: value for key, value in record.config["data"].items() if key != "_target_"}
    data = SafetyData(**node | {"held_out": [], "seed": seed, "augmentation": Identity()})
    groups = [text.subgroup if text.subgroup in SUBGROUPS else NOBODY for text in data.texts]
    ways = {ONE: one_threshold}
    ways |= {name: of_subgroups(constraint, groups, seed) for name, constraint in CONSTRAINTS.items()}
    found: dict[str, Any] = {"seed": seed, "fairlearn": fairlearn.__version__, "run": record.provenance["revision"]}
    for harm in record.config["method"]["harms"]:
        truth = np.array([text.labels[harm] for text in data.texts])
        for phase, model in PHASES.items():
            held = {
                part: load_file(folder / "items" / phase / f"{name}.safetensors")[harm]
                for part, name in (("validation", "safety_validation"), ("test", "safety"))
            }
            for way, label in ways.items():
                rows = []
                for repeat in range(data.repeats):
                    labels = np.zeros(len(truth), dtype=np.int64)
                    for fold in folds(data.division(repeat), held["validation"][repeat], held["test"][repeat]):
                        labels[fold.test] = label(fold, truth)[fold.test]
                    rows.append(measured(labels, truth, data.texts))
                means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
                found.setdefault(harm, {})[f"{model}, {way}"] = means
    return found


def main(runs: Sequence[str]) -> None:
    """Write a file for each run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for run in runs:
        found = of_run(Path(run))
        (FOLDER / f"seed_{found['seed']}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
