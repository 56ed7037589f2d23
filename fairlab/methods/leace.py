"""LEACE: the smallest linear change that prevents linear classifiers from distinguishing attributes in embeddings.

Source: Belrose et al. 2023, "LEACE: Perfect linear concept erasure in closed form", theorem 4.2. The ridge, the
covariance within groups and the omission of an offset are ours; linear classifiers cannot detect an offset. Shape
letters: G groups, V versions of a group, D embedding width.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.projection import project
from fairlab.data.counterfactual import CounterfactualData, groups_of
from fairlab.methods.base import Fitted
from fairlab.types import FairlabError, NotNegative

LEAST = 1e-8  # eigenvalues of the covariance below this share of the largest count as 0


class LEACE(Fitted):
    """Method that erases attributes from embeddings by one matrix, in closed form.

    On the training groups, the mean embeddings of all attributes become equal. Equivalently, linear classifiers can
    then predict the attribute no better than a constant. Among all matrices that make the means equal, this one changes
    the embeddings least, in the norm that their covariance defines. The covariance is computed over all versions or
    within groups.

    Args:
        encoder: Backbone to debias, to which the matrix is added.
        covariance: Covariance that weights directions: ``classes``, over all versions, as published; or ``within``,
            over the differences between versions and the mean of their group, which do not depend on content.
        neutral: Whether the neutral version is a separate class.
        ridge: Share of the mean eigenvalue that is added to every eigenvalue of the covariance, at least 0. It prevents
            large changes along directions in which embeddings hardly vary.
        seed: Unused; the method is deterministic.

    Raises:
        FairlabError: In ``fit``, the data is not counterfactual groups or the versions of
            all groups have the same embedding.
    """

    title = "linear concept erasure (LEACE)"
    limits = (
        "The matrix is part of the sentence-transformers model; hidden states read with transformers alone, and its "
        "masked-LM head, come from the original model. Only linear information is erased, in texts like the training "
        "groups, on their attributes."
    )
    citation = """@inproceedings{belrose2023leace,
  title = {{LEACE}: Perfect linear concept erasure in closed form},
  author = {Belrose, Nora and Schneider-Joseph, David and Ravfogel, Shauli and Cotterell, Ryan and Raff, Edward and
    Biderman, Stella},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2023}
}"""

    def __init__(
        self,
        encoder: Backbone,
        *,
        covariance: Literal["classes", "within"],
        neutral: bool,
        ridge: NotNegative,
        seed: int,
    ) -> None:
        self.encoder = encoder
        self.covariance = covariance
        self.neutral = neutral
        self.ridge = ridge
        self.erased: int  # set in fit

    def fit(self, data: CounterfactualData) -> None:
        """Compute the matrix on the training groups, and apply it to all further embeddings."""
        groups = groups_of(data)["train"]
        texts = [
            text
            for group in groups
            for text in (group.texts if self.neutral else [group.versions[name] for name in group.attributes])
        ]
        versions_GVD = self.encoder.embed(texts, progress="embeddings of the versions").unflatten(0, (len(groups), -1))
        matrix, self.erased = eraser(versions_GVD, within=self.covariance == "within", ridge=self.ridge)
        project(self.encoder, matrix, general=True)

    def facts(self) -> dict[str, object]:
        """Return the facts for the run's record, including the number of erased dimensions."""
        return super().facts() | {"dimensions_erased": self.erased}


def eraser(versions_GVD: Tensor, *, within: bool, ridge: float) -> tuple[Tensor, int]:
    """Return the matrix (D, D) that erases attributes from embeddings, and the number of erased dimensions.

    The matrix is I - S^(1/2) U U^T S^(-1/2), where S is the covariance of embeddings with its ridge, and the columns of
    U are an orthonormal basis of S^(-1/2) times the covariance of embeddings and classes. A pseudo-inverse is used for
    directions without variance.

    Args:
        versions_GVD: Embeddings of the versions of every group, with the versions in the same order.
        within: Whether the covariance uses differences from a group's mean instead of the mean of all embeddings.
        ridge: Share of the mean eigenvalue that is added to every eigenvalue.

    Raises:
        FairlabError: The mean embeddings of the versions are equal.
    """
    versions = versions_GVD.double()
    centred = versions - versions.mean(dim=(0, 1))
    weighed = versions - versions.mean(dim=1, keepdim=True) if within else centred
    flat = weighed.flatten(0, 1)
    values, vectors = torch.linalg.eigh(flat.T @ flat / len(flat))
    values = values.clamp(min=0.0) + ridge * values.mean()
    known = values > values.max() * LEAST
    root = (vectors * values.sqrt()) @ vectors.T
    inverse = (vectors[:, known] / values[known].sqrt()) @ vectors[:, known].T
    differences_VD = centred.mean(dim=0)
    bases, strengths, _ = torch.linalg.svd(inverse @ differences_VD.T, full_matrices=False)
    kept = bases[:, strengths > strengths.max() * 1e-6]
    if not kept.shape[1]:
        raise FairlabError("the versions of all groups have the same embedding, so no direction can be erased")
    return (torch.eye(len(root), dtype=root.dtype) - root @ kept @ kept.T @ inverse).float(), kept.shape[1]
