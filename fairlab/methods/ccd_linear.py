"""Content-conditional debiasing as one linear map of an encoder's embeddings, found in seconds.

The loss is that of CCD ("LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", section 3.2, equation 2).
Two things are this project's: one matrix is trained in place of the encoder, so that a change holds for all texts
alike, and neutral texts are not kept where they are (equation 3) but lose their lean along the directions in which
attributes differ. Equation 3 keeps that lean, and with it the associations that SEAT and Bias-IR measure.
Shape letters: G groups, V versions of a group, N neutral texts, K directions, D embedding width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.projection import project
from fairlab.data.counterfactual import CounterfactualData, groups_of
from fairlab.data.groups import groups_alike, groups_place
from fairlab.losses.ccd import Bandwidth, bandwidth, bias_loss, distances_to_neutral
from fairlab.methods.base import Fitted, refuse_below, refuse_unless_above_zero
from fairlab.text.json_text import from_json
from fairlab.types import FairlabError

RIDGE = 0.03  # of the regression of the lean, for some thousand texts of unit length


@dataclass(frozen=True)
class MapSettings:
    """How a map is trained; see :class:`CCDLinear`."""

    drift: float
    rho: Bandwidth
    lr: float
    epochs: int
    batch_size: int
    seed: int


class CCDLinear(Fitted):
    """Multiplies embeddings by a matrix at which a group's attributes are equally far from its neutral text.

    Args:
        encoder: the backbone to debias, whose weights stay as they are.
        lean: how much of the lean of neutral texts the matrix takes away before it is trained, from 0 to 1.
        drift: weight of the squared distance of the matrix from the one it starts as, divided by its width so that
            one value serves encoders of any width, >= 0.
        rho: bandwidth of the kernel, see :func:`fairlab.losses.ccd.bandwidth`.
        lr: learning rate of Adam at the start; it falls linearly to 0.
        epochs: passes over the groups.
        batch_size: groups of a step.
        short: further groups of short sentences to train on, as a ``data.path``; None takes the training groups alone.
        directions: further groups, each as a ``data.path``, whose attributes say a direction more to take lean away
            from, such as names; the matrix is not trained on them.
        anchors: further neutral texts, JSON lines with ``text``, whose lean is taken away; None takes none.
        seed: seed of the order of groups.

    Raises:
        FairlabError: a value is out of range; in ``fit``, when the data is no counterfactual groups, or those of
            ``short`` or ``directions`` have other attributes.
    """

    title = "content-conditional debiasing by one linear map"
    limits = (
        "The map is part of the sentence-transformers model; hidden states read with transformers alone are those of "
        "the original model. It was chosen and measured on English and gender, and says nothing about other axes."
    )
    citation = (
        "The map is fairlab's own; its loss is that of content-conditional debiasing (Deng et al. 2024, "
        "arXiv:2402.14208)."
    )

    def __init__(
        self,
        encoder: Backbone,
        *,
        lean: float,
        drift: float,
        rho: Bandwidth,
        lr: float,
        epochs: int,
        batch_size: int,
        short: str | None,
        directions: Sequence[str],
        anchors: str | None,
        seed: int,
    ) -> None:
        refuse_below(0, lean=lean, drift=drift)
        refuse_unless_above_zero(lr=lr)
        refuse_below(1, epochs=epochs, batch_size=batch_size)
        if lean > 1:
            raise FairlabError(f"method.lean must be a share from 0 to 1, but is {lean}; lower it")
        self.encoder = encoder
        self.lean = lean
        self.settings = MapSettings(drift, rho, lr, epochs, batch_size, seed)
        self.short = short
        self.directions = list(directions)
        self.anchors = anchors
        self.losses: list[float] = []

    def fit(self, data: CounterfactualData) -> None:
        """Embed the training groups and the other texts, find the matrix, and multiply by it from now on."""
        groups = list(groups_of(data)["train"])
        kinds = [groups]
        for setting, path in (("short", self.short), *(("directions", path) for path in self.directions)):
            if path is not None:
                kinds.append(groups_alike(groups, path, f"method.{setting}"))
        anchors = anchor_texts(self.anchors) if self.anchors is not None else []
        texts = [text for kind in kinds for group in kind for text in group.texts]
        embeddings = self.encoder.embed([*texts, *anchors], progress="original embeddings")
        of_groups, anchors_ND = embeddings[: len(texts)], embeddings[len(texts) :]
        kinds_GVD = of_groups.unflatten(0, (-1, len(groups[0].texts))).split([*map(len, kinds)])
        start = lean_removed(kinds_GVD, anchors_ND, self.lean)
        trained = torch.cat(kinds_GVD[: 1 if self.short is None else 2])
        matrix, self.losses = trained_map(trained, start, self.settings)
        project(self.encoder, matrix, general=True)

    def facts(self) -> dict[str, object]:
        """What the record holds beside the configuration: the loss of the first and of the last epoch."""
        ends = {"first_epoch_loss": self.losses[0], "last_epoch_loss": self.losses[-1]} if self.losses else {}
        return super().facts() | ends


def anchor_texts(path: str) -> list[str]:
    """The texts of JSON lines with the key ``text``."""
    lines = Path(groups_place(path)).read_text(encoding="utf-8").splitlines()
    rows = [from_json(line) for line in lines if line.strip()]
    if not rows or not all(isinstance(row, dict) and isinstance(row.get("text"), str) for row in rows):
        raise FairlabError(f'{path} must hold lines such as {{"text": "..."}}; mend it, or take method.anchors=null')
    return [row["text"] for row in rows]


def lean_removed(kinds_GVD: Sequence[Tensor], anchors_ND: Tensor, share: float) -> Tensor:
    """The matrix (D, D) that takes the lean of neutral texts away and leaves all else as it is.

    Each kind of groups (passages, names, ...) has a direction: the mean difference of the first and the last attribute.
    Neutral texts, and the middle between a group's attributes, lean along these directions. The lean is predicted by
    ridge regression from what is orthogonal to all of them, and a share of the prediction is subtracted:
    W = I - U^T B^T, the rows of U an orthonormal basis of the directions, U B = 0. Texts of an attribute keep the
    difference that content cannot predict.

    One direction is not enough: the differences of names, of words and of pronouns point to directions of their own,
    and once the lean along one is gone, what is left along the others decides.

    Args:
        kinds_GVD: embeddings of groups of each kind, neutral first.
        anchors_ND: embeddings of other neutral texts.
        share: how much of the lean is taken away, from 0 to 1.
    """
    groups = [kind.double() for kind in kinds_GVD]
    means_KD = torch.stack([(kind[:, 1] - kind[:, -1]).mean(dim=0) for kind in groups])
    _, strengths, rows_KD = torch.linalg.svd(means_KD, full_matrices=False)
    U_KD = rows_KD[strengths > 1e-6 * strengths.max()]
    neutral = torch.cat([*(kind[:, 0] for kind in groups), *(kind[:, 1:].mean(dim=1) for kind in groups)])
    rows = torch.cat([neutral, anchors_ND.double()])
    lean = rows @ U_KD.T
    content = rows - lean @ U_KD
    eye = torch.eye(U_KD.shape[1], dtype=torch.float64)
    B_DK = torch.linalg.solve(content.T @ content + RIDGE * eye, content.T @ lean)
    B_DK = B_DK - U_KD.T @ (U_KD @ B_DK)
    return (eye - share * U_KD.T @ B_DK.T).float()


def mapping(embeddings: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """How vectors are multiplied by a matrix: back to unit length where the embeddings are of unit length."""
    unit = torch.allclose(embeddings.norm(dim=-1), torch.ones(()), atol=1e-3)
    return lambda x, W: nn.functional.normalize(x @ W.T, dim=-1) if unit else x @ W.T


def trained_map(groups_GVD: Tensor, start: Tensor, settings: MapSettings) -> tuple[Tensor, list[float]]:
    """A matrix (D, D) trained by equation 2 on embeddings of groups, and the mean loss of every epoch.

    Args:
        groups_GVD: embeddings of groups, neutral first.
        start: the matrix it starts as, which the drift holds it near.
        settings: weight and steps.
    """
    mapped = mapping(groups_GVD)
    rho = bandwidth(distances_to_neutral(groups_GVD[:, 1:], groups_GVD[:, 0]), settings.rho)
    matrix = nn.Parameter(start.clone())
    optimizer = torch.optim.Adam([matrix], lr=settings.lr)
    size = min(settings.batch_size, len(groups_GVD))
    steps = len(groups_GVD) // size  # what is left over is drawn in other epochs
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / (steps * settings.epochs))
    drawn = torch.Generator().manual_seed(settings.seed)
    losses = []
    for _ in range(settings.epochs):
        total = 0.0
        for rows in torch.randperm(len(groups_GVD), generator=drawn)[: steps * size].split(size):
            versions = mapped(groups_GVD[rows], matrix)
            loss = bias_loss(versions[:, 1:], versions[:, 0], rho).mean()
            loss = loss + settings.drift * (matrix - start).square().sum() / len(matrix)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            falling.step()
            total += loss.item()
        losses.append(total / steps)
    return matrix.detach(), losses
