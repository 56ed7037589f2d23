"""Shared code of the likelihood scorers: log-probabilities at chosen positions, for any head, in bounded memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils.generic import ModelOutput

from fairlab.backbones.backbone import Backbone, body
from fairlab.types import CannotScore

# Model types whose layers process every position independently, from ``attention.output`` onwards.
LIKE_BERT = ("bert", "roberta", "xlm-roberta")
LOGITS_AT_ONCE = 2**24  # 64 MiB in float32, and the same amount for their log-softmax


@dataclass(frozen=True)
class LogLikelihoods:
    """Log-likelihoods of texts, in nats.

    Attributes:
        sums: Log-probabilities summed over the scored tokens of each text, float64 (N,).
        counts: Number of scored tokens per text, int64 (N,).
    """

    sums: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def means(self) -> NDArray[np.float64]:
        """Return the log-likelihood per scored token, float64 (N,), or NaN for texts without scored tokens."""
        return np.divide(self.sums, self.counts, out=np.full(len(self.sums), np.nan), where=self.counts > 0)

    @classmethod
    def of(cls, log_probabilities: Sequence[NDArray[np.float64]]) -> LogLikelihoods:
        """Compute sums and counts from one array of log-probabilities per text."""
        return cls(
            np.array([values.sum() for values in log_probabilities], dtype=np.float64),
            np.array([len(values) for values in log_probabilities], dtype=np.int64),
        )


class TextScorer(Protocol):
    """Scorer of texts from left to right, which conditions each token on the preceding tokens.

    :class:`fairlab.backbones.causal_lm.CausalLM` scores with loaded weights; other scorers query a server or an object.

    Attributes:
        cut: Number of texts truncated so far because they are too long.
    """

    cut: int

    @property
    def max_length(self) -> int:
        """Return the maximum number of tokens in a text, or 0 if it is unknown."""
        ...

    def log_likelihoods(
        self, texts: Sequence[str], *, start_apart: bool = False, stride: int | None = None, progress: str = ""
    ) -> LogLikelihoods:
        """Return the log-likelihood and token count of each text, as ``CausalLM.log_likelihoods`` does.

        Raises:
            CannotScore: If the scorer cannot score in this way.
        """
        ...

    def continuation_log_likelihoods(self, pairs: Sequence[tuple[str, str]], *, progress: str = "") -> LogLikelihoods:
        """Return the log-likelihood of each second text given the first, as ``CausalLM`` does."""
        ...


@dataclass(frozen=True)
class Targets:
    """Token positions to score in a batch, as three sequences of equal length.

    Attributes:
        rows: Batch row of each target.
        positions: Token position of each target in its row.
        ids: Token id to score for each target.
    """

    rows: Sequence[int]
    positions: Sequence[int]
    ids: Sequence[int]


def batches_of_one_length(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Return batches of the positions of texts with equal lengths, with the longest texts first.

    A batch has at most ``budget`` tokens, unless a single text exceeds this number. Without padding, a score is
    independent of the rest of the batch, regardless of how the architecture treats padding.
    """
    of_length: dict[int, list[int]] = defaultdict(list)
    for position, length in enumerate(lengths):
        of_length[length].append(position)
    batches = []
    for length, positions in sorted(of_length.items(), reverse=True):
        size = max(1, budget // length)
        batches += [positions[start : start + size] for start in range(0, len(positions), size)]
    return batches


def target_log_probabilities(
    backbone: Backbone, token_ids: Sequence[Sequence[int]], targets: Targets
) -> NDArray[np.float64]:
    """Return log-probabilities (N,) of the targets under the LM head, over the whole vocabulary, in nats.

    All rows have one length and share one pass through the transformer. The head is applied once per requested
    position, in chunks that keep the number of logits within ``LOGITS_AT_ONCE`` (unless one position exceeds it).
    """
    device = backbone.device
    input_ids = torch.tensor(token_ids, device=device)
    flat = torch.tensor(targets.rows) * input_ids.shape[1] + torch.tensor(targets.positions)
    places, place_of_target = torch.unique(flat, return_inverse=True)
    output, hidden = _states_at(backbone.model, input_ids, places.to(device))
    wanted = torch.tensor(targets.ids)
    found = torch.empty(len(wanted))
    at_once = max(1, LOGITS_AT_ONCE // backbone.model.config.get_text_config().vocab_size)
    for start in range(0, len(hidden), at_once):
        log_probabilities = apply_head(backbone.model, output, hidden[start : start + at_once]).float().log_softmax(-1)
        here = (place_of_target >= start) & (place_of_target < start + at_once)
        rows, columns = (place_of_target[here] - start).to(device), wanted[here].to(device)
        found[here] = log_probabilities[rows, columns].cpu()
    return found.double().numpy()


def _states_at(model: PreTrainedModel, input_ids: Tensor, places: Tensor) -> tuple[ModelOutput, Tensor]:
    """Return the body's output, and last hidden states (P, D) at given positions of the flattened batch.

    If the architecture is known, the last layer skips the other positions after its attention, which saves an eighth of
    the work of a six-layer model.
    """
    run = partial(body(model), input_ids=input_ids, attention_mask=torch.ones_like(input_ids))
    if model.config.model_type not in LIKE_BERT:
        output = run()
        return output, output.last_hidden_state.flatten(0, 1)[places]

    def pick(_: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(states.flatten(0, 1)[places].unsqueeze(0) for states in given)

    layers: Any = body(model).get_submodule("encoder.layer")
    hook = layers[-1].attention.output.register_forward_pre_hook(pick)
    try:
        output = run()
    finally:
        hook.remove()
    return output, output.last_hidden_state.squeeze(0)


def apply_head(model: PreTrainedModel, output: ModelOutput, hidden_ND: Tensor) -> Tensor:
    """Return logits (N, V) of hidden states (N, D), computed by the model's own output layers.

    Architectures differ in the steps between hidden states and logits (transforms, scales, caps). Therefore the whole
    model is run, with a body that returns the given states instead of its ``output``.

    Raises:
        CannotScore: If the model did not call its body, so that the logits have another source.
    """
    # With a slice of longer rows, torch would copy the head's weights once for each row.
    given = type(output)(**{**output, "last_hidden_state": hidden_ND.contiguous().unsqueeze(1)})
    with _answering(body(model), given) as asked:
        heads = model(input_ids=torch.zeros(len(hidden_ND), 1, dtype=torch.long, device=hidden_ND.device))
    if not asked:
        raise CannotScore(f"the head of {type(model).__name__} cannot be separated from its body; give another model")
    return token_logits(heads).squeeze(1)


def token_logits(heads: ModelOutput) -> Tensor:
    """Return the token logits from the outputs of a model, which may also have a next-sentence head."""
    logits: Tensor = heads["prediction_logits"] if "prediction_logits" in heads else heads["logits"]
    return logits


@contextmanager
def _answering(module: nn.Module, output: ModelOutput) -> Iterator[list[bool]]:
    """Make the module return ``output`` for any call within the context.

    The yielded list gets one entry per call.
    """
    asked: list[bool] = []

    def answer(*_: object, **__: object) -> ModelOutput:
        asked.append(True)
        return output

    # Replaces torch's call, not forward: hooks on the body, such as a projection of its output, have already run.
    vars(module)["_call_impl"] = answer
    try:
        yield asked
    finally:
        del vars(module)["_call_impl"]
