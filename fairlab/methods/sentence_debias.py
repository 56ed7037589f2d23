"""SentenceDebias: projection that removes from embeddings the directions in which versions of a sentence differ.

Source: Liang et al. 2020, "Towards Debiasing Sentence Representations", as Meade et al. 2022 apply it (bias-bench).
Shape letters: G groups, A attributes, D embedding width, K components.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.projection import away_from, project
from fairlab.data.counterfactual import CounterfactualData, groups_of
from fairlab.methods.base import Fitted
from fairlab.types import Count, FairlabError


class SentenceDebias(Fitted):
    """Method that finds the bias subspace of an encoder's embeddings and projects it out, without training.

    Args:
        encoder: Backbone to debias, to which the projection is added.
        components: Number of dimensions of the removed subspace.
        seed: Unused; the method is deterministic.

    Raises:
        FairlabError: The number of components is less than one or, in ``fit``, the data is not counterfactual groups.
    """

    title = "projecting out the bias subspace (SentenceDebias)"
    limits = (
        "The projection is part of the sentence-transformers model; hidden states read with transformers alone, and "
        "its masked-LM head, come from the original model. Only linear information is removed, on the listed "
        "attributes in English."
    )
    citation = """@inproceedings{liang2020towards,
  title = {Towards Debiasing Sentence Representations},
  author = {Liang, Paul Pu and Li, Irene Mengze and Zheng, Emily and Lim, Yao Chong and Salakhutdinov, Ruslan
    and Morency, Louis-Philippe},
  booktitle = {Proceedings of ACL},
  year = {2020}
}"""

    def __init__(self, encoder: Backbone, *, components: Count, seed: int) -> None:
        self.encoder = encoder
        self.components = components
        self.explained = float("nan")

    def fit(self, data: CounterfactualData) -> None:
        """Compute the bias subspace from the attribute versions of the training groups, and project it out."""
        groups = groups_of(data)["train"]
        texts = [group.versions[name] for group in groups for name in group.attributes]
        embeddings = self.encoder.embed(texts, progress="embeddings of the versions").unflatten(0, (len(groups), -1))
        directions_KD, self.explained = bias_subspace(embeddings, self.components)
        project(self.encoder, away_from(directions_KD))

    def facts(self) -> dict[str, object]:
        """Return the facts for the run's record, including the share of variance that the subspace explains."""
        return super().facts() | {"explained_variance": self.explained}


def bias_subspace(embeddings_GAD: Tensor, components: int) -> tuple[Tensor, float]:
    """Return the first principal components (K, D) of embeddings centred per group, and their share of the variance.

    Embeddings are scaled to unit length first.

    Raises:
        FairlabError: No group has versions that differ.
    """
    unit_GAD = nn.functional.normalize(embeddings_GAD.double(), dim=-1)
    centred = (unit_GAD - unit_GAD.mean(dim=1, keepdim=True)).flatten(0, 1)
    _, strengths, rows = torch.linalg.svd(centred, full_matrices=False)
    variances = strengths.square()
    if not variances.sum() > 0:
        raise FairlabError("the versions of all groups have the same embedding, so there is no bias direction to find")
    return rows[:components].float(), float(variances[:components].sum() / variances.sum())
