"""Values of fairlab that no benchmark provides: projections, and generated sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from torch import Tensor

import fairlab
from fairlab.backbones.backbone import Backbone
from fairlab.backbones.projection import away_from, project
from fairlab.data.groups import read_groups
from fairlab.data.published.holistic_bias import FILES, read_holistic_bias
from fairlab.methods.inlp import nullspace_directions
from fairlab.methods.sentence_debias import bias_subspace

VERSIONS = ("man", "woman", "neutral")
GROUPS = 320  # a multiple of 32, because bias-bench leaves out an incomplete batch of 32
CLASSIFIERS = 10  # as in ``official.py``


def write_groups(file: Path) -> None:
    """Write the counterfactual groups on which projections are fitted."""
    found = [one.versions for one in read_groups("embedded/short") if set(VERSIONS) <= set(one.versions)]
    file.write_text(json.dumps([dict(one) for one in found[:GROUPS]]), encoding="utf-8")


def projected(kind: str, model: Path, folder: Path) -> tuple[Backbone, dict[str, Any]]:
    """Return the model with a projection, and the distance of the projection from the official one in the folder.

    The classifiers are trained on the official embeddings. ``first_degrees`` is the angle between the projections of
    the first classifier alone. ``own_degrees`` is the angle between fairlab's projections for the official embeddings
    and for its own embeddings, which differ in the seventh digit.
    """
    groups = json.loads((folder / "groups.json").read_text(encoding="utf-8"))
    encoder = fairlab.load(str(model), normalize=False)  # as in bias-bench, whose classifiers depend on the length
    own = torch.stack([encoder.embed([group[version] for group in groups]) for version in VERSIONS])
    more = {}
    if kind == "sentence_debias":
        found, _ = bias_subspace(own[:2].transpose(0, 1), 1)
    else:
        embeddings = np.load(folder / "embeddings.npy")
        found = directions_of_classifiers(embeddings, CLASSIFIERS)
        first, again = directions_of_classifiers(embeddings, 1), directions_of_classifiers(own.numpy(), CLASSIFIERS)
        more["first_degrees"] = apart(np.load(folder / "first.npy"), projection_of(first))["degrees"]
        more["own_degrees"] = apart(projection_of(found), projection_of(again))["degrees"]
    project(encoder, away_from(found))
    return encoder, apart(np.load(folder / "projection.npy").astype(np.float64), projection_of(found)) | more


def projection_of(directions_KD: Tensor) -> NDArray[np.float64]:
    """Return the projection (D, D) onto the orthogonal complement of the directions."""
    return away_from(directions_KD).double().numpy()


def directions_of_classifiers(versions_VGD: NDArray[np.float32], count: int) -> Tensor:
    """Return the directions of INLP for the sentences that bias-bench trains on: 70 % of 70 % of all sentences."""
    embeddings = np.concatenate(versions_VGD.astype(np.float64))
    labels = np.repeat(np.arange(len(versions_VGD)), versions_VGD.shape[1])
    x, _, y, _ = train_test_split(embeddings, labels, test_size=0.3, random_state=0)
    x, x_dev, y, y_dev = train_test_split(x, y, test_size=0.3, random_state=0)
    return torch.from_numpy(nullspace_directions(x, y, count, 0, held_out=x_dev, held_out_labels=y_dev)[0]).float()


def apart(official: NDArray[np.float64], ours: NDArray[np.float64]) -> dict[str, Any]:
    """Return how far two orthogonal projections (D, D) are apart.

    Returns:
        ``dimensions``: number of dimensions that each projection removes; ``degrees``: largest principal angle between
        the removed subspaces, in as many dimensions as the smaller one has; ``entry``: largest absolute difference
        between entries.
    """
    theirs, mine = removed(official), removed(ours)
    smaller, larger = (theirs, mine) if len(theirs) <= len(mine) else (mine, theirs)
    sine = float(np.linalg.norm(smaller - smaller @ larger.T @ larger, ord=2))
    return {
        "dimensions": [len(theirs), len(mine)],
        "degrees": float(np.degrees(np.arcsin(min(1.0, sine)))),
        "entry": float(np.abs(official - ours).max()),
    }


def removed(projection: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an orthonormal basis (K, D) of the subspace that an orthogonal projection removes."""
    strengths, vectors = np.linalg.eigh(projection)
    return vectors.T[strengths < 0.5]


def generated(checkout: Path, folder: Path) -> dict[str, float]:
    """Return counts of fairlab's HolisticBias sentences, and of the official ones in the folder that are among them."""
    found: dict[str, float] = {}
    for version in ("1.0", "1.1"):
        files = checkout / "holistic_bias" / "dataset" / f"v{version}"
        holistic = read_holistic_bias([files / name for name in FILES])
        different = set(holistic.sentences())
        official = json.loads((folder / f"sentences-{version}.json").read_text(encoding="utf-8"))
        found[f"{version}/sentences"] = sum(1 for _ in holistic.sentences())
        found[f"{version}/different sentences"] = len(different)
        found[f"{version}/different sentences of both"] = len(different & set(official))
        needing = sum(template.needs_noun for template in holistic.templates)
        for phrase in holistic.phrases:
            key = f"{version}/{phrase.axis or 'no axis'}"
            found[key] = found.get(key, 0) + len(holistic.templates) - (0 if phrase.noun else needing)
    return found
