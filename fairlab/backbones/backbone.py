"""Pretrained models as encoders of texts into embeddings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from fairlab.backbones.attention import avoid_cudnn_attention
from fairlab.backbones.pooling import first_token, token_mean
from fairlab.backbones.tokenizers import refuse_growth, refuse_tokens_without_row
from fairlab.checks.progress import with_progress
from fairlab.types import CannotScore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairlab.backbones.sentence_pipeline import SentencePipeline

T = TypeVar("T")
R = TypeVar("R")
TOKENS_PER_BATCH = 2048
REMEMBERED = 2**26  # maximum number of cached embedding values; 256 MiB


def pad(
    token_ids: Sequence[Sequence[int] | NDArray[np.int64]], padding_id: int, width: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return token ids and attention mask (N, T) of N texts, padded to T = ``width`` or to the longest text."""
    longest = max(len(ids) for ids in token_ids) if width is None else width
    input_ids = torch.full((len(token_ids), longest), padding_id)
    attention_mask = torch.zeros(len(token_ids), longest, dtype=torch.long)
    for row, ids in enumerate(token_ids):
        input_ids[row, : len(ids)] = torch.tensor(ids)
        attention_mask[row, : len(ids)] = 1
    return input_ids, attention_mask


def batches_by_tokens(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield batches of the positions of texts with similar lengths.

    A batch has at most ``budget`` padded tokens, unless a single text exceeds this number.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        # The first text of a batch is the longest, so it sets the padded length.
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    """Return a thread pool that is kept until the process ends, because new threads per call would retain memory."""
    return ThreadPoolExecutor(count, "batches")


def in_torch_threads(function: Callable[[T], R], values: Sequence[T], threads: int) -> Iterator[R]:
    """Yield a function's results in order, computed in threads whose torch operations use one core each."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # also of the other threads, when they begin
    try:
        yield from _threads(threads).map(function, values)
    finally:
        torch.set_num_threads(before)


def body(model: PreTrainedModel) -> nn.Module:
    """Return the body of a language model, whose last hidden states are the input of the head."""
    decoder = getattr(model.base_model, "decoder", None)  # models that have one (OPT) bypass its wrapper
    return decoder if isinstance(decoder, PreTrainedModel) else model.base_model


# How to change the length limit: fairlab.evaluate has a top-level key, a training run has a backbone setting.
RAISE_LENGTH = "raise it (in a training, backbone.max_length)"


class Backbone(nn.Module):
    """Text encoder made from a transformers model, a tokenizer and a pooling.

    Args:
        model: Encoder, or language model that contains one; the head is kept for export and for scoring likelihoods.
        tokenizer: Tokenizer that the model was trained with.
        pooling: Method that reduces token vectors to one: ``cls`` for the first token's last hidden state, ``mean`` for
            the mean over all non-padding tokens, or ``published`` for the modules of ``published``.
        max_length: Maximum number of tokens per text, including special tokens; longer texts are truncated.
        normalize: Whether embeddings are scaled to unit length; ignored if ``published`` computes them.
        published: Modules of sentence-transformers around the model, or None if there are no such modules.

    Attributes:
        cut: Hashes of the texts that :meth:`embed` truncated. To count truncated texts, a caller clears this set first.
        entries: Number of text entries that a causal LM was tuned on, or None if unknown.
        subtraction: Correction that is subtracted when pairs are classified; see :mod:`fairlab.backbones.subtraction`.
        unread: Names of weights in the model's file that its configuration omits.
        on_first_embedding: Function that is called once, before the first text is embedded, or None.
        gate: Result of the behaviour check of the model, as text.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        pooling: Literal["cls", "mean", "published"],
        max_length: int,
        normalize: bool,
        published: SentencePipeline | None = None,
    ) -> None:
        super().__init__()
        refuse_growth(tokenizer)
        avoid_cudnn_attention()
        refuse_tokens_without_row(model, tokenizer)
        self.model = model
        self.tokenizer = tokenizer
        self.pooling = pooling
        self.max_length = max_length
        self.normalize = normalize
        self.published = published
        self.readout = None if published is None else published.readout
        self.cut: set[int] = set()
        self.entries: int | None = None
        self.unread: tuple[str, ...] = ()
        self.on_first_embedding: Callable[[Backbone], object] | None = None
        self.gate = "not checked yet"
        self.padding_id = int(tokenizer.pad_token_id or 0)
        ends = (tokenizer.bos_token_id, tokenizer.eos_token_id, self.padding_id)
        self.empty_id = next(int(one) for one in ends if one is not None)  # read instead of a text without tokens
        self.subtraction: Subtraction | None = None
        self._remembered: dict[str, Tensor] | None = None
        self.train(model.training)  # same mode for both, so that embed restores the previous one

    def __repr__(self) -> str:
        """Return a description of the model; see :func:`fairlab.backbones.summary.summary`."""
        from fairlab.backbones.summary import summary

        return summary(self)

    @property
    def transformer(self) -> nn.Module:
        """Return the model without its language-modelling head."""
        return self.model.base_model

    @property
    def reader(self) -> nn.Module:
        """Return the module whose last hidden states become embeddings.

        For an encoder-decoder, it is the encoder; otherwise it is the whole transformer.
        """
        if self.published is None and self.model.config.is_encoder_decoder:
            return self.model.get_encoder()
        return self.transformer

    @property
    def projection(self) -> Tensor | None:
        """Return the matrix (D, D) that multiplies the last hidden states; see :mod:`fairlab.backbones.projection`."""
        return getattr(body(self.model), "projection", None)

    @property
    def width(self) -> int:
        """Return the length of an embedding."""
        return self.hidden_width if self.published is None else self.published.width

    @property
    def hidden_width(self) -> int:
        """Return the length of a token's hidden state."""
        return int(self.model.config.get_text_config().hidden_size)

    @property
    def device(self) -> torch.device:
        """Return the device of the weights."""
        return self.model.device

    def digest(self) -> str:
        """Return the SHA-256 of the in-memory weights that determine embeddings."""
        found = hashlib.sha256()
        for name, tensor in sorted(self.transformer.state_dict().items()):
            if not name.startswith("pooler."):  # never used for an embedding, and absent from a masked LM
                found.update(name.encode())
                found.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy())
        for tensor in self.readout.state_dict().values() if self.readout is not None else ():
            found.update(tensor.cpu().contiguous().view(torch.uint8).numpy())
        if self.projection is not None:
            found.update(self.projection.cpu().numpy().tobytes())
        return found.hexdigest()

    def tokenize(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the token ids of each text, including special tokens, truncated to ``max_length``."""
        return self.tokenizer(list(texts), truncation=True, max_length=self.max_length)["input_ids"]

    def is_cut(self, token_ids: Sequence[Sequence[int]], *texts: Sequence[str]) -> list[bool]:
        """Return, for each text, whether it was truncated to get ``token_ids``.

        Args:
            token_ids: Token ids per text, including special tokens.
            texts: Sequence of texts; for pairs, two sequences.
        """
        cut = [False] * len(token_ids)
        full = [row for row, ids in enumerate(token_ids) if len(ids) >= self.max_length]
        if full:
            columns = ([column[row] for row in full] for column in texts)
            for row, ids in zip(full, self.tokenizer(*columns, verbose=False)["input_ids"], strict=True):
                cut[row] = len(ids) > self.max_length
        return cut

    def tokenize_to_embed(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids that :meth:`embed` uses for each text, including the model's prompt if there is one.

        If a text has no tokens (an empty text with a tokenizer that adds no special tokens), a single start token is
        used.
        """
        found = self.tokenize(texts) if self.published is None else self.published.token_ids(texts)
        return [ids or [self.empty_id] for ids in found]

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return embeddings (N, D) of token ids (N, T) with a mask that is 0 at padding."""
        hidden = self.reader(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return self.pool(hidden, attention_mask)

    def pool(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        """Pool last hidden states (N, T, H) into embeddings (N, D)."""
        if self.published is not None:
            return self.published.pool(hidden, attention_mask)
        embedding = first_token(hidden) if self.pooling == "cls" else token_mean(hidden, attention_mask)
        return nn.functional.normalize(embedding, dim=-1) if self.normalize else embedding

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Disable dropout and gradients within the context, and restore the previous mode on exit."""
        was_training = self.training
        self.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            self.train(was_training)

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Cache embeddings within the context, up to a memory limit.

        The weights must not change within the context.
        """
        found, self._remembered = self._remembered, {}
        try:
            yield
        finally:
            self._remembered = found

    def embed(
        self, texts: Sequence[str], *, budget: int = TOKENS_PER_BATCH, progress: str = "", side_by_side: bool = False
    ) -> Tensor:
        """Return the embeddings (N, D) of texts, in input order.

        The embeddings are float32, on the CPU, and computed without dropout. Texts with the same tokens, such as texts
        that differ only after the length limit, are embedded once.

        Args:
            texts: Any number of texts.
            budget: Number of padded tokens per forward pass.
            progress: Title of a progress bar, shown on a terminal only.
            side_by_side: Whether every torch thread computes a separate batch, instead of sharing the operations of one
                batch. The embeddings are the same. Ignored on a GPU.
        """
        if self.on_first_embedding is not None:
            check, self.on_first_embedding = self.on_first_embedding, None
            check(self)
        distinct = list(dict.fromkeys(texts))
        token_ids = self.tokenize_to_embed(distinct) if distinct else []
        prompt = "" if self.published is None else self.published.prompt or ""
        behind = [prompt + text for text in distinct] if prompt else distinct
        cut = self.is_cut(token_ids, behind) if distinct else []
        self.cut.update(hash(text) for text, is_cut in zip(distinct, cut, strict=True) if is_cut)
        known = {} if self._remembered is None else self._remembered
        of_tokens: dict[tuple[int, ...], int] = {}
        first = [of_tokens.setdefault(tuple(ids), position) for position, ids in enumerate(token_ids)]
        new = [position for position in of_tokens.values() if distinct[position] not in known]
        batches = [
            [new[k] for k in batch]
            for batch in batches_by_tokens([len(token_ids[position]) for position in new], budget)
        ]
        embeddings = torch.empty(len(distinct), self.width)
        for position, text in enumerate(distinct):
            if text in known:
                embeddings[position] = known[text]
        with self.measuring():
            read = self._read([[token_ids[position] for position in batch] for batch in batches], side_by_side)
            for batch, embedded in zip(with_progress(batches, progress), read, strict=True):
                if embedded.shape[1] != self.width:
                    name, wide = type(self.model).__name__, embedded.shape[1]
                    raise CannotScore(
                        f"{name} gives embeddings of length {wide}, not {self.width} as in its configuration; "
                        "give it as an object with encode(texts)"
                    )
                embeddings[batch] = embedded
        if self._remembered is not None and (len(known) + len(new)) * self.width <= REMEMBERED:
            self._remembered.update({distinct[position]: embeddings[position] for position in new})
        row = dict(zip(distinct, first, strict=True))
        return embeddings[[row[text] for text in texts]]

    def _read(self, batches: Sequence[Sequence[Sequence[int]]], side_by_side: bool) -> Iterator[Tensor]:
        """Yield the embeddings (B, D) of each batch of token ids, in order, as float32 on the CPU."""

        def read(batch: Sequence[Sequence[int]]) -> Tensor:
            input_ids, attention_mask = pad(batch, self.padding_id)
            with torch.no_grad():  # a setting of the thread
                return self(input_ids.to(self.device), attention_mask.to(self.device)).float().cpu()

        threads = min(torch.get_num_threads(), len(batches))
        if side_by_side and threads > 1 and self.device.type == "cpu":
            yield from in_torch_threads(read, batches, threads)
        else:
            yield from map(read, batches)


class Subtraction(nn.Module):
    """Subtraction of a model's scaled outputs from other outputs, as ``logits`` or ``probabilities``."""

    def __init__(self, model: PreTrainedModel, scale: float, space: str) -> None:
        super().__init__()
        self.model = model
        self.scale = scale
        self.space = space

    def forward(self, outputs: Tensor, alone: Tensor) -> Tensor:
        """Return the outputs for pairs (N, L) minus the scaled outputs for their second texts alone (N, L)."""
        if self.space == "logits":
            return outputs - self.scale * alone
        return outputs.softmax(dim=1) - self.scale * alone.softmax(dim=1)
