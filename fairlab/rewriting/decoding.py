"""Next-token decoding of rewrites by an encoder-decoder or a decoder-only model.

A decoder-only model reads ``INPUT <PERT_SEP> REWRITING`` as one sequence that ends with its tokenizer's end token.
Positions count only non-padding tokens, so there may be padding between the two parts.
Shapes: N texts; S tokens in the longest input; T tokens in the longest rewrite; M tokens in all rewrites together; V
entries in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from fairlab.backbones.backbone import Backbone, body
from fairlab.backbones.scoring import apply_head

PERT_SEP, SEP = "<PERT_SEP>", "<SEP>"  # markers added to the tokenizer; the second joins the fields of a task
IGNORED = -100  # label that the loss ignores


def can_rewrite(model: PreTrainedModel) -> bool:
    """Return whether the model is an encoder-decoder, or a decoder with a causal LM head."""
    return bool(model.config.is_encoder_decoder) or is_decoder_alone(model)


def is_decoder_alone(model: PreTrainedModel) -> bool:
    """Return whether the model is a decoder with a causal LM head and without an encoder."""
    name = type(model).__name__
    return not model.config.is_encoder_decoder and name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()


def longest(backbone: Backbone) -> int:
    """Return the maximum number of tokens in an input, and equally in a rewrite.

    A decoder-only model must fit both into its maximum length, so each gets half of it.
    """
    most = getattr(backbone.model.config, "max_position_embeddings", None)
    if most is None or not is_decoder_alone(backbone.model):
        return backbone.max_length
    return min(backbone.max_length, int(most) // 2)


def tokenize_rewritings(backbone: Backbone, texts: Iterable[str]) -> list[list[int]]:
    """Return the token ids of rewrites, truncated to :func:`longest` and followed by the end token.

    For a decoder-only model, each text is tokenized after a space, because it follows the input in the same sequence.
    """
    if not is_decoder_alone(backbone.model):
        return backbone.tokenize(texts)
    rows = backbone.tokenizer([f" {text}" for text in texts], add_special_tokens=False, verbose=False)["input_ids"]
    most = longest(backbone) - 1
    return [[*ids[:most], *ends(backbone)] for ids in rows]


def start(backbone: Backbone) -> int:
    """Return the id of the token that precedes a rewrite."""
    if is_decoder_alone(backbone.model):
        return backbone.tokenizer.get_vocab()[PERT_SEP]
    return int(backbone.model.generation_config.decoder_start_token_id)


def ends(backbone: Backbone) -> list[int]:
    """Return the ids of the tokens that can end a rewrite."""
    if is_decoder_alone(backbone.model):
        return [int(backbone.tokenizer.eos_token_id)]
    found = backbone.model.generation_config.eos_token_id
    return found if isinstance(found, list) else [found]


def shifted(backbone: Backbone, targets_NT: Tensor) -> Tensor:
    """Return the decoder inputs (N, T): the start token, then all targets except the last.

    Targets are :data:`IGNORED` at padding, where the inputs have the padding token.
    """
    before = targets_NT[:, :-1].masked_fill(targets_NT[:, :-1] == IGNORED, backbone.padding_id)
    return torch.cat([torch.full_like(targets_NT[:, :1], start(backbone)), before], dim=1)


def target_logits(
    backbone: Backbone, input_ids_NS: Tensor, mask_NS: Tensor, targets_NT: Tensor, given_M: Tensor | None = None
) -> Tensor:
    """Return the logits (M, V) of the non-padding targets, row by row, given the input and the earlier targets.

    Args:
        backbone: Encoder-decoder or causal LM.
        input_ids_NS: Token ids of the inputs.
        mask_NS: Mask of the inputs, 0 at padding.
        targets_NT: Token ids, with :data:`IGNORED` at padding.
        given_M: Index of each non-padding target in the flattened (N * T,) targets. With None, the indices are
            computed, which makes the process wait for the device.
    """
    model, given_NT = backbone.model, targets_NT != IGNORED
    if given_M is None:
        given_M = given_NT.flatten().nonzero().squeeze(1)
    seen_NT = shifted(backbone, targets_NT)
    if not is_decoder_alone(model):
        logits_NTV: Tensor = model(input_ids=input_ids_NS, attention_mask=mask_NS, decoder_input_ids=seen_NT).logits
        return logits_NTV.flatten(0, 1).index_select(0, given_M)
    mask = torch.cat([mask_NS, given_NT.to(mask_NS)], dim=1)
    output = body(model)(
        input_ids=torch.cat([input_ids_NS, seen_NT], dim=1),
        attention_mask=mask,
        position_ids=counted_positions(mask),
        use_cache=False,
    )
    states_NT = output.last_hidden_state[:, input_ids_NS.shape[1] :]
    return apply_head(model, output, states_NT.flatten(0, 1).index_select(0, given_M))


def counted_positions(mask_NS: Tensor) -> Tensor:
    """Return the position (N, S) of each token, counting only non-padding tokens."""
    return (mask_NS.cumsum(dim=1) - 1).clamp(min=0)


class TokenSteps(Protocol):
    """Interface for decoding several texts together, token by token."""

    def logits(self, next_N1: Tensor) -> Tensor:
        """Feed the latest token (N, 1) of each text and return the logits (N, V) of the next token."""
        ...

    def keep(self, rows: Tensor) -> None:
        """Drop all texts except those with the given indices."""
        ...


class EncoderDecoderSteps:
    """Stepwise decoding with an encoder-decoder, whose encoder reads the inputs (N, S) once."""

    def __init__(self, backbone: Backbone, input_ids_NS: Tensor, mask_NS: Tensor) -> None:
        self.model = backbone.model
        self.mask = mask_NS
        encoder = self.model.get_encoder()
        self.states = encoder(input_ids=input_ids_NS, attention_mask=mask_NS).last_hidden_state
        self.cache: Any = None

    def logits(self, next_N1: Tensor) -> Tensor:
        """Feed the latest token (N, 1) of each text and return the logits (N, V) of the next token."""
        found = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=self.states),
            attention_mask=self.mask,
            decoder_input_ids=next_N1,
            past_key_values=self.cache,
            use_cache=True,
        )
        self.cache = found.past_key_values
        logits: Tensor = found.logits[:, -1]
        return logits

    def keep(self, rows: Tensor) -> None:
        """Drop all texts except those with the given indices."""
        self.cache.batch_select_indices(rows)
        self.states, self.mask = self.states[rows], self.mask[rows]


class DecoderSteps:
    """Stepwise decoding with a decoder-only model, which reads the inputs (N, S) once and caches keys and values."""

    def __init__(self, backbone: Backbone, input_ids_NS: Tensor, mask_NS: Tensor) -> None:
        self.model = backbone.model
        self.mask = mask_NS
        read = body(self.model)(
            input_ids=input_ids_NS, attention_mask=mask_NS, position_ids=counted_positions(mask_NS), use_cache=True
        )
        self.cache: Any = read.past_key_values

    def logits(self, next_N1: Tensor) -> Tensor:
        """Feed the latest token (N, 1) of each text and return the logits (N, V) of the next token."""
        self.mask = torch.cat([self.mask, torch.ones_like(next_N1)], dim=1)
        found = self.model(
            input_ids=next_N1,
            attention_mask=self.mask,
            position_ids=counted_positions(self.mask)[:, -1:],
            past_key_values=self.cache,
            use_cache=True,
        )
        logits: Tensor = found.logits[:, -1]
        return logits

    def keep(self, rows: Tensor) -> None:
        """Drop all texts except those with the given indices."""
        self.cache.batch_select_indices(rows)
        self.mask = self.mask[rows]


def token_steps(backbone: Backbone, input_ids_NS: Tensor, mask_NS: Tensor) -> TokenSteps:
    """Return the stepwise decoder for the model's architecture, after it has read the inputs."""
    kind = DecoderSteps if is_decoder_alone(backbone.model) else EncoderDecoderSteps
    return kind(backbone, input_ids_NS, mask_NS)
