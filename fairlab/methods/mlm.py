"""Masked-language-model training of a backbone, with or without low-rank adapters.

Source: Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers", section 3.1 and appendix A.1.
Shape letters: B texts, T tokens, M chosen tokens, V vocabulary, D embedding width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
from torch import Tensor, nn
from torchmetrics import MeanMetric
from transformers import PreTrainedTokenizerBase

from fairlab.backbones.adapters import FILE, LoRA, add_adapters, merge_adapters, remove_adapters, save_adapters
from fairlab.backbones.backbone import Backbone, body
from fairlab.backbones.dropout import set_dropout
from fairlab.backbones.masked_lm import refuse_other_architecture, refuse_without_mask, with_masked_lm_head
from fairlab.backbones.scoring import apply_head
from fairlab.data.batch import Batch
from fairlab.data.corpus import Corpus, TextBatch
from fairlab.data.packed import PackedText
from fairlab.data.seeding import seed_of
from fairlab.distributed import BatchShare, rank, ranks
from fairlab.methods.base import Trained
from fairlab.text.papers import DEVLIN_2019
from fairlab.types import Bounds, Count, FairlabError, Fraction, NotNegative, Positive

SHOWN_AS_MASK, SHOWN_AS_RANDOM = 0.8, 0.1  # Devlin et al. 2019, appendix A.1; the rest remains unchanged
WORD_STARTS = ("Ġ", "▁")  # prefixes of word-initial tokens in byte-level and sentencepiece vocabularies


@dataclass(frozen=True)
class MaskedBatch(Batch):
    """Batch of B texts with M tokens chosen for prediction.

    Attributes:
        input_ids: Token ids after masking, (B, T), padded.
        attention_mask: Mask (B, T), 0 at padding.
        positions: Position of each text in its split, (B,).
        chosen: Index of each chosen token in the flattened (B * T,) batch, (M,).
        targets: Token id of each chosen token, (M,).
        padded: Whether any token is padding.
        documents: Number of each token's document, see :class:`TextBatch`; None if tokens attend to the whole text.
    """

    input_ids: Tensor
    attention_mask: Tensor
    positions: Tensor
    chosen: Tensor
    targets: Tensor
    padded: bool
    documents: Tensor | None = None


Decay = Annotated[float, Bounds(0, 0.999999)]  # decay rate of a moving average


class MLM(Trained):
    """Method that trains a backbone to predict masked tokens.

    A backbone without a head gets a head that is tied to its input embeddings. The loss is the cross-entropy at the
    chosen tokens, plus ``preserve`` times one minus the cosine between the embedding of the masked text and the
    original backbone's embedding of the full text. The original embedding is computed once, in ``setup``. In
    validation, the same tokens are chosen every time, and all of them are replaced by the mask.

    Args:
        encoder: Backbone to train, in place.
        rank: Rank of adapters on the encoder's linear layers, trained together with the head while all other weights
            are frozen; None trains all weights.
        lr: Peak learning rate of AdamW; it rises linearly over ``warmup`` and decays linearly to 0.
        warmup: Number of training steps in which the learning rate rises, or a share of all steps if below 1.
        weight_decay: Weight decay of AdamW.
        betas: Decay rates of the two moments of AdamW.
        clip: Norm at which the gradient is clipped; 0 disables clipping.
        mask_share: Share of a text's tokens, excluding special tokens, that are chosen for prediction; above 0 and
            below 1.
        whole_words: Whether the tokens of a word are chosen together.
        preserve: Weight of the term that preserves the embeddings, >= 0; 0 omits it.
        dropout: Dropout probabilities of ``hidden`` states and of ``attention`` in training; None disables dropout.
        epochs: Number of passes over the training texts.
        steps: Maximum number of training steps; None trains for all epochs.
        validate_every: Number of training steps between validations.
        seed: Seed of a new head, the masks and the dropout; the randomness of a step depends only on the seed and the
            step.

    Raises:
        FairlabError: The model cannot be a masked LM or, in training, the loss is not finite.
    """

    title = "masked-language-model training"
    continues_V: Tensor
    limits = (
        "Trained on a small corpus: a word's probability reflects that corpus's time and subjects. The model may learn "
        "stereotypes that the corpus contains."
    )
    citation = DEVLIN_2019

    def __init__(
        self,
        encoder: Backbone,
        *,
        rank: Count | None,
        lr: Positive,
        warmup: NotNegative,
        weight_decay: NotNegative,
        betas: tuple[Decay, Decay],
        clip: NotNegative,
        mask_share: Fraction,
        whole_words: bool,
        preserve: NotNegative,
        dropout: Mapping[str, float] | None,
        epochs: Count,
        steps: Count | None,
        validate_every: Count,
        seed: int,
    ) -> None:
        super().__init__()
        refuse_other_architecture(encoder.model)
        refuse_without_mask(encoder)
        if dropout is not None:
            if set(dropout) != {"hidden", "attention"}:
                raise FairlabError(f"method.dropout needs hidden and attention, or null, not: {', '.join(dropout)}")
            set_dropout(encoder.model, **dropout)
        self.encoder = encoder.train(dropout is not None)
        self.rank = rank
        self.lr = lr
        self.warmup = warmup
        self.weight_decay = weight_decay
        self.betas = tuple(betas)
        self.clip = clip
        self.mask_share = mask_share
        self.whole_words = whole_words
        self.preserve = preserve
        self.epochs = epochs
        self.steps = steps
        self.validate_every = validate_every
        self.seed = seed
        self.special_ids = torch.tensor(encoder.tokenizer.all_special_ids)
        self.original: dict[str, Tensor] = {}
        self.mlm_mean, self.preservation_mean, self.accuracy_mean = MeanMetric(), MeanMetric(), MeanMetric()

    def setup(self, stage: str) -> None:
        """Embed the texts with the original backbone, then add a head if it is missing, and adapters."""
        if stage != "fit":
            return
        device = self.trainer.strategy.root_device
        self.encoder.to(device)
        if device.type == "cpu":  # 1.5 times as fast on short texts as the fused kernel, whose backward pass is slow
            self.encoder.model.set_attn_implementation("eager")
        data: Corpus | PackedText = self.trainer.datamodule  # type: ignore[attr-defined]
        data.transform = self.masked
        if self.whole_words:
            self.continues_V = word_continuations(self.encoder.tokenizer)
        if self.preserve:
            if isinstance(data, PackedText):
                raise FairlabError("blocks of running text have no embeddings to preserve; set method.preserve=0")
            with self.trainer.precision_plugin.forward_context():
                self.original = {
                    split: self.encoder.embed(texts, progress="original embeddings").to(device)
                    for split, texts in data.texts.items()
                }
        torch.manual_seed(self.seed)
        self.encoder.model = with_masked_lm_head(self.encoder.model)
        if self.rank is not None:
            add_adapters(self.encoder.model, LoRA(self.rank))

    def masked(self, batch: TextBatch, split: str, number: int) -> MaskedBatch:
        """Mask a batch on the CPU, with random values that depend only on the seed and ``number``.

        If several processes share a batch, masks are drawn for the whole batch, so that they match the masks of a
        single process. The masks do not depend on the device, and the number of chosen tokens is known without waiting
        for the device.
        """
        training = split == "train"
        seen, chosen = mask_tokens(
            batch.input_ids,
            torch.isin(batch.input_ids, self.special_ids),
            share=self.mask_share,
            as_mask=SHOWN_AS_MASK if training else 1.0,
            as_random=SHOWN_AS_RANDOM if training else 0.0,
            mask_id=int(self.encoder.tokenizer.mask_token_id),  # type: ignore[call-overload]
            vocabulary=len(self.encoder.tokenizer),
            continues=self.continues_V[batch.input_ids] if self.whole_words else None,
            generator=torch.Generator().manual_seed(seed_of(self.seed, number)),
            of_texts=batch.texts,
        )
        places = chosen.flatten().nonzero().squeeze(1)
        targets = batch.input_ids.flatten()[places]
        padded = not bool(batch.attention_mask.all())
        return MaskedBatch(seen, batch.attention_mask, batch.positions, places, targets, padded, batch.documents)

    def losses(self, batch: MaskedBatch, split: str) -> tuple[dict[str, Tensor], Tensor]:
        """Return the loss and its parts on a batch, and the logits of the chosen tokens (M, V)."""
        if not len(batch.positions):
            names = ("loss", "mlm_loss", *["preservation_loss"] * bool(self.preserve))
            none = self.empty_share()
            return dict.fromkeys(names, none), none.expand(0, 1)
        model = self.encoder.model
        output = body(model)(input_ids=batch.input_ids, attention_mask=attention_of(batch, model.dtype))
        hidden_BTD = output.last_hidden_state
        logits_MV = apply_head(model, output, hidden_BTD.flatten(0, 1).index_select(0, batch.chosen)).float()
        total = nn.functional.cross_entropy(logits_MV, batch.targets, reduction="sum")
        mlm = total / max(1, len(batch.targets))
        parts = {"loss": mlm, "mlm_loss": mlm}
        if self.preserve:
            embedding_BD = self.encoder.pool(hidden_BTD, batch.attention_mask).float()
            original_BD = self.original[split][batch.positions]
            parts["preservation_loss"] = 1 - torch.cosine_similarity(embedding_BD, original_BD).mean()
            parts["loss"] = mlm + self.preserve * parts["preservation_loss"]
        return parts, logits_MV

    def training_step(self, batch: MaskedBatch, batch_idx: int) -> Tensor:
        """Return the loss on one batch."""
        parts, _ = self.losses(batch, "train")
        # Processes have different numbers of masked tokens, so each part of the loss is weighted separately.
        tokens, texts = BatchShare(len(batch.targets), self.device), BatchShare(len(batch.positions), self.device)
        shares = {name: texts if name == "preservation_loss" else tokens for name in parts}
        whole = {name: shares[name].mean(value) for name, value in parts.items()}
        loss = tokens.loss(parts["mlm_loss"])
        if self.preserve:
            loss = loss + self.preserve * texts.loss(parts["preservation_loss"])
            whole["loss"] = whole["mlm_loss"] + self.preserve * whole["preservation_loss"]
        self.log_training(whole, len(batch.positions))
        return loss

    def validation_step(self, batch: MaskedBatch, batch_idx: int) -> None:
        """Compute the losses, and the accuracy on masked tokens, on held-out texts."""
        parts, logits_MV = self.losses(batch, "validation")
        self.mlm_mean.update(parts["mlm_loss"], weight=len(batch.targets))
        self.accuracy_mean.update((logits_MV.argmax(dim=1) == batch.targets).float())
        self.preservation_mean.update(parts.get("preservation_loss", 0.0), weight=len(batch.positions))

    def on_validation_epoch_end(self) -> None:
        """Log losses, accuracy and perplexity over all held-out tokens or texts.

        Perplexity is the exponential of the mean cross-entropy.
        """
        mlm, preservation, accuracy = (
            metric.compute() for metric in (self.mlm_mean, self.preservation_mean, self.accuracy_mean)
        )
        for metric in (self.mlm_mean, self.preservation_mean, self.accuracy_mean):
            metric.reset()
        values = {"loss": mlm + self.preserve * preservation, "mlm_loss": mlm, "perplexity": mlm.exp()}
        if self.preserve:
            values["preservation_loss"] = preservation
        self.log_dict({f"validation/{name}": value for name, value in (values | {"accuracy": accuracy}).items()})

    def finish(self, folder: Path) -> None:
        """Write the trained adapters and head to ``folder``, and merge the stored values into the weights."""
        model = self.encoder.model
        if self.rank is not None:
            save_adapters(model, folder / FILE)
            remove_adapters(model)
            merge_adapters(model, folder / FILE)

    def facts(self) -> dict[str, object]:
        """Return the facts about the trained model that the record holds in addition to the configuration."""
        return super().facts() | {"trained_parameters": self.trained_parameters}


def attention_of(batch: MaskedBatch, dtype: torch.dtype) -> Tensor | None:
    """Return the attention mask of a batch, or None for whole texts without padding.

    The mask has the shape (B, T). For packed documents, it has the shape (B, 1, T, T) and is added to the attention
    scores, so that tokens attend only to their own document. If the mask is None, attention uses the fastest kernel,
    and no time is lost on checking the mask on the device.
    """
    if batch.documents is not None:
        apart = batch.documents[:, None, :, None] != batch.documents[:, None, None, :]
        return torch.zeros(apart.shape, dtype=dtype, device=apart.device).masked_fill(apart, torch.finfo(dtype).min)
    return batch.attention_mask if batch.padded else None


def word_continuations(tokenizer: PreTrainedTokenizerBase) -> Tensor:
    """Return, for each token of the vocabulary, whether it continues the preceding word, (V,)."""
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    special = set(tokenizer.all_special_tokens)
    if any(token.startswith(WORD_STARTS) for token in tokens):
        continues = [not token.startswith(WORD_STARTS) and token not in special for token in tokens]
    else:
        continues = [token.startswith("##") for token in tokens]
    return torch.tensor(continues)


def mask_tokens(
    input_ids: Tensor,
    special: Tensor,
    *,
    share: float,
    as_mask: float,
    as_random: float,
    mask_id: int,
    vocabulary: int,
    generator: torch.Generator,
    continues: Tensor | None = None,
    of_texts: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Choose tokens to predict, and mask most of them.

    Args:
        input_ids: Token ids of this process's texts, (B, T).
        special: Boolean (B, T), True at tokens that cannot be chosen.
        share: Probability with which each of the other tokens is chosen.
        as_mask: Share of the chosen tokens shown as the mask.
        as_random: Share of the chosen tokens shown as a random token; the rest is shown unchanged.
        mask_id: Id of the mask token.
        vocabulary: Size of the vocabulary; random tokens are drawn from ids below it.
        generator: Random generator for all draws, on the device of ``input_ids``.
        continues: Boolean (B, T), whether a token continues the preceding word. If given, whole words are chosen; with
            None, single tokens.
        of_texts: Number of texts in the batch of all processes, for which random values are drawn; None for B.

    Returns:
        Token ids as the model sees them, and whether each token was chosen; both (B, T).
    """
    shape, device = (of_texts or len(input_ids), input_ids.shape[1]), input_ids.device
    drawn = torch.rand(shape, generator=generator, device=device)
    shown = torch.rand(shape, generator=generator, device=device)
    random_ids = torch.randint(vocabulary, shape, generator=generator, device=device)
    if of_texts is not None:
        drawn, shown, random_ids = (values[rank() :: ranks()] for values in (drawn, shown, random_ids))
    if continues is not None:
        drawn = drawn.gather(1, (~continues).cumsum(dim=1).sub(1).clamp(min=0))  # one draw for all tokens of a word
    chosen = (drawn < share) & ~special
    hidden = torch.where(chosen & (shown < as_mask), mask_id, input_ids)
    return torch.where(chosen & (shown >= as_mask) & (shown < as_mask + as_random), random_ids, hidden), chosen
