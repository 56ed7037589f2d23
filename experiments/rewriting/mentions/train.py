"""Train the judge of listed words on labelled mentions, and write its weights.

    FAIRLAB_DATA=... python -m experiments.rewriting.mentions.train

Mentions in doubt and those of the test draw are left out. The weights are shared by all axes, each with a bias of its
own. Printed are the cross-validated areas under the curve, folds apart by source, and those of the test draw.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from experiments.rewriting.mentions.labels import DOUBT, PERSON, TEST_SEED, Labelled, read_labels
from fairlab.files import save_arrays
from fairlab.rewriting.english.people_judge import WEIGHTS, token_vectors

STRENGTH = 0.01  # inverse of the penalty; of 0.001, 0.003 and 0.01 the best by cross-validation
AXIS_WEIGHT = 3.0  # of the indicators of the axes: a large value leaves their biases almost without penalty
Parts = tuple[NDArray[np.float64], dict[str, float]]


def fit(vectors: NDArray[np.float64], axes: NDArray[np.str_], people: NDArray[np.bool_]) -> Parts:
    """Return the weights (H,) and the bias of every axis."""
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
    """Return the logits (N,) of being people."""
    weight, biases = parts
    return vectors @ weight + np.array([biases[axis] for axis in axes.tolist()])


def main() -> None:
    """Train, print what was reached, and write the weights."""
    mentions = [one for one in read_labels() if one.label != DOUBT]
    spans = [(one.start, one.end) for one in mentions]
    vectors = token_vectors([one.sentence for one in mentions], spans).numpy().astype(np.float64)
    axes, people = np.array([one.axis for one in mentions]), np.array([one.label == PERSON for one in mentions])
    training = np.array([one.seed != TEST_SEED for one in mentions])
    held_out = np.zeros(len(mentions))
    places = np.flatnonzero(training)
    sources = np.array([one.source for one in mentions])
    for fitted, other in GroupKFold(8).split(places, groups=sources[places]):
        parts = fit(vectors[places[fitted]], axes[places[fitted]], people[places[fitted]])
        held_out[places[other]] = logits(parts, vectors[places[other]], axes[places[other]])
    parts = fit(vectors[training], axes[training], people[training])
    held_out[~training] = logits(parts, vectors[~training], axes[~training])
    _say(mentions, training, people, held_out)
    weight, biases = parts
    arrays = {"weight": weight.astype(np.float32)}
    save_arrays(arrays | {f"bias.{axis}": np.array([value], np.float32) for axis, value in biases.items()}, WEIGHTS)


def _say(
    mentions: list[Labelled], training: NDArray[np.bool_], people: NDArray[np.bool_], found: NDArray[np.float64]
) -> None:
    axes = np.array([one.axis for one in mentions])
    for name, chosen in (("cross-validated", training), ("test", ~training)):
        for axis in sorted(set(axes[chosen].tolist())):
            here = chosen & (axes == axis)
            print(f"{name} {axis}: AUC {roc_auc_score(people[here], found[here]):.3f} of {here.sum()} mentions")


if __name__ == "__main__":
    main()
