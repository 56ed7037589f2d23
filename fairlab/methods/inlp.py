"""INLP: repeated projection of embeddings onto the null space of a linear attribute classifier.

Source: Ravfogel et al. 2020, "Null It Out: Guarding Protected Attributes by Iterative Nullspace Projection", algorithm
1, as Meade et al. 2022 apply it (bias-bench).
Shape letters: N texts, D embedding width, K directions.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import track

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.projection import away_from, project
from fairlab.data.counterfactual import CounterfactualData, groups_of
from fairlab.methods.base import Fitted
from fairlab.types import Count, FairlabError, Group

Floats = NDArray[np.float64]


class INLP(Fitted):
    """Method that removes the directions in embeddings by which linear classifiers distinguish attributes.

    No weights of the encoder are trained. The classes are the versions of the groups, including the neutral version.

    Args:
        encoder: Backbone to debias, to which the projection is added.
        classifiers: Number of classifiers to train, each on embeddings without the directions of the earlier
            classifiers; at least 1.
        seed: Seed of the classifiers' training.

    Raises:
        FairlabError: The number of classifiers is less than one or, in ``fit``, the data is not counterfactual groups
            or the classifiers' directions span the whole embedding space.
    """

    title = "iterative nullspace projection (INLP)"
    limits = (
        "The projection is part of the sentence-transformers model; hidden states read with transformers alone, and "
        "its masked-LM head, come from the original model. Only linear information is removed, on the listed "
        "attributes in English."
    )
    citation = """@inproceedings{ravfogel2020null,
  title = {Null It Out: Guarding Protected Attributes by Iterative Nullspace Projection},
  author = {Ravfogel, Shauli and Elazar, Yanai and Gonen, Hila and Twiton, Michael and Goldberg, Yoav},
  booktitle = {Proceedings of ACL},
  year = {2020}
}"""

    def __init__(self, encoder: Backbone, *, classifiers: Count, seed: int) -> None:
        self.encoder = encoder
        self.classifiers = classifiers
        self.seed = seed
        self.accuracies: list[float]  # set in fit
        self.removed: int

    def fit(self, data: CounterfactualData) -> None:
        """Compute the directions on the training groups, and project them out of all further embeddings."""
        groups = groups_of(data)
        train, labels = self._classes(groups["train"])
        held_out, held_out_labels = self._classes(groups["validation"])
        directions_KD, self.accuracies = nullspace_directions(
            train, labels, self.classifiers, self.seed, held_out=held_out, held_out_labels=held_out_labels
        )
        self.removed = len(directions_KD)
        project(self.encoder, away_from(torch.from_numpy(directions_KD).float()))

    def _classes(self, groups: list[Group]) -> tuple[Floats, NDArray[np.int64]]:
        texts = [text for group in groups for text in group.texts]
        labels = np.tile(np.arange(len(texts) // len(groups)), len(groups))
        return self.encoder.embed(texts, progress="embeddings of the versions").double().numpy(), labels

    def facts(self) -> dict[str, object]:
        """Return the facts for the record, including validation accuracies and the number of removed dimensions."""
        return super().facts() | {
            "first_classifier_accuracy": self.accuracies[0],
            "last_classifier_accuracy": self.accuracies[-1],
            "dimensions_removed": self.removed,
        }


def nullspace_directions(
    embeddings_ND: Floats,
    labels_N: NDArray[np.int64],
    classifiers: int,
    seed: int,
    *,
    held_out: Floats,
    held_out_labels: NDArray[np.int64],
) -> tuple[Floats, list[float]]:
    """Return orthonormal directions (K, D) that linear classifiers use, and each classifier's held-out accuracy.

    Every classifier is a one-vs-rest linear support vector machine on embeddings without the directions of the earlier
    classifiers.

    Raises:
        FairlabError: The directions span the whole embedding space.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    basis_KD = np.empty((0, embeddings_ND.shape[1]))
    accuracies = []
    for _ in track(range(classifiers), "classifiers", transient=True):
        classifier = LinearSVC(dual=False, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(less_components(embeddings_ND, basis_KD), labels_N)
        accuracies.append(float(classifier.score(less_components(held_out, basis_KD), held_out_labels)))
        new = np.linalg.svd(less_components(classifier.coef_, basis_KD), full_matrices=False)
        basis_KD = np.concatenate([basis_KD, new[2][new[1] > 1e-8 * new[1].max()]])
        if len(basis_KD) >= embeddings_ND.shape[1]:
            raise FairlabError(
                f"{len(accuracies)} classifiers span all {embeddings_ND.shape[1]} dimensions of the embeddings; "
                "lower method.classifiers"
            )
    return basis_KD, accuracies


def less_components(vectors: Floats, basis_KD: Floats) -> Floats:
    """Return vectors (N, D) without their components along an orthonormal basis."""
    return vectors - (vectors @ basis_KD.T) @ basis_KD
