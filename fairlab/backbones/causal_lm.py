"""Causal language models as scorers of text likelihood."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from fairlab.backbones.backbone import TOKENS_PER_BATCH, Backbone, body
from fairlab.backbones.scoring import LogLikelihoods, Targets, batches_of_one_length, target_log_probabilities
from fairlab.checks.progress import with_progress
from fairlab.types import CannotScore, FairlabError

CHAT_TURN, DOCUMENT = "<|im_start|>", "<|endoftext|>"


def find_start_token(tokenizer: PreTrainedTokenizerBase) -> str | None:
    """Return the token to prepend to a text, see :class:`CausalLM`.

    A token that opens a chat turn is not used, because a model expects a role after it.
    """
    if tokenizer.bos_token not in (None, CHAT_TURN):
        return str(tokenizer.bos_token)
    if DOCUMENT in tokenizer.get_vocab():
        return DOCUMENT
    return tokenizer.eos_token


def begins_every_input(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether a tokenizer has a token with which every input begins, like the tokenizers of Gemma and Llama.

    The beginning-of-sequence token of GPT-2 and related models is also the end token. It separates documents, and these
    models have seen inputs that begin within a document.
    """
    return tokenizer.bos_token not in (None, CHAT_TURN, DOCUMENT, tokenizer.eos_token)


class CausalLM:
    """Scorer of the log-probabilities of tokens in a text, given the preceding tokens.

    Every number is a log-softmax over the whole vocabulary, in nats, with dropout off, computed in the backbone's
    dtype. The first token of a text is scored given ``start_token``. ``start_token`` is the tokenizer's
    beginning-of-sequence token (GPT-2: ``<|endoftext|>``, Llama: ``<s>``). If that token opens a chat turn or is
    missing, ``start_token`` is ``<|endoftext|>``, which separates the documents of pretraining, or else the
    end-of-sequence token. No other special token is added.

    Args:
        backbone: Causal LM with its tokenizer.
        budget: Number of tokens per forward pass.

    Attributes:
        start_token: Token that is prepended to every text.
        cut: Number of texts truncated so far because they exceeded ``max_length`` tokens, including ``start_token``.

    Raises:
        CannotScore: If the model has no causal-LM head, attends to later tokens, or its tokenizer has no start token.
    """

    def __init__(self, backbone: Backbone, *, budget: int = TOKENS_PER_BATCH) -> None:
        name = type(backbone.model).__name__
        if name not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
            raise CannotScore(f"{name} has no causal-LM head; take a checkpoint saved with one (...ForCausalLM)")
        start_token = find_start_token(backbone.tokenizer)
        if start_token is None:
            raise CannotScore(
                f"the tokenizer of {name} has neither a start nor an end token, so the first word cannot be scored"
            )
        self.backbone = backbone
        self.budget = budget
        self.start_token = start_token
        self.start_id = backbone.tokenizer.get_vocab()[start_token]
        self.cut = 0
        if self._sees_ahead():
            raise CannotScore(f"{name} is configured to read in both directions; score it as a masked LM")

    @property
    def max_length(self) -> int:
        """Return the maximum number of tokens in a text, including ``start_token``."""
        return self.backbone.max_length

    def token_log_probabilities(
        self, texts: Sequence[str], *, start_apart: bool = False, stride: int | None = None, progress: str = ""
    ) -> list[NDArray[np.float64]]:
        """Return, for each text, the log-probabilities of its tokens given the preceding tokens.

        Args:
            texts: Any number of texts; each distinct text is scored once. A text without tokens gives an empty array.
            start_apart: Whether only the first token of a text is conditioned on ``start_token``; the other tokens are
                conditioned on the text without it, as in the code of StereoSet and of bias-bench for GPT-2.
            stride: Number of tokens by which a window of ``max_length`` tokens moves over long texts, or None to
                truncate them. A token after the first window is scored given at least ``max_length`` - 1 - ``stride``
                preceding tokens; see :func:`begins_every_input` for when later windows begin with ``start_token``.
                Incompatible with ``start_apart``.
            progress: Title of a progress bar, shown on a terminal only.

        Raises:
            FairlabError: If the stride is out of range.
        """
        if stride is not None:
            return self._score_in_windows(texts, stride, progress)
        token_ids = self._tokenize(texts)
        if not start_apart:
            return self._score([(1, [self.start_id, *ids]) for ids in token_ids], progress)
        first = self._score([(1, [self.start_id, *ids[:1]]) for ids in token_ids], "")
        others = self._score([(1, ids) for ids in token_ids], progress)
        return [np.concatenate(parts) for parts in zip(first, others, strict=True)]

    def log_likelihoods(
        self, texts: Sequence[str], *, start_apart: bool = False, stride: int | None = None, progress: str = ""
    ) -> LogLikelihoods:
        """Return the log-likelihood and token count of each text; see ``token_log_probabilities``."""
        found = self.token_log_probabilities(texts, start_apart=start_apart, stride=stride, progress=progress)
        return LogLikelihoods.of(found)

    def continuation_log_likelihoods(self, pairs: Sequence[tuple[str, str]], *, progress: str = "") -> LogLikelihoods:
        """Return the log-likelihood of each second text given the first, in input order.

        A pair is tokenized as one string without a separator: a continuation includes its own leading space. A token
        that spans the boundary counts as part of the continuation. If a pair is too long, the start of its context is
        removed first, and then the end of its continuation.

        Args:
            pairs: (context, continuation) pairs; an empty context means ``start_token`` alone.
            progress: Title of a progress bar, shown on a terminal only.
        """
        if not pairs:
            return LogLikelihoods.of([])
        encoded = self.backbone.tokenizer(
            [context + continuation for context, continuation in pairs],
            add_special_tokens=False,
            return_offsets_mapping=True,
            verbose=False,
        )
        asked = []
        for (context, _), ids, offsets in zip(pairs, encoded["input_ids"], encoded["offset_mapping"], strict=True):
            given = sum(end <= len(context) for _, end in offsets)
            room = self.backbone.max_length - 1
            self.cut += len(ids) > room
            continuation = ids[given:][:room]
            kept = min(given, room - len(continuation))
            asked.append((1 + kept, [self.start_id, *ids[given - kept : given], *continuation]))
        return LogLikelihoods.of(self._score(asked, progress))

    def _score_in_windows(self, texts: Sequence[str], stride: int, progress: str) -> list[NDArray[np.float64]]:
        """Return the log-probabilities of all tokens in each text, including tokens beyond the maximum length.

        Models that were trained with a start token in every input give meaningless results without this token. For
        these models, every window therefore contains the start token instead of one token of context. For other models,
        later windows contain only text.
        """
        length = self.backbone.max_length
        if not 1 <= stride < length:
            raise FairlabError(f"stride must be in 1..{length - 1}, below the max_length of the model, not {stride}")
        if not texts:
            return []
        token_ids = self.backbone.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        asked, ends = [], []
        start = [self.start_id] if begins_every_input(self.backbone.tokenizer) else []
        room = length - len(start)
        for ids in token_ids:
            scored = length - 1
            asked.append((1, [self.start_id, *ids[:scored]]))
            while scored < len(ids):
                end = min(scored + stride, len(ids))
                asked.append((len(start) + scored - (end - room), [*start, *ids[end - room : end]]))
                scored = end
            ends.append(len(asked))
        found = self._score(asked, progress)
        return [np.concatenate(found[start:end]) for start, end in zip([0, *ends], ends, strict=False)]

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the texts' token ids without special tokens, truncated to fit ``max_length`` with ``start_token``."""
        if not texts:
            return []
        token_ids = self.backbone.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        room = self.backbone.max_length - 1
        self.cut += sum(len(ids) > room for ids in token_ids)
        return [ids[:room] for ids in token_ids]

    def _score(self, asked: Sequence[tuple[int, list[int]]], progress: str) -> list[NDArray[np.float64]]:
        """Return log-probabilities per text, from the given position of the first scored token to the end."""
        keys = [(first, *ids) for first, ids in asked]
        distinct = [key for key in dict.fromkeys(keys) if len(key) - 1 > key[0]]
        # The hidden state at a position predicts the next token, so the last token is not read. Texts that differ only
        # in it, such as a question with the answers yes and no, share a pass.
        sharing: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
        for key in distinct:
            sharing[key[1:-1]].append(key)
        read = list(sharing)
        scores: dict[tuple[int, ...], NDArray[np.float64]] = {}
        with self.backbone.measuring():
            for batch in with_progress(batches_of_one_length([len(ids) for ids in read], self.budget), progress):
                token_ids = [read[position] for position in batch]
                texts = [(row, key) for row, ids in enumerate(token_ids) for key in sharing[ids]]
                scored = [(row, k, ids[k]) for row, (first, *ids) in texts for k in range(first, len(ids))]
                targets = Targets(
                    [row for row, _, _ in scored], [k - 1 for _, k, _ in scored], [one for _, _, one in scored]
                )
                found = target_log_probabilities(self.backbone, token_ids, targets)
                ends = np.cumsum([len(ids) - first for _, (first, *ids) in texts])
                scores.update(zip([key for _, key in texts], np.split(found, ends[:-1]), strict=True))
        return [scores.get(key, np.empty(0)) for key in keys]

    def _sees_ahead(self) -> bool:
        """Return whether the first hidden state depends on the second token, as in a BERT that is not a decoder."""
        other_id = (self.start_id + 1) % self.backbone.model.config.get_text_config().vocab_size
        input_ids = torch.tensor([[self.start_id, self.start_id], [self.start_id, other_id]])
        with self.backbone.measuring():
            hidden = body(self.backbone.model)(input_ids=input_ids.to(self.backbone.device)).last_hidden_state
        return not torch.allclose(hidden[0, 0], hidden[1, 0], atol=1e-3)
