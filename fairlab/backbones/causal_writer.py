"""Texts sampled from a causal language model, each with a separate seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fairlab.backbones.backbone import RAISE_LENGTH, TOKENS_PER_BATCH, Backbone, batches_by_tokens
from fairlab.backbones.causal_lm import CausalLM
from fairlab.backbones.continuations import continue_rows
from fairlab.backbones.writers import END, LENGTH, Sampling, TextPrompt, Written
from fairlab.checks.chat_templates import chat_text
from fairlab.checks.progress import with_progress
from fairlab.types import CannotScore


class CausalWriter:
    """Writer that samples texts from a causal language model.

    A prompt for continuation is preceded by the model's start token, as in scoring. A chat prompt is formatted with the
    tokenizer's chat template; without a template, each message, beginning with the system prompt, is followed by a
    blank line.

    Args:
        backbone: Causal LM with its tokenizer.
        budget: Number of padded tokens per batch.

    Attributes:
        cut: Number of prompts so far whose beginning was removed to make room for a text.

    Raises:
        CannotScore: The model is not a causal language model.
    """

    def __init__(self, backbone: Backbone, *, budget: int = TOKENS_PER_BATCH) -> None:
        self.scorer = CausalLM(backbone)
        self.backbone = backbone
        self.budget = budget
        self.cut = 0

    def write(
        self,
        prompts: Sequence[TextPrompt],
        sampling: Sampling,
        *,
        done: Callable[[int, Written], None] | None = None,
        progress: str = "",
    ) -> list[Written]:
        """Return a sampled text for each prompt, in input order; see :class:`fairlab.backbones.writers.Writer`.

        Prompts of similar length share a batch, padded on the left, and leave it when their text ends. Seeds depend
        only on the prompt and its sample number, so the samples do not depend on the batch.

        Raises:
            CannotScore: The maximum length of a text leaves no room for a prompt.
        """
        room = self.backbone.max_length - sampling.max_tokens
        if room < 2:
            raise CannotScore(
                f"{sampling.max_tokens} tokens leave no room for a prompt in max_length={self.backbone.max_length}; "
                f"{RAISE_LENGTH}"
            )
        asked = [self._ids(prompt, room) for prompt in prompts]
        found: dict[int, Written] = {}
        lengths = [len(ids) + sampling.max_tokens for ids in asked]
        with self.backbone.measuring():
            for batch in with_progress(list(batches_by_tokens(lengths, self.budget)), progress):
                texts = self._batch([asked[k] for k in batch], [prompts[k] for k in batch], sampling)
                for k, text in zip(batch, texts, strict=True):
                    found[k] = text
                    if done is not None:
                        done(k, text)
        return [found[k] for k in range(len(prompts))]

    def _ids(self, prompt: TextPrompt, room: int) -> list[int]:
        """Return at most ``room`` tokens of a prompt, including the start token if the model continues a text."""
        tokenizer = self.backbone.tokenizer
        text, start = prompt.text, [self.scorer.start_id]
        if prompt.chat and tokenizer.chat_template:
            text, start = chat_text(tokenizer, prompt.messages()), []
        elif prompt.chat:
            text = "".join(f"{one['content']}\n\n" for one in prompt.messages())
        ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        kept = room - len(start)
        self.cut += len(ids) > kept
        return [*start, *ids[-kept:]]

    def _ends(self) -> set[int | None]:
        ending = getattr(self.backbone.model.generation_config, "eos_token_id", None)
        several = ending if isinstance(ending, list) else [ending]
        return {self.scorer.start_id, self.backbone.tokenizer.eos_token_id, *several}

    def _batch(self, asked: Sequence[list[int]], prompts: Sequence[TextPrompt], sampling: Sampling) -> list[Written]:
        """Sample the texts for one batch of prompts."""
        ends = self._ends()
        draws = [torch.Generator().manual_seed(sampling.seed_of(prompt)) for prompt in prompts]
        written: list[list[int]] = [[] for _ in asked]
        ended = [LENGTH] * len(asked)

        def take(row: int, logits: Tensor) -> int | None:
            token = draw_token(logits, sampling, draws[row])
            if token in ends:
                ended[row] = END
                return None
            written[row].append(token)
            return token if len(written[row]) < sampling.max_tokens else None

        continue_rows(self.backbone, asked, self.scorer.start_id, take)
        return [
            Written(self._text(ids, own), how, len(own)) for ids, own, how in zip(asked, written, ended, strict=True)
        ]

    def _text(self, prompt: list[int], own: list[int]) -> str:
        """Return the decoded text without its prompt.

        Both are decoded together, because some tokenizers drop a space at the start.
        """
        decode = self.backbone.tokenizer.decode
        given = str(decode(prompt, skip_special_tokens=True))
        return str(decode([*prompt, *own], skip_special_tokens=True))[len(given) :]


def draw_token(logits: Tensor, sampling: Sampling, draws: torch.Generator) -> int:
    """Sample a token from logits (V,), or return the most likely token at temperature 0.

    If Gumbel noise is added, each token has the largest scaled logit with its softmax probability.
    """
    if not sampling.temperature:
        return int(logits.argmax())
    scaled = logits.double().cpu() / sampling.temperature
    if sampling.top_p < 1:
        ordered, places = scaled.softmax(-1).sort(descending=True)
        outside = ordered.cumsum(-1) - ordered >= sampling.top_p
        scaled[places[outside]] = -torch.inf
    uniform = torch.rand(scaled.shape, generator=draws, dtype=torch.float64).clamp_min(1e-300)
    return int((scaled - (-uniform.log()).log()).argmax())
