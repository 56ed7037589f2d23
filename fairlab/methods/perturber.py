"""Training of a language model that rewrites a selected person in a text to another attribute.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 4 and appendix F (table 10).
Shape letters: N pairs, T tokens of the longest rewrite, M non-padding tokens, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torchmetrics import MeanMetric

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.causal_lm import CausalLM
from fairlab.data.perturbation_pairs import PairBatch, PerturbationPairs
from fairlab.distributed import BatchShare, mean_or_zero
from fairlab.methods.base import Trained
from fairlab.rewriting.decoding import PERT_SEP, SEP, can_rewrite, is_decoder_alone, target_logits
from fairlab.text.papers import QIAN_2022
from fairlab.types import Count, FairlabError, NotNegative, Positive, Share


class PerturberTraining(Trained):
    """Method that trains a model to rewrite a text, given a selected word and a target attribute.

    The model is an encoder-decoder (BART, T5 or similar) or a causal LM, which reads input and rewrite as one sequence
    (:mod:`fairlab.rewriting.decoding`). The loss is the mean cross-entropy of the rewrite's tokens, each conditioned
    on the earlier ones. The markers ``<PERT_SEP>`` and ``<SEP>`` are added to the vocabulary. The input format is
    stored in the model's configuration.

    Args:
        encoder: Encoder-decoder or causal LM, trained in place.
        lr: Peak learning rate of AdamW; it rises linearly over ``warmup``, then falls linearly to ``decay`` times the
            peak.
        warmup: Number of training steps in which the learning rate rises, or a share of all steps if below 1.
        decay: Share of the peak learning rate that remains at the last step, in [0, 1].
        weight_decay: Weight decay of AdamW, >= 0.
        clip: Norm at which the gradient is clipped; 0 disables clipping.
        dropout: Whether the model's own dropout is active in training.
        train_embeddings: Whether the token embeddings are trained too.
        trained_layers: Number of layers, counted from the last one, that are trained. In an encoder-decoder, this is
            the number for each of the two. None trains all layers.
        epochs: Maximum number of passes over the training pairs.
        patience: Number of validations without a lower loss after which training stops; None disables early stopping.
        validate_every: Number of training steps between validations.
        seed: Seed of the new embeddings and of dropout; the randomness of a step depends only on the seed and the step.

    Raises:
        FairlabError: The model is neither an encoder-decoder nor a causal LM, a causal LM's tokenizer has no end token,
            no layer would be frozen, a value is out of range or, in training, the loss is not finite.
        CannotScore: The causal LM attends to later tokens.
    """

    title = "perturber"
    limits = (
        "It can only rewrite people and words like those in its training data. It may spoil names, words and grammar "
        "that its pairs lack, and change parts that it should keep. Read a sample before use; its output is generated."
    )
    citation = QIAN_2022

    def __init__(
        self,
        encoder: Backbone,
        *,
        lr: Positive,
        warmup: NotNegative,
        decay: Share,
        weight_decay: NotNegative,
        clip: NotNegative,
        dropout: bool,
        train_embeddings: bool,
        trained_layers: Count | None = None,
        epochs: Count,
        patience: Count | None,
        validate_every: Count,
        seed: int,
    ) -> None:
        super().__init__()
        if not can_rewrite(encoder.model):
            name = type(encoder.model).__name__
            raise FairlabError(
                f"a perturber is an encoder-decoder such as BART or T5, or a causal LM; {name} is neither"
            )
        if is_decoder_alone(encoder.model):
            CausalLM(encoder)  # raises a clear error if the model sees the tokens to predict
            if encoder.tokenizer.eos_token_id is None:
                raise FairlabError("the tokenizer has no end token to end a rewrite; use another backbone")
        self.encoder = encoder
        self.lr = lr
        self.warmup = warmup
        self.decay = decay
        self.weight_decay = weight_decay
        self.clip = clip
        self.dropout = dropout
        self.epochs = epochs
        self.patience = patience
        self.validate_every = validate_every
        self.seed = seed
        self.all_mean, self.changed_mean = MeanMetric(), MeanMetric()
        add_markers(encoder, seed)
        if not train_embeddings:
            encoder.model.get_input_embeddings().requires_grad_(False)
        if trained_layers is not None:
            freeze_before_last(encoder.model, trained_layers)

    def setup(self, stage: str) -> None:
        """Store the input format of the training data in the model's configuration."""
        if stage == "fit":
            data: PerturbationPairs = self.trainer.datamodule  # type: ignore[attr-defined]
            self.encoder.model.config.perturber_format = data.format
            self.encoder.to(self.trainer.strategy.root_device).train(self.dropout)

    def losses(self, batch: PairBatch) -> tuple[Tensor, Tensor]:
        """Return the cross-entropy of each token in the rewrites, (M,), and a mask of the changed tokens, (M,)."""
        changed_M = batch.changed.flatten().index_select(0, batch.given)
        if not len(batch.targets):
            return self.empty_share(0), changed_M
        logits_MV = target_logits(self.encoder, batch.input_ids, batch.attention_mask, batch.targets, batch.given)
        targets_M = batch.targets.flatten().index_select(0, batch.given)
        return nn.functional.cross_entropy(logits_MV.float(), targets_M, reduction="none"), changed_M

    def training_step(self, batch: PairBatch, batch_idx: int) -> Tensor:
        """Return the loss on one batch."""
        losses_M, _ = self.losses(batch)
        share = BatchShare(len(losses_M), self.device)
        loss = share.mean(mean_or_zero(losses_M))
        self.log_training({"loss": loss}, len(batch.targets))
        return share.loss(mean_or_zero(losses_M))

    def validation_step(self, batch: PairBatch, batch_idx: int) -> None:
        """Compute the losses on held-out pairs."""
        losses_M, changed_M = self.losses(batch)
        self.all_mean.update(losses_M)
        self.changed_mean.update(losses_M[changed_M])

    def on_validation_epoch_end(self) -> None:
        """Log the mean loss over all tokens, and the perplexities of all tokens and of changed tokens."""
        loss, changed = self.all_mean.compute(), self.changed_mean.compute()
        self.all_mean.reset()
        self.changed_mean.reset()
        values = {"loss": loss, "perplexity": loss.exp(), "perplexity_changed": changed.exp()}
        self.log_dict({f"validation/{name}": value for name, value in values.items()})

    def facts(self) -> dict[str, object]:
        """Return the facts about the trained model that the record holds in addition to the configuration."""
        return super().facts() | {
            "pipeline": "text2text-generation" if self.encoder.model.config.is_encoder_decoder else "text-generation",
            "trained_parameters": self.trained_parameters,
        }


def freeze_before_last(model: nn.Module, count: int) -> None:
    """Freeze all layers of each stack of layers except the last ``count``."""
    lists = {name: part for name, part in model.named_modules() if isinstance(part, nn.ModuleList)}
    stacks = [part for name, part in lists.items() if not any(name.startswith(f"{other}.") for other in lists)]
    longest = max(map(len, stacks), default=0)
    if count >= longest:
        raise FairlabError(f"method.trained_layers={count} freezes nothing, since the model has {longest} layers")
    for stack in stacks:
        stack[: max(0, len(stack) - count)].requires_grad_(False)


def add_markers(backbone: Backbone, seed: int) -> None:
    """Add missing markers to the vocabulary, with embeddings drawn from the distribution of existing embeddings."""
    markers = [marker for marker in (PERT_SEP, SEP) if marker not in backbone.tokenizer.get_vocab()]
    if not markers:
        return
    added: list[Any] = [*backbone.tokenizer.extra_special_tokens, *markers]
    backbone.tokenizer.add_special_tokens({"extra_special_tokens": added})
    model: Any = backbone.model
    old = model.get_input_embeddings().weight.detach()
    if len(backbone.tokenizer) > len(old):
        model.resize_token_embeddings(len(backbone.tokenizer), mean_resizing=False)
        shape = (len(backbone.tokenizer) - len(old), old.shape[1])
        drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(old)
        with torch.no_grad():
            rows = model.get_input_embeddings().weight[len(old) :]
            rows.copy_(old.mean(dim=0) + old.std(dim=0) * drawn)
