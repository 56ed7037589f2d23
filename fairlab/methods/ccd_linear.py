"""Content-conditional debiasing as one linear map of an encoder's embeddings, found in seconds.

The loss is that of CCD ("LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", section 3.2). Two things
are this project's: one matrix is trained in place of the encoder, so that a change holds for all texts alike, and the
neutral texts are kept where they are but for their lean along the direction in which the attributes differ. Equation 3
keeps that lean, and with it the associations that SEAT and Bias-IR measure.
Shape letters: G groups, A attributes, B groups of a batch, N neutral texts, D embedding width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.projection import project
from fairlab.data.counterfactual import CounterfactualData, groups_of
from fairlab.data.groups import groups_place, read_groups
from fairlab.losses.ccd import Bandwidth, bandwidth, bias_loss, distances_to_neutral, representation_loss
from fairlab.methods.base import Fitted, refuse_below, refuse_unless_above_zero
from fairlab.text.json_text import from_json
from fairlab.types import FairlabError

RIDGE = 0.1  # of the regression of the lean, for some thousand texts of unit length


@dataclass(frozen=True)
class MapSettings:
    """How a map is trained; see :class:`CCDLinear`."""

    beta: float
    drift: float
    lean: bool
    rho: Bandwidth
    lr: float
    epochs: int
    batch_size: int
    seed: int


class CCDLinear(Fitted):
    """Multiplies embeddings by a matrix at which a group's attributes are equally far from its neutral text.

    Args:
        encoder: the backbone to debias, whose weights stay as they are.
        beta: weight of the representation loss (equation 4), >= 0.
        drift: weight of the squared distance of the matrix from the one it starts as, >= 0.
        lean: whether the matrix starts as the one that takes the lean of neutral texts away; else as the identity.
        rho: bandwidth of the kernel, see :func:`fairlab.losses.ccd.bandwidth`.
        lr: learning rate of Adam at the start; it falls linearly to 0.
        epochs: passes over the groups.
        batch_size: groups of a step, and as many of the anchors.
        short: further groups of short sentences, as a ``data.path``; None takes the training groups alone.
        anchors: further neutral texts, JSON lines with ``text``, which are kept in place too; None takes none.
        seed: seed of the order of groups and anchors.

    Raises:
        FairlabError: a value is out of range; in ``fit``, when the data is no counterfactual groups, or those of
            ``short`` have other attributes.
    """

    title = "content-conditional debiasing by one linear map"
    limits = (
        "The map is part of the sentence-transformers model; hidden states read with transformers alone are those of "
        "the original model. It was chosen and measured on English and gender, and says nothing about other axes."
    )

    def __init__(
        self,
        encoder: Backbone,
        *,
        beta: float,
        drift: float,
        lean: bool,
        rho: Bandwidth,
        lr: float,
        epochs: int,
        batch_size: int,
        short: str | None,
        anchors: str | None,
        seed: int,
    ) -> None:
        refuse_below(0, beta=beta, drift=drift)
        refuse_unless_above_zero(lr=lr)
        refuse_below(1, epochs=epochs, batch_size=batch_size)
        self.encoder = encoder
        self.settings = MapSettings(beta, drift, lean, rho, lr, epochs, batch_size, seed)
        self.short = short
        self.anchors = anchors
        self.losses: list[float] = []

    def fit(self, data: CounterfactualData) -> None:
        """Embed the training groups and the short texts, find the matrix, and multiply by it from now on."""
        groups = list(groups_of(data)["train"])
        if self.short is not None:
            short = read_groups(self.short)
            if short[0].attributes != groups[0].attributes:
                raise FairlabError(
                    f"{self.short} has the attributes {', '.join(short[0].attributes)}, and the training groups have "
                    f"{', '.join(groups[0].attributes)}; give method.short groups of these, or method.short=null"
                )
            groups += short
        anchors = anchor_texts(self.anchors) if self.anchors is not None else [group.texts[0] for group in groups]
        texts = [text for group in groups for text in group.texts]
        embeddings = self.encoder.embed([*texts, *anchors], progress="original embeddings")
        of_groups = embeddings[: len(texts)].unflatten(0, (len(groups), -1))
        matrix, self.losses = trained_map(of_groups, embeddings[len(texts) :], self.settings)
        project(self.encoder, matrix, general=True)

    def facts(self) -> dict[str, object]:
        """What the record holds beside the configuration: the loss of the first and of the last epoch."""
        ends = {"first_epoch_loss": self.losses[0], "last_epoch_loss": self.losses[-1]} if self.losses else {}
        return {"title": self.title, "limits": self.limits, **ends}


def anchor_texts(path: str) -> list[str]:
    """The texts of JSON lines with the key ``text``."""
    lines = Path(groups_place(path)).read_text(encoding="utf-8").splitlines()
    rows = [from_json(line) for line in lines if line.strip()]
    if not rows or not all(isinstance(row, dict) and isinstance(row.get("text"), str) for row in rows):
        raise FairlabError(f'{path} must hold lines such as {{"text": "..."}}; mend it, or take method.anchors=null')
    return [row["text"] for row in rows]


def lean_removed(groups_GVD: Tensor, anchors_ND: Tensor) -> Tensor:
    """The matrix (D, D) that takes the lean of neutral texts away and leaves all else as it is.

    Neutral texts, and the middle between a group's attributes, lean along the direction in which attributes differ
    most. The lean is predicted by ridge regression from what is orthogonal to that direction, and the prediction is
    subtracted: W = I - u b^T, b orthogonal to u. Texts of an attribute keep the difference that content cannot predict.

    Args:
        groups_GVD: embeddings of groups, neutral first; the first and the last attribute say the direction.
        anchors_ND: embeddings of other neutral texts.
    """
    groups, anchors = groups_GVD.double(), anchors_ND.double()
    neutral, middle = groups[:, 0], groups[:, 1:].mean(dim=1)
    differences = groups[:, 1] - groups[:, -1]
    u_D = torch.linalg.svd(differences, full_matrices=False)[2][0]
    rows = torch.cat([neutral, middle, anchors, neutral - middle])
    lean = rows @ u_D
    content = rows - torch.outer(lean, u_D)
    eye = torch.eye(len(u_D), dtype=torch.float64)
    b_D = torch.linalg.solve(content.T @ content + RIDGE * eye, content.T @ lean)
    b_D = b_D - (b_D @ u_D) * u_D
    return (eye - torch.outer(u_D, b_D)).float()


def mapping(embeddings: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """How vectors are multiplied by a matrix: back to unit length where the embeddings are of unit length."""
    unit = torch.allclose(embeddings.norm(dim=-1), torch.ones(()), atol=1e-3)
    return lambda x, W: nn.functional.normalize(x @ W.T, dim=-1) if unit else x @ W.T


def trained_map(groups_GVD: Tensor, anchors_ND: Tensor, settings: MapSettings) -> tuple[Tensor, list[float]]:
    """A matrix (D, D) trained by equation 4 on embeddings of groups, and the mean loss of every epoch.

    Args:
        groups_GVD: embeddings of groups, neutral first.
        anchors_ND: embeddings of other neutral texts, which the representation loss keeps in place like the groups'.
        settings: weights and steps.
    """
    mapped = mapping(groups_GVD)
    rho = bandwidth(distances_to_neutral(groups_GVD[:, 1:], groups_GVD[:, 0]), settings.rho)
    start = lean_removed(groups_GVD, anchors_ND) if settings.lean else torch.eye(groups_GVD.shape[-1])
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
            anchors = anchors_ND[torch.randint(len(anchors_ND), (size,), generator=drawn)]
            versions = mapped(groups_GVD[rows], matrix)
            kept = torch.cat([groups_GVD[rows, 0], anchors])
            moved = representation_loss(torch.cat([versions[:, 0], mapped(anchors, matrix)]), mapped(kept, start))
            loss = bias_loss(versions[:, 1:], versions[:, 0], rho).mean() + settings.beta * moved.mean()
            loss = loss + settings.drift * (matrix - start).square().sum()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            falling.step()
            total += loss.item()
        losses.append(total / steps)
    return matrix.detach(), losses
