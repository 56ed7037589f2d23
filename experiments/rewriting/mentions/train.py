"""Train the judge of listed words on labelled mentions; write its weights and its results on held-out mentions.

    FAIRLAB_DATA=... python -m experiments.rewriting.mentions.train

Doubtful mentions, the test samples, and sentences that a test passage contains are excluded from training. The weights
are shared by all axes, and each axis has its own bias. ``training.json`` contains the results on the training samples,
by cross-validation with disjoint sources, and on the test samples. For each kind of word, it lists the area under the
ROC curve, the mentions that the judge takes for people, and the mentions that the rewriter changes with rules alone,
with the judge alone, and with rules if the judge is unsure.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from experiments.rewriting.mentions.labels import DOUBT, NOT, PERSON, TEST_SEEDS, Labelled, read_labels
from experiments.rewriting.mentions.trials import turned_by
from fairlab.files import save_arrays, write_whole
from fairlab.rewriting.english.people_judge import WEIGHTS, token_vectors

RECORD = Path(__file__).parent / "training.json"
STRENGTH = 0.01  # inverse of the penalty; the best of 0.001, 0.003 and 0.01 in cross-validation
AXIS_WEIGHT = 3.0  # scale of the axis indicators: a large value leaves their biases almost without penalty
FOLDS = 8
Parts = tuple[NDArray[np.float64], dict[str, float]]


def fit(vectors: NDArray[np.float64], axes: NDArray[np.str_], people: NDArray[np.bool_]) -> Parts:
    """Fit the judge, and return the weights (H,) and the bias of every axis."""
    names = sorted(set(axes.tolist()))
    scaler = StandardScaler().fit(vectors)
    indicators = AXIS_WEIGHT * (axes[:, None] == np.array(names)[None])
    model = LogisticRegression(C=STRENGTH, max_iter=1000)
    model.fit(np.hstack([scaler.transform(vectors), indicators]), people)
    own, of_axes = model.coef_[0, : vectors.shape[1]], model.coef_[0, vectors.shape[1] :]
    weight = own / scaler.scale_
    bias = model.intercept_[0] - weight @ scaler.mean_
    return weight, {name: bias + AXIS_WEIGHT * value for name, value in zip(names, of_axes, strict=True)}


def logits(parts: Parts, vectors: NDArray[np.float64], axes: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return the logit of each mention for referring to people, (N,)."""
    weight, biases = parts
    return vectors @ weight + np.array([biases[axis] for axis in axes.tolist()])


def used_for_training(mentions: list[Labelled]) -> NDArray[np.bool_]:
    """Return whether each mention is used for training.

    Mentions of a test sample, and mentions in a sentence that a test text contains, are not used.
    """
    tested = "\n".join({one.sentence for one in mentions if one.seed in TEST_SEEDS})
    return np.array([one.seed not in TEST_SEEDS and one.sentence not in tested for one in mentions])


def main() -> None:
    """Train the judge, and write the weights and the record."""
    mentions = read_labels()
    spans = [(one.start, one.end) for one in mentions]
    vectors = token_vectors([one.sentence for one in mentions], spans).numpy().astype(np.float64)
    axes, people = np.array([one.axis for one in mentions]), np.array([one.label == PERSON for one in mentions])
    sure = np.array([one.label != DOUBT for one in mentions])
    tested = np.array([one.seed in TEST_SEEDS for one in mentions])
    training = used_for_training(mentions)
    found = np.full(len(mentions), np.nan)
    places = np.flatnonzero(training)
    sources = np.array([one.source for one in mentions])
    for fitted, other in GroupKFold(FOLDS).split(places, groups=sources[places]):
        own = places[fitted][sure[places[fitted]]]
        found[places[other]] = logits(
            fit(vectors[own], axes[own], people[own]), vectors[places[other]], axes[places[other]]
        )
    own = np.flatnonzero(training & sure)
    weight, biases = parts = fit(vectors[own], axes[own], people[own])
    found[tested] = logits(parts, vectors[tested], axes[tested])
    ways = {"found": found > 0} | turned_by(mentions, found)
    reached = {
        name: _results(mentions, chosen, found, ways)
        for name, chosen in (("cross-validated", training), ("test", tested))
    }
    write_whole(RECORD, json.dumps(reached) + "\n")
    arrays = {"weight": weight.astype(np.float32)}
    save_arrays(arrays | {f"bias.{axis}": np.array([value], np.float32) for axis, value in biases.items()}, WEIGHTS)


def _results(
    mentions: list[Labelled],
    chosen: NDArray[np.bool_],
    found: NDArray[np.float64],
    ways: dict[str, NDArray[np.bool_]],
) -> dict[str, Any]:
    """Return the results by kind of word.

    These are the area under the ROC curve and, by way of deciding and by label, the number of hits and of mentions.
    """
    kinds, labels = np.array([one.kind for one in mentions]), np.array([one.label for one in mentions])
    reached: dict[str, Any] = {}
    for kind in dict.fromkeys(kinds[chosen].tolist()):
        here = chosen & (kinds == kind)
        known = here & (labels != DOUBT)
        people = labels[known] == PERSON
        area = round(float(roc_auc_score(people, found[known])), 3) if people.any() and not people.all() else None
        parts = {label: here & (labels == label) for label in (PERSON, NOT, DOUBT)}
        counts = {
            way: {label: [int(hits[own].sum()), int(own.sum())] for label, own in parts.items()}
            for way, hits in ways.items()
        }
        reached[kind] = {"auc": area, **counts}
    return reached


if __name__ == "__main__":
    main()
    print(RECORD.read_text(encoding="utf-8"))
