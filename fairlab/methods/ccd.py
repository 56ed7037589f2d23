"""Content-conditional debiasing (CCD) of a text encoder.

Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", section 3.2. The paper does not specify
the pooling or the language-modelling head. In this implementation, the encoder is trained as part of its masked LM,
whose head stays frozen.
Shape letters: B groups, A attributes, D embedding width.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.hidden_states import train_only_the_encoder
from fairlab.data.counterfactual import CounterfactualData, GroupBatch
from fairlab.distributed import BatchShare, mean_or_zero
from fairlab.losses.ccd import (
    Bandwidth,
    alignment_loss,
    bandwidth,
    bias_loss,
    bias_loss_to_others,
    distances_to_neutral,
    representation_loss,
)
from fairlab.methods.base import Trained
from fairlab.metrics.cced import CCEDGap
from fairlab.text.papers import DENG_2024
from fairlab.types import Count, NotNegative, Positive


class CCD(Trained):
    """Method that trains an encoder to place all attributes of a group equally far from its neutral text.

    The embedding of the neutral text is preserved. Reference embeddings from the original encoder are computed once, in
    ``setup``, so that a second encoder in memory is not needed.

    Args:
        encoder: Backbone to debias, trained in place.
        beta: Weight of the representation loss (equation 4), >= 0.
        rho: Bandwidth of the kernel, see :func:`fairlab.losses.ccd.bandwidth`.
        neutral: Neutral texts that attributes are compared with: ``own`` for the neutral text of the group; ``batch``
            adds a second term over the neutral texts of the other groups in a device's batch.
        others: Weight of that second term, >= 0.
        alignment: Weight of the distance between a group's attributes, >= 0; see
            :func:`fairlab.losses.ccd.alignment_loss`.
        last_layers: Number of layers to train, counted from the last; None trains the whole encoder.
        lr: Learning rate of Adam.
        dropout: Whether the encoder's own dropout is active in training; it never applies to the reference embeddings.
        epochs: Number of passes over the training groups.
        validate_every: Number of training steps between validations.
        seed: Seed of the dropout. The randomness of a step depends only on the seed and the step, so a resumed run
            repeats it.

    Raises:
        FairlabError: There are fewer layers than ``last_layers``, the bandwidth leaves no gradient (in ``setup``), or
            the loss is not finite (in training).
    """

    title = "content-conditional debiasing (CCD)"
    limits = (
        "Trained and measured on English and on the listed attributes only. An equal distance to neutral text on "
        "these groups does not imply fairness on other axes, in other languages, or in decisions based on them."
    )
    citation = DENG_2024
    optimizer = torch.optim.Adam  # section 4
    schedule = None
    items_are = "groups"
    rho: Tensor

    def __init__(
        self,
        encoder: Backbone,
        *,
        beta: NotNegative,
        rho: Bandwidth,
        neutral: Literal["own", "batch"] = "own",
        others: NotNegative = 1.0,
        alignment: NotNegative = 0.0,
        last_layers: int | None = None,
        lr: Positive,
        dropout: bool,
        epochs: Count,
        validate_every: Count,
        seed: int,
    ) -> None:
        super().__init__()
        self.encoder = encoder.train(dropout)
        self.beta = beta
        self.rho_mode = rho
        self.neutral = neutral
        self.others = others
        self.alignment = alignment
        self.lr = lr
        self.epochs = epochs
        self.validate_every = validate_every
        self.seed = seed
        self.register_buffer("rho", torch.tensor(float("nan")))
        self.rho_others: float  # set in setup
        self.original: dict[str, Tensor] = {}
        self.validation_gap = CCEDGap()
        train_only_the_encoder(encoder, last_layers)

    def setup(self, stage: str) -> None:
        """Compute reference embeddings with the original encoder, and the bandwidth on the training split."""
        if stage != "fit":
            return
        data: CounterfactualData = self.trainer.datamodule  # type: ignore[attr-defined]
        self.encoder.to(self.trainer.strategy.root_device)
        train = data.groups["train"]
        texts = [text for group in train for text in group.texts]
        embeddings = self.encoder.embed(texts, progress="original embeddings").unflatten(0, (len(train), -1))
        validation = [group.texts[0] for group in data.groups["validation"]]
        device = self.trainer.strategy.root_device
        self.original = {"train": embeddings[:, 0].to(device), "validation": self.encoder.embed(validation).to(device)}
        attributes, neutral = embeddings[:, 1:], embeddings[:, 0]
        self.rho.fill_(bandwidth(distances_to_neutral(attributes, neutral), self.rho_mode))
        if self.neutral == "batch":
            self.rho_others = bandwidth(distances_to_neutral(attributes, neutral.roll(1, dims=0)), "rms")

    def forward(self, batch: GroupBatch) -> tuple[Tensor, Tensor]:
        """Return the embeddings of a batch: attribute versions (B, A, D) and neutral versions (B, D)."""
        if not batch.ids:
            none = self.empty_share(0, 3, self.encoder.width)
            return none[:, 1:], none[:, 0]
        embeddings = self.encoder(batch.input_ids, batch.attention_mask).float()  # bf16 is too coarse for distances
        embeddings = embeddings.unflatten(0, (len(batch.ids), -1))
        return embeddings[:, 1:], embeddings[:, 0]

    def losses(self, batch: GroupBatch, split: str) -> tuple[Tensor, dict[str, Tensor], Tensor]:
        """Return the training loss, its parts averaged over all processes, and distances to neutral texts (B, A)."""
        attributes_BAD, neutral_BD = self(batch)
        original_BD = self.original[split][batch.positions]
        bias = mean_or_zero(bias_loss(attributes_BAD, neutral_BD, self.rho))
        representation = mean_or_zero(representation_loss(neutral_BD, original_BD))
        parts = {"bias_loss": bias, "representation_loss": representation}
        loss = bias + self.beta * representation
        if self.neutral == "batch":
            parts["bias_loss_to_others"] = mean_or_zero(
                bias_loss_to_others(attributes_BAD, neutral_BD, self.rho_others)
            )
            loss = loss + self.others * parts["bias_loss_to_others"]
        if self.alignment:
            parts["alignment_loss"] = mean_or_zero(alignment_loss(attributes_BAD))
            loss = loss + self.alignment * parts["alignment_loss"]
        share = BatchShare(len(batch.ids), loss.device)
        parts["loss"] = loss
        parts = {name: share.mean(value) for name, value in parts.items()}
        return share.loss(loss), parts, distances_to_neutral(attributes_BAD, neutral_BD).detach()

    def training_step(self, batch: GroupBatch, batch_idx: int) -> Tensor:
        """Return the loss (equation 4) on one batch."""
        loss, parts, _ = self.losses(batch, "train")
        self.log_training(parts, len(batch.ids), batch.ids)
        return loss

    def validation_step(self, batch: GroupBatch, batch_idx: int) -> None:
        """Compute the losses and the CCED gap on held-out groups."""
        _, parts, distances_BA = self.losses(batch, "validation")
        self.refuse_validation_loss(parts["loss"], batch.ids)
        self.validation_gap.update(distances_BA)
        values = {f"validation/{name}": value for name, value in parts.items()}
        self.log_dict(values, batch_size=int(BatchShare(len(batch.ids), self.device).total))
        self.log("validation/cced_gap", self.validation_gap)

    def facts(self) -> dict[str, object]:
        """Return the facts about the trained model that the record holds in addition to the configuration."""
        return super().facts() | {"rho": float(self.rho)}
