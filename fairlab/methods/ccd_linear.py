"""Content-conditional debiasing by one linear map of an encoder's embeddings, which is computed in seconds.

The loss is the CCD loss ("LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", section 3.2, equation
2). Two aspects are specific to this project. First, one matrix is trained instead of the encoder, so a change applies
to all texts alike. Second, neutral texts are not preserved (equation 3) but lose their lean, that is, their components
along the directions in which attributes differ. Equation 3 keeps the lean, and with it the associations that SEAT and
Bias-IR measure.
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
from fairlab.methods.base import Fitted
from fairlab.text.reading import read_json_lines
from fairlab.types import Count, FairlabError, NotNegative, Positive, Share

RIDGE = 0.03  # ridge penalty of the regression that predicts the lean, for a few thousand texts of unit length


@dataclass(frozen=True)
class MapSettings:
    """Training settings of a map; see :class:`CCDLinear`."""

    drift: float
    rho: Bandwidth
    lr: float
    epochs: int
    batch_size: int
    seed: int


class CCDLinear(Fitted):
    """Method that multiplies embeddings by a matrix so that a group's attributes are equally far from neutral text.

    Lean is the part of a neutral text's embedding along the directions in which attributes differ.

    Args:
        encoder: Backbone to debias, whose weights stay unchanged.
        lean: Share of the lean of neutral texts that the initial matrix removes, from 0 to 1.
        drift: Weight, >= 0, of the squared distance between the matrix and its initial value, divided by the width so
            that one value works for encoders of any width.
        rho: Bandwidth of the kernel, see :func:`fairlab.losses.ccd.bandwidth`.
        lr: Initial learning rate of Adam, which decays linearly to 0.
        epochs: Number of passes over the groups.
        batch_size: Number of groups per step.
        short: Additional training groups of short sentences, as a ``data.path``; None to use only the training groups.
        directions: Additional sets of groups, such as names, each as a ``data.path``. Each set adds one direction along
            which lean is removed; the matrix is not trained on these groups.
        anchors: Path of a JSON Lines file with additional neutral texts (key ``text``) whose lean is removed, or None.
        seed: Seed for the order of the groups.

    Raises:
        FairlabError: In ``fit``, the data is not counterfactual groups or the attributes of
            ``short`` or ``directions`` differ from the training groups' attributes.
    """

    title = "content-conditional debiasing by one linear map"
    limits = (
        "The map is part of the sentence-transformers model; hidden states read with transformers alone come from "
        "the original model. It was chosen and measured on English and gender, not on other axes."
    )
    citation = (
        "The map is fairlab's own; its loss comes from content-conditional debiasing (Deng et al. 2024, "
        "arXiv:2402.14208)."
    )

    def __init__(
        self,
        encoder: Backbone,
        *,
        lean: Share,
        drift: NotNegative,
        rho: Bandwidth,
        lr: Positive,
        epochs: Count,
        batch_size: Count,
        short: str | None,
        directions: Sequence[str],
        anchors: str | None,
        seed: int,
    ) -> None:
        self.encoder = encoder
        self.lean = lean
        self.settings = MapSettings(drift, rho, lr, epochs, batch_size, seed)
        self.short = short
        self.directions = list(directions)
        self.anchors = anchors
        self.losses: list[float] = []

    def fit(self, data: CounterfactualData) -> None:
        """Embed the groups and additional texts, compute the matrix, and apply it to all further embeddings."""
        groups = list(groups_of(data)["train"])
        kinds = [groups]
        for setting, path in (("short", self.short), *(("directions", path) for path in self.directions)):
            if path is not None:
                kinds.append(groups_alike(groups, path, f"method.{setting}"))
        anchors = anchor_texts(self.anchors) if self.anchors is not None else []
        texts = [text for kind in kinds for group in kind for text in group.texts]
        embeddings = self.encoder.embed([*texts, *anchors], progress="original embeddings")
        of_groups, anchors_ND = embeddings[: len(texts)], embeddings[len(texts) :]
        kinds_GVD = of_groups.unflatten(0, (sum(map(len, kinds)), -1)).split([*map(len, kinds)])
        start = lean_removed(kinds_GVD, anchors_ND, self.lean)
        trained = torch.cat(kinds_GVD[: 1 if self.short is None else 2])
        matrix, self.losses = trained_map(trained, start, self.settings)
        project(self.encoder, matrix, general=True)

    def facts(self) -> dict[str, object]:
        """Return the facts for the run's record, including the mean loss of the first and the last epoch."""
        ends = {"first_epoch_loss": self.losses[0], "last_epoch_loss": self.losses[-1]} if self.losses else {}
        return super().facts() | ends


def anchor_texts(path: str) -> list[str]:
    """Return the value of ``text`` in each line of a JSON Lines file."""
    rows = [row for _, row in read_json_lines(Path(groups_place(path)))]
    if not rows or not all(isinstance(row, dict) and isinstance(row.get("text"), str) for row in rows):
        raise FairlabError(f'{path} must hold lines such as {{"text": "..."}}; fix it, or give method.anchors=null')
    return [row["text"] for row in rows]


def lean_removed(kinds_GVD: Sequence[Tensor], anchors_ND: Tensor, share: float) -> Tensor:
    """Return the matrix (D, D) that removes the lean of neutral texts and preserves all other components.

    Each kind of groups (passages, names, ...) has a direction: the mean difference between the first and the last
    attribute. Neutral texts, and the midpoints between a group's attributes, lean along these directions. Ridge
    regression predicts the lean from the components orthogonal to all directions, and a share of the prediction is
    subtracted:

    W = I - U^T B^T, where the rows of U are an orthonormal basis of the directions and U B = 0. Texts about an
    attribute keep the difference that cannot be predicted from content.

    One direction is not enough, because names, words and pronouns differ along different directions. If the lean along
    one direction is removed, the lean along the other directions dominates.

    Args:
        kinds_GVD: Embeddings of the groups of each kind, with the neutral version first.
        anchors_ND: Embeddings of other neutral texts.
        share: Share of the lean to remove, from 0 to 1.
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
    return (eye - share * U_KD.T @ B_DK.T).float()


def mapping(embeddings: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a function that multiplies vectors by a matrix and renormalises them if embeddings have unit length."""
    unit = torch.allclose(embeddings.norm(dim=-1), torch.ones(()), atol=1e-3)
    return lambda x, W: nn.functional.normalize(x @ W.T, dim=-1) if unit else x @ W.T


def trained_map(groups_GVD: Tensor, start: Tensor, settings: MapSettings) -> tuple[Tensor, list[float]]:
    """Train a matrix (D, D) with the CCD loss (equation 2), and return it with the mean loss of every epoch.

    Args:
        groups_GVD: Embeddings of the training groups, with the neutral version first.
        start: Initial matrix; the drift term keeps the result close to it.
        settings: Training settings, such as the weight of the drift term.
    """
    mapped = mapping(groups_GVD)
    rho = bandwidth(distances_to_neutral(groups_GVD[:, 1:], groups_GVD[:, 0]), settings.rho)
    matrix = nn.Parameter(start.clone())
    optimizer = torch.optim.Adam([matrix], lr=settings.lr)
    size = min(settings.batch_size, len(groups_GVD))
    steps = len(groups_GVD) // size  # groups that remain are drawn in other epochs
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
