"""Masked language models as scorers of the likelihood of a token in its context."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoModelForMaskedLM, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from fairlab.backbones.backbone import RAISE_LENGTH, TOKENS_PER_BATCH, Backbone, batches_by_tokens
from fairlab.backbones.scoring import (
    LogLikelihoods,
    Targets,
    batches_of_one_length,
    target_log_probabilities,
    token_logits,
)
from fairlab.checks.progress import with_progress
from fairlab.types import CannotScore, FairlabError

FILLED_AT_ONCE = 1024  # maximum number of tokens with full-vocabulary logits in memory
BEFORE_WORDS = ("Ġ", "▁")  # prefixes that byte-pair and sentencepiece tokens use for the space before a word
COPIES_AT_ONCE = 2**20  # maximum number of tokens of masked copies in memory


def has_masked_lm_head(model: PreTrainedModel) -> bool:
    """Return whether the model is an encoder with a masked-LM head, alone or with another head (BERT as pretrained)."""
    if model.config.is_encoder_decoder:
        return False
    heads = getattr(model, "cls", None)
    two_heads = hasattr(heads, "predictions") and hasattr(heads, "seq_relationship")
    return two_heads or type(model).__name__ in MODEL_FOR_MASKED_LM_MAPPING_NAMES.values()


def refuse_other_architecture(model: PreTrainedModel) -> None:
    """Raise FairlabError if transformers has no masked LM of the model's architecture, such as for a causal LM."""
    if not has_masked_lm_head(model) and type(model.config) not in MODEL_FOR_MASKED_LM_MAPPING:
        raise FairlabError(
            f"{type(model).__name__} cannot be trained as a masked LM, since transformers has no masked LM of the "
            f"architecture {model.config.model_type}; choose an encoder such as BERT with model="
        )


def refuse_without_mask(backbone: Backbone, error: type[FairlabError] = FairlabError) -> None:
    """Raise ``error`` if the tokenizer has no mask token."""
    if backbone.tokenizer.mask_token_id is None:
        raise error(
            f"the tokenizer of {type(backbone.model).__name__} has no mask token; use the tokenizer that its masked LM "
            "was trained with"
        )


def with_masked_lm_head(model: PreTrainedModel) -> PreTrainedModel:
    """Return the model as a masked LM: unchanged if it is one, else with a new, untrained head and no pooler.

    The decoder of the new head is tied to the input embeddings; the encoder is not copied.

    Raises:
        FairlabError: Transformers has no masked LM of this architecture.
    """
    if has_masked_lm_head(model):
        return model
    refuse_other_architecture(model)
    masked_lm = AutoModelForMaskedLM.from_config(model.config, trust_remote_code=False)
    model.register_module("pooler", None)
    setattr(masked_lm, masked_lm.base_model_prefix, model)
    masked_lm.tie_weights()
    return masked_lm.to(model.device, model.dtype).train(model.training)


class MaskQuery(NamedTuple):
    """Query to a masked LM: how likely is ``target`` at ``position`` of ``token_ids``?

    Attributes:
        token_ids: Token ids of one text, including special tokens, with the mask already inserted.
        position: Index into ``token_ids``, counted from 0.
        target: Token id to score.
    """

    token_ids: Sequence[int]
    position: int
    target: int


class MaskedLM:
    """Scorer of log-probabilities of single tokens, and of whole texts token by token, under a masked LM.

    Every number is a log-softmax over the whole vocabulary, in nats, with dropout off, computed in the backbone's
    dtype.

    Args:
        backbone: Masked LM with its tokenizer.
        budget: Number of tokens per forward pass.

    Attributes:
        cut: Number of texts so far that ``tokenize`` truncated.

    Raises:
        CannotScore: If the model has no masked-LM head, or its tokenizer has no mask token.
    """

    def __init__(self, backbone: Backbone, *, budget: int = TOKENS_PER_BATCH) -> None:
        name = type(backbone.model).__name__
        if not has_masked_lm_head(backbone.model):
            raise CannotScore(f"{name} has no masked-LM head; take a checkpoint saved with one (...ForMaskedLM)")
        refuse_without_mask(backbone, CannotScore)
        self.backbone = backbone
        self.budget = budget
        self.mask_id = int(backbone.tokenizer.mask_token_id)
        # An unknown word is part of the text, although tokenizers count its token as special.
        self.special_ids = set(backbone.tokenizer.all_special_ids) - {backbone.tokenizer.unk_token_id}
        self.cut = 0

    @property
    def max_length(self) -> int:
        """Return the maximum number of tokens in a text, including special tokens."""
        return self.backbone.max_length

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, including special tokens.

        Texts over ``max_length`` are truncated and counted.
        """
        token_ids = self.backbone.tokenize(texts) if texts else []
        self.cut += sum(self.backbone.is_cut(token_ids, texts))
        return token_ids

    def log_probabilities(self, queries: Sequence[MaskQuery], *, progress: str = "") -> NDArray[np.float64]:
        """Return the log-probability of the target of each of N queries, (N,), in input order.

        Queries about the same ``token_ids`` share one forward pass; queries about the same position share one softmax.

        Raises:
            FairlabError: If a query is longer than the backbone's ``max_length``.
        """
        asked: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for number, query in enumerate(queries):
            asked[tuple(query.token_ids)].append(number)
        texts = list(asked)
        lengths = [len(ids) for ids in texts]
        if max(lengths, default=0) > self.backbone.max_length:
            raise FairlabError(
                f"a query of {max(lengths)} tokens is longer than max_length={self.backbone.max_length}; "
                f"{RAISE_LENGTH}, or cut the text before masking it"
            )
        found = np.empty(len(queries))
        with self.backbone.measuring():
            for batch in with_progress(batches_of_one_length(lengths, self.budget), progress):
                numbers = [number for text in batch for number in asked[texts[text]]]
                targets = Targets(
                    [row for row, text in enumerate(batch) for _ in asked[texts[text]]],
                    [queries[number].position for number in numbers],
                    [queries[number].target for number in numbers],
                )
                found[numbers] = target_log_probabilities(self.backbone, [texts[text] for text in batch], targets)
        return found

    def pseudo_log_likelihoods(
        self,
        token_ids: Sequence[Sequence[int]],
        positions: Sequence[Sequence[int]] | None = None,
        *,
        progress: str = "",
    ) -> LogLikelihoods:
        """Return the pseudo-log-likelihood of each text.

        This is the sum, over positions, of log p(token | text with only this token masked); see Salazar et al. 2020,
        "Masked Language Model Scoring", equation 1. With ``positions``, it is the partial sum that CrowS-Pairs takes
        over the tokens that two sentences share (Nangia et al. 2020, section 3).

        Args:
            token_ids: Token ids of texts, from ``tokenize``.
            positions: Positions to score per text, or None for all except special tokens.
            progress: Title of a progress bar, shown on a terminal only.

        Returns:
            Sums and counts in input order; a text without positions has sum 0 and count 0.
        """
        if positions is None:
            positions = [[k for k, token in enumerate(ids) if token not in self.special_ids] for ids in token_ids]
        found = [np.empty(0)] * len(token_ids)
        copied = [len(ids) * len(places) for ids, places in zip(token_ids, positions, strict=True)]
        for block in with_progress(list(batches_by_tokens(copied, COPIES_AT_ONCE)), progress):
            queries = [self._mask_query(token_ids[text], place) for text in block for place in positions[text]]
            scores = iter(self.log_probabilities(queries))
            for text in block:
                found[text] = np.array([next(scores) for _ in positions[text]])
        return LogLikelihoods.of(found)

    @property
    def mask(self) -> str:
        """Return the mask token as written in a text."""
        return str(self.backbone.tokenizer.mask_token)

    def fillers(self, texts: Sequence[str], *, top: int = 20) -> list[list[list[str]]]:
        """Return the most likely whole words for every mask in every text, best first.

        Words have at least two letters and are single tokens of the tokenizer. A mask beyond the backbone's
        ``max_length`` has no list.

        Args:
            texts: Any number of texts, with :attr:`mask` at the positions to fill.
            top: Number of words in each list.
        """
        token_ids = self.tokenize(texts)
        found: list[list[list[str]]] = [[] for _ in texts]
        words = self._whole_words()
        allowed = torch.tensor(sorted(words), device=self.backbone.device)
        with self.backbone.measuring():
            for batch in batches_of_one_length([len(ids) for ids in token_ids], FILLED_AT_ONCE):
                input_ids = torch.tensor([token_ids[number] for number in batch], device=self.backbone.device)
                places = (input_ids == self.mask_id).nonzero()
                heads = self.backbone.model(input_ids=input_ids, attention_mask=torch.ones_like(input_ids))
                logits = token_logits(heads)
                best = logits[places[:, 0], places[:, 1]][:, allowed].topk(min(top, len(allowed)), dim=-1).indices
                for (row, _), ranked in zip(places.tolist(), best, strict=True):
                    found[batch[row]].append([words[int(allowed[place])] for place in ranked])
        return found

    def _whole_words(self) -> dict[int, str]:
        """Return the tokens that are complete words, by id."""
        tokenizer = self.backbone.tokenizer
        tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
        marked = any(token.startswith(BEFORE_WORDS) for token in tokens)  # tokens that begin a word are marked
        begins = {k: token.lstrip("".join(BEFORE_WORDS)) for k, token in enumerate(tokens)}
        return {
            k: word
            for k, word in begins.items()
            if word.isascii()
            and word.isalpha()
            and len(word) > 1
            and k not in self.special_ids
            and (not marked or tokens[k].startswith(BEFORE_WORDS))
        }

    def _mask_query(self, token_ids: Sequence[int], position: int) -> MaskQuery:
        """Return a query that masks the token at a position."""
        ids = list(token_ids)
        ids[position] = self.mask_id
        return MaskQuery(ids, position, token_ids[position])
