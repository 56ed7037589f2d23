"""Base class of DPCE and ADEPT-F, which debias neutral words with prototypes of the attributes.

Shape letters: B sentences, T tokens, L layers (the embedding layer is the first), D width, A attributes.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torchmetrics import MeanMetric

from fairlab.backbones.backbone import TOKENS_PER_BATCH, Backbone, batches_by_tokens
from fairlab.backbones.hidden_states import hidden_states, target_vectors, train_only_the_encoder
from fairlab.data.attribute_sentences import Sentence, SentenceBatch, as_sentences, sentences_of
from fairlab.data.counterfactual import GroupBatch
from fairlab.data.word_lists import NEUTRAL_KIND
from fairlab.distributed import ranks
from fairlab.losses.drift import Drift, drift_loss
from fairlab.methods.base import Trained
from fairlab.types import Count, FairlabError, NotNegative, Positive


@dataclass(frozen=True)
class Switches:
    """Details that differ between the papers, their official code and a corrected version of the code.

    Attributes:
        shifted: Whether words of several subwords are read one position to the left, see
            :func:`fairlab.backbones.hidden_states.target_vectors`.
        pads_in_prototypes: Whether prototypes are computed without an attention mask, so that padding is attended to.
        pads_in_losses: Whether hidden states in training are computed without an attention mask, so that padding is
            attended to.
        drift: Form of the representation loss, see :func:`fairlab.losses.drift.drift_loss`.
    """

    shifted: bool
    pads_in_prototypes: bool
    pads_in_losses: bool
    drift: Drift


class PrototypeDebiasing(Trained, ABC):
    """Base class of methods that train an encoder on neutral and attribute sentences, together or in turn.

    A prototype is the mean hidden state, layer by layer, of an attribute's words in all training sentences. It is
    recomputed at the start of every epoch. On neutral sentences the loss is ``alpha`` times the method's bias loss of
    the neutral words against the prototypes. On attribute sentences, the loss is ``beta`` times the drift of all hidden
    states from the original encoder's hidden states. A batch of counterfactual groups contains both kinds of sentence,
    and its loss is the sum of both losses.

    Args:
        encoder: Backbone to debias, trained in place.
        compat: Version of the loss, which selects the method's switches from ``modes``: ``paper``, ``official`` (what
            the authors' code computes) or ``fixed``.
        alpha: Weight of the bias loss, >= 0.
        beta: Weight of the representation loss, >= 0.
        lr: Initial learning rate of AdamW, which decays linearly to 0.
        dropout: Whether the encoder's own dropout is active in training.
        epochs: Number of passes over the training sentences.
        validate_every: Number of training steps between validations.
        seed: Seed of the dropout. The randomness of a step depends only on the seed and the step, so a resumed run
            repeats it.

    Raises:
        FairlabError: The mode is unknown, the data has no target words (in ``setup``), or the loss is not finite (in
            training).
    """

    title: str
    limits = (
        "Trained and measured on English and on the listed attributes only. Neutral words lose the attributes' mean "
        "direction, which does not imply fairness on other axes, in other languages, or in decisions based on it."
    )
    clip = 1.0  # as in both official implementations
    modes: ClassVar[Mapping[str, Switches]]
    prototypes: Tensor

    def __init__(
        self,
        encoder: Backbone,
        *,
        compat: Literal["paper", "official", "fixed"],
        alpha: NotNegative,
        beta: NotNegative,
        lr: Positive,
        dropout: bool,
        epochs: Count,
        validate_every: Count,
        seed: int,
    ) -> None:
        super().__init__()
        if compat not in self.modes:
            raise FairlabError(f"method.compat must be {', '.join(self.modes)}, not {compat}")
        # Storing it in a list keeps the original out of training, checkpoints and parameter counts.
        self.original = [copy.deepcopy(encoder.transformer).eval().requires_grad_(False)]
        self.encoder = encoder.train(dropout)
        self.switches = self.modes[compat]
        self.alpha = alpha
        self.beta = beta
        self.lr = lr
        self.epochs = epochs
        self.validate_every = validate_every
        self.seed = seed
        self.sentences: dict[str, list[Sentence]] = {}
        self.bias_mean, self.representation_mean = MeanMetric(), MeanMetric()
        train_only_the_encoder(encoder)

    @abstractmethod
    def bias_loss(self, neutral_BLD: Tensor) -> Tensor:
        """Return the scalar bias loss of a batch's neutral words against ``self.prototypes`` (A, L, D)."""

    def setup(self, stage: str) -> None:
        """Read the sentences from the data, and allocate the prototypes."""
        if stage != "fit":
            return
        if ranks() > 1:
            raise FairlabError(
                "this method compares all sentences of a batch, so it trains in one process; give trainer=auto"
            )
        data: Any = self.trainer.datamodule  # type: ignore[attr-defined]
        self.original[0].to(self.trainer.strategy.root_device)
        self.sentences = {split: sentences_of(data, split) for split in ("train", "validation")}
        for split, sentences in self.sentences.items():
            kinds = {sentence.kind for sentence in sentences}
            if lacking := kinds - {sentence.kind for sentence in sentences if sentence.targets}:
                raise FairlabError(
                    f"no {split} sentence of kind {min(lacking)} (0 is neutral) has a word that differs from the other "
                    "versions; give groups whose versions differ in words"
                )
        attributes = max(sentence.kind for sentence in self.sentences["train"])
        layers = self.encoder.model.config.num_hidden_layers + 1
        self.register_buffer("prototypes", torch.zeros(attributes, layers, self.encoder.hidden_width))
        self.steps_an_epoch = data.total_batches // data.epochs

    def on_train_batch_start(self, batch: SentenceBatch | GroupBatch, batch_idx: int) -> None:
        """Compute the prototypes if an epoch starts, and seed the random generator for the step."""
        if batch_idx % self.steps_an_epoch == 0:
            self.prototypes.copy_(self.mean_target_vectors())
        super().on_train_batch_start(batch, batch_idx)

    def mean_target_vectors(self) -> Tensor:
        """Return the prototypes (A, L, D) computed with the current encoder, without dropout."""
        sums = torch.zeros_like(self.prototypes)
        counts = torch.zeros(len(sums), device=sums.device)
        marked = [sentence for sentence in self.sentences["train"] if sentence.targets]
        with self.encoder.measuring():
            for kind in range(1, len(sums) + 1):
                sentences = [sentence for sentence in marked if sentence.kind == kind]
                for rows in batches_by_tokens([len(s.token_ids) for s in sentences], TOKENS_PER_BATCH):
                    batch = SentenceBatch.of([sentences[row] for row in rows], self.encoder.padding_id)
                    batch = batch.to(sums.device)
                    hidden_BTLD = self.hidden(self.encoder.transformer, batch, self.switches.pads_in_prototypes)
                    vectors_BLD = target_vectors(hidden_BTLD, batch.targets, shifted=self.switches.shifted)
                    sums[kind - 1] += vectors_BLD.sum(dim=0)
                    counts[kind - 1] += len(batch)
        return sums / counts[:, None, None]

    def hidden(self, transformer: nn.Module, batch: SentenceBatch, attend_to_pads: bool) -> Tensor:
        """Return the hidden states (B, T, L, D) of a batch."""
        mask_BT = torch.ones_like(batch.attention_mask) if attend_to_pads else batch.attention_mask
        return hidden_states(transformer, batch.input_ids, mask_BT)

    def losses(self, batch: SentenceBatch) -> dict[str, Tensor]:
        """Return the parts of the loss for the kinds of sentences that the batch contains."""
        pads, parts = self.switches.pads_in_losses, {}
        hidden_BTLD = self.hidden(self.encoder.transformer, batch, pads)
        neutral = (batch.kinds == NEUTRAL_KIND) & batch.targets.any(dim=1)
        if neutral.any():
            vectors_BLD = target_vectors(hidden_BTLD[neutral], batch.targets[neutral], shifted=self.switches.shifted)
            parts["bias_loss"] = self.bias_loss(vectors_BLD)
        attributes = batch.kinds != NEUTRAL_KIND
        if attributes.any():
            kept = batch[attributes]
            with torch.no_grad():
                original_BTLD = self.hidden(self.original[0], kept, pads)
            mask_BT = kept.attention_mask
            parts["representation_loss"] = drift_loss(
                hidden_BTLD[attributes], original_BTLD, mask_BT, self.switches.drift
            )
        return parts

    def weighted(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Return the weighted sum of the parts of the loss."""
        zero = torch.zeros((), device=self.device)
        return self.alpha * parts.get("bias_loss", zero) + self.beta * parts.get("representation_loss", zero)

    def training_step(self, batch: SentenceBatch | GroupBatch, batch_idx: int) -> Tensor | None:
        """Return the loss on one batch."""
        sentences = as_sentences(batch, self.sentences["train"], self.encoder.padding_id)
        parts = self.losses(sentences)
        loss = self.weighted(parts)
        logged = {"loss": loss.detach()} | {name: value.detach() for name, value in parts.items()}
        self.log_training(logged, len(sentences))
        return loss

    def validation_step(self, batch: SentenceBatch | GroupBatch, batch_idx: int) -> None:
        """Compute the losses on held-out sentences."""
        sentences = as_sentences(batch, self.sentences["validation"], self.encoder.padding_id)
        parts = self.losses(sentences)
        neutral = int((sentences.kinds == NEUTRAL_KIND).sum())
        if "bias_loss" in parts:
            self.bias_mean.update(parts["bias_loss"], weight=neutral)
        if "representation_loss" in parts:
            self.representation_mean.update(parts["representation_loss"], weight=len(sentences) - neutral)

    def on_validation_epoch_end(self) -> None:
        """Log the losses, averaged over all held-out sentences."""
        parts = {"bias_loss": self.bias_mean.compute(), "representation_loss": self.representation_mean.compute()}
        self.bias_mean.reset()
        self.representation_mean.reset()
        loss = self.weighted(parts)
        self.refuse_validation_loss(loss)
        self.log_dict({f"validation/{name}": value for name, value in ({"loss": loss} | parts).items()})

    def facts(self) -> dict[str, object]:
        """Return the facts about the trained model that the record holds in addition to the configuration."""
        return super().facts() | asdict(self.switches)
