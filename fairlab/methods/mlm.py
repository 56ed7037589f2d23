"""Masked-language-model training of a backbone, with or without low-rank adapters.

Source: Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers", section 3.1 and appendix A.1.
Shape letters: B texts, T tokens, M chosen tokens, V vocabulary, D embedding width.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import torch
from torch import Tensor, nn
from torchmetrics import MeanMetric
from transformers import PreTrainedTokenizerBase

from fairlab.backbones.adapters import FILE, add_adapters, merge_adapters, remove_adapters, save_adapters
from fairlab.backbones.backbone import Backbone, body
from fairlab.backbones.dropout import set_dropout
from fairlab.backbones.masked_lm import with_masked_lm_head
from fairlab.backbones.scoring import apply_head
from fairlab.data.corpus import Corpus, TextBatch
from fairlab.data.packed import PackedText
from fairlab.data.seeding import seed_of
from fairlab.distributed import BatchShare, empty_share_output, in_batch_order, rank, ranks
from fairlab.methods.base import Trained, refuse_below, refuse_unless_above_zero
from fairlab.types import Bounds, FairlabError

SHOWN_AS_MASK, SHOWN_AS_RANDOM = 0.8, 0.1  # Devlin et al. 2019, appendix A.1; the rest is shown as it is
WORD_STARTS = ("Ġ", "▁")  # before tokens that begin a word, in byte-level and sentencepiece vocabularies


Decay = Annotated[float, Bounds(0, 0.999999)]  # of a moving average


class MLM(Trained):
    """Trains a backbone to predict masked tokens; a backbone without a head gets one, tied to its input embeddings.

    The loss is cross-entropy at the chosen tokens, plus ``preserve`` times one less the cosine between the embedding of
    the masked text and the original backbone's embedding of the full text. The latter is computed once, in ``setup``.
    In validation every chosen token is shown as the mask, and the choice is the same each time.

    Args:
        encoder: the backbone to train, in place.
        rank: rank of adapters on the encoder's linear layers, trained with the head while all else is frozen; None
            trains everything.
        lr: peak learning rate of AdamW; it rises linearly over ``warmup`` and falls linearly to 0.
        warmup: number of training steps in which the learning rate rises, or below 1 a share of all steps.
        weight_decay: weight decay of AdamW.
        betas: the two decay rates of AdamW's moments.
        clip: norm at which the gradient is clipped; 0 does not clip it.
        mask_share: share of a text's tokens, special ones left out, that are chosen to be predicted; above 0 and below
            1.
        whole_words: whether the tokens of a word are chosen together.
        preserve: weight of the term that keeps the embeddings, >= 0; 0 leaves it out.
        dropout: dropout probabilities in training, of ``hidden`` states and of ``attention``; None trains without
            dropout.
        epochs: passes over the training texts.
        steps: number of steps after which training ends, whatever the epochs; None takes all.
        validate_every: training steps between validations.
        seed: seed of a new head, the masks and the dropout; those of a step depend on the seed and the step alone.

    Raises:
        FairlabError: a value is out of range; in training, when the loss is not finite.
    """

    title = "masked-language-model training"
    continues_V: Tensor
    limits = (
        "Trained on a small corpus: a word's probability reflects that corpus's time and subjects. What the text holds "
        "of stereotypes, the model may hold."
    )
    citation = """@inproceedings{devlin2019bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle = {Proceedings of NAACL},
  year = {2019}
}"""

    def __init__(
        self,
        encoder: Backbone,
        *,
        rank: int | None,
        lr: float,
        warmup: float,
        weight_decay: float,
        betas: tuple[Decay, Decay],
        clip: float,
        mask_share: float,
        whole_words: bool,
        preserve: float,
        dropout: Mapping[str, float] | None,
        epochs: int,
        steps: int | None,
        validate_every: int,
        seed: int,
    ) -> None:
        super().__init__()
        refuse_unless_above_zero(lr=lr)
        if not 0 < mask_share < 1:
            raise FairlabError(f"method.mask_share must lie in 0..1, not {mask_share}")
        refuse_below(0, preserve=preserve, warmup=warmup, clip=clip)
        refuse_below(1, epochs=epochs, validate_every=validate_every, rank=rank, steps=steps)
        if dropout is not None:
            if set(dropout) != {"hidden", "attention"}:
                raise FairlabError(f"method.dropout needs hidden and attention, or null, not: {', '.join(dropout)}")
            set_dropout(encoder.model, **dropout)
        self.encoder = encoder.train(dropout is not None)
        self.rank = rank
        self.lr = lr
        self.warmup = warmup
        self.weight_decay = weight_decay
        self.betas = (betas[0], betas[1])
        self.clip = clip
        self.mask_share = mask_share
        self.whole_words = whole_words
        self.preserve = preserve
        self.epochs = epochs
        self.steps = steps
        self.validate_every = validate_every
        self.seed = seed
        self.original: dict[str, Tensor] = {}
        self.mlm_mean, self.preservation_mean, self.accuracy_mean = MeanMetric(), MeanMetric(), MeanMetric()

    def setup(self, stage: str) -> None:
        """Embed the texts with the still original backbone, then add what it lacks: a head, adapters."""
        if stage != "fit":
            return
        device = self.trainer.strategy.root_device
        self.encoder.to(device)
        if device.type == "cpu":  # on short texts half as fast again as the fused kernel, whose backward is slow there
            self.encoder.model.set_attn_implementation("eager")
        data: Corpus | PackedText = self.trainer.datamodule  # type: ignore[attr-defined]
        if self.whole_words:
            self.continues_V = word_continuations(self.encoder.tokenizer).to(device)
        if self.preserve:
            if isinstance(data, PackedText):
                raise FairlabError("blocks of running text have no embeddings to keep; set method.preserve=0")
            with self.trainer.precision_plugin.forward_context():
                self.original = {
                    split: self.encoder.embed(texts, progress="original embeddings")
                    for split, texts in data.texts.items()
                }
        torch.manual_seed(self.seed)
        self.encoder.model = with_masked_lm_head(self.encoder.model)
        if self.rank is not None:
            add_adapters(self.encoder.model, self.rank)

    def masked(self, batch: TextBatch, split: str, number: int) -> tuple[Tensor, Tensor]:
        """What the model sees of a batch masked by ``number``, and which tokens were chosen; both (B, T).

        The masks of a batch that processes share are drawn for all of it, so that they are those of one process.
        """
        tokenizer = self.encoder.tokenizer
        training, device = split == "train", batch.input_ids.device
        input_ids = in_batch_order(batch.input_ids, int(BatchShare(len(batch.input_ids), device).total))
        seen, chosen = mask_tokens(
            input_ids,
            torch.isin(input_ids, torch.tensor(tokenizer.all_special_ids, device=device)),
            share=self.mask_share,
            as_mask=SHOWN_AS_MASK if training else 1.0,
            as_random=SHOWN_AS_RANDOM if training else 0.0,
            mask_id=int(tokenizer.mask_token_id),  # type: ignore[call-overload]
            vocabulary=len(tokenizer),
            continues=self.continues_V[input_ids] if self.whole_words else None,
            generator=torch.Generator(self.device).manual_seed(seed_of(self.seed, number)),
        )
        return seen[rank() :: ranks()], chosen[rank() :: ranks()]

    def losses(self, batch: TextBatch, split: str, number: int) -> tuple[dict[str, Tensor], Tensor]:
        """The loss and its parts on a batch masked by ``number``, and whether each of the M tokens was found (M,)."""
        input_ids_BT, chosen_BT = self.masked(batch, split, number)
        if not len(batch.positions):
            names = ("loss", "mlm_loss", *["preservation_loss"] * bool(self.preserve))
            return {name: empty_share_output(self) for name in names}, chosen_BT.flatten()
        model = self.encoder.model
        output = body(model)(input_ids=input_ids_BT, attention_mask=batch.attention_mask)
        hidden_BTD = output.last_hidden_state
        logits_MV = apply_head(model, output, hidden_BTD[chosen_BT]).float()
        targets_M = batch.input_ids[chosen_BT]
        mlm = nn.functional.cross_entropy(logits_MV, targets_M, reduction="sum") / max(1, len(targets_M))
        parts = {"loss": mlm, "mlm_loss": mlm}
        if self.preserve:
            embedding_BD = self.encoder.pool(hidden_BTD, batch.attention_mask).float()
            original_BD = self.original[split][batch.positions.cpu()].to(embedding_BD.device)
            parts["preservation_loss"] = 1 - torch.cosine_similarity(embedding_BD, original_BD).mean()
            parts["loss"] = mlm + self.preserve * parts["preservation_loss"]
        return parts, logits_MV.argmax(dim=-1) == targets_M

    def training_step(self, batch: TextBatch, batch_idx: int) -> Tensor:
        """The loss on one batch."""
        parts, found = self.losses(batch, "train", batch_idx)
        # Masked tokens differ in number between processes, so that each part has a share of its own.
        tokens, texts = BatchShare(len(found), self.device), BatchShare(len(batch.positions), self.device)
        shares = {name: texts if name == "preservation_loss" else tokens for name in parts}
        whole = {name: shares[name].mean(value) for name, value in parts.items()}
        loss = tokens.loss(parts["mlm_loss"])
        if self.preserve:
            loss = loss + self.preserve * texts.loss(parts["preservation_loss"])
            whole["loss"] = whole["mlm_loss"] + self.preserve * whole["preservation_loss"]
        self.log_training(whole, len(batch.positions))
        return loss

    def validation_step(self, batch: TextBatch, batch_idx: int) -> None:
        """The same losses on held-out texts, and how many masked tokens are found."""
        parts, found = self.losses(batch, "validation", batch_idx)
        self.mlm_mean.update(parts["mlm_loss"], weight=len(found))
        self.accuracy_mean.update(found.float())
        self.preservation_mean.update(parts.get("preservation_loss", 0.0), weight=len(batch.positions))

    def on_validation_epoch_end(self) -> None:
        """Means over all held-out tokens, or texts; perplexity is the exponential of the mean cross-entropy."""
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
        """Write the trained adapters and head into ``folder`` and merge them, as stored, into the weights."""
        model = self.encoder.model
        if self.rank is not None:
            save_adapters(model, folder / FILE)
            remove_adapters(model)
            merge_adapters(model, folder / FILE)

    def facts(self) -> dict[str, object]:
        """What the record should hold about a trained model beside its configuration."""
        return super().facts() | {"trained_parameters": self.trained_parameters}


def word_continuations(tokenizer: PreTrainedTokenizerBase) -> Tensor:
    """Whether each token of the vocabulary, (V,), goes on with the word before it."""
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
) -> tuple[Tensor, Tensor]:
    """Choose tokens to predict and hide them.

    Args:
        input_ids: token ids of the texts, (B, T).
        special: boolean (B, T), True where nothing may be chosen.
        share: probability with which each of the other tokens is chosen.
        as_mask: share of the chosen tokens shown as the mask.
        as_random: share of the chosen tokens shown as a random token; the rest is shown unchanged.
        mask_id: id of the mask token.
        vocabulary: size of the vocabulary; random tokens are drawn from ids below it.
        generator: random generator of every draw, on the device of ``input_ids``.
        continues: boolean (B, T), whether a token goes on with the word before it: words are then chosen whole. None
            chooses tokens.

    Returns:
        Token ids as the model sees them, and whether each token was chosen; both (B, T).
    """
    shape, device = input_ids.shape, input_ids.device
    drawn = torch.rand(shape, generator=generator, device=device)
    if continues is not None:
        drawn = drawn.gather(1, (~continues).cumsum(dim=1).sub(1).clamp(min=0))  # one draw for all tokens of a word
    chosen = (drawn < share) & ~special
    shown = torch.rand(shape, generator=generator, device=device)
    random_ids = torch.randint(vocabulary, shape, generator=generator, device=device)
    hidden = torch.where(chosen & (shown < as_mask), mask_id, input_ids)
    return torch.where(chosen & (shown >= as_mask) & (shown < as_mask + as_random), random_ids, hidden), chosen
