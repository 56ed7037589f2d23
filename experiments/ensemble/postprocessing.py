"""Thresholds of each subgroup after the fact, as fairlearn chooses them, beside one threshold for all.

    pip install fairlearn==0.15.0
    python -m experiments.ensemble.postprocessing RUN

RUN is the folder of a finished run on the test folds. Thresholds are chosen on the baseline's validation scores and
applied to its test scores. They change labels and no scores, so that there is an equalised-odds gap and a share of sets
with both labels to compare, and no variance. They need to be told the subgroup of every text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from fairlab.augmentation.identity import Identity
from fairlab.data.safety import SafetyData
from fairlab.metrics.safety import equalised_odds_gap, set_flips, set_numbers
from fairlab.record import Record

FILE = Path(__file__).parent / "records" / "postprocessing.json"


class Given:
    """A classifier whose probabilities are given to it as its only feature."""

    def fit(self, *_: Any) -> Given:
        """Nothing to fit."""
        return self

    def predict(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores (N,) of a table (N, 1)."""
        return np.asarray(scores)[:, 0]


def labels_of(scores: dict[str, NDArray[np.float64]], truth: Any, group: Any, state: int) -> dict[str, Any]:
    """Labels of the test texts by one threshold and by fairlearn's; both weigh the two kinds of errors alike."""
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.metrics import balanced_accuracy_score

    cuts = np.unique(scores["validation"])
    best = cuts[np.argmax([balanced_accuracy_score(truth, scores["validation"] >= cut) for cut in cuts])]
    optimiser = ThresholdOptimizer(
        estimator=Given(),
        constraints="equalized_odds",
        objective="balanced_accuracy_score",
        prefit=True,
        predict_method="predict",
    ).fit(scores["validation"][:, None], truth, sensitive_features=group)
    turned = optimiser.predict(scores["test"][:, None], sensitive_features=group, random_state=state)
    return {"one threshold": (scores["test"] >= best).astype(int), "equalised odds, fairlearn": np.asarray(turned)}


def main(folder: Path) -> None:
    """Write the numbers of a run's harms."""
    import fairlearn
    from sklearn.metrics import balanced_accuracy_score

    record = Record.load(folder)
    node = {key: value for key, value in record.config["data"].items() if key != "_target_"}
    data = SafetyData(**node | {"held_out": [], "seed": record.config["seed"], "augmentation": Identity()})
    found: dict[str, Any] = {"fairlearn": fairlearn.__version__, "revision": record.provenance["revision"]}
    for harm in record.config["method"]["harms"]:
        about = np.array([bool(text.subgroup) for text in data.texts])
        texts = [text for text in data.texts if text.subgroup]
        truth, group = np.array([text.labels[harm] for text in texts]), np.array([text.subgroup for text in texts])
        names = sorted(set(group))
        slices = np.array([names.index(name) for name in group])
        place, _ = set_numbers([text.key for text in texts])
        for phase in ("before", "after"):
            scores = {
                part: load_file(folder / "items" / phase / f"{file}.safetensors")[harm][0][about]
                for part, file in (("validation", "safety_validation"), ("test", "safety"))
            }
            for name, labels in labels_of(scores, truth, group, record.config["seed"]).items():
                found.setdefault(harm, {})[f"{phase}, {name}"] = {
                    "balanced_accuracy": float(balanced_accuracy_score(truth, labels)),
                    "equalised_odds_gap": float(equalised_odds_gap(labels, slices, truth, 0.5, len(names))),
                    "flip_rate": float(100 * set_flips(labels, place, 0.5).mean()),
                }
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
