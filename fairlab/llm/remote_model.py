"""Models on an OpenAI-compatible server, measured by their embeddings, prompt log-probabilities and generated texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.causal_lm import CHAT_TURN, DOCUMENT
from fairlab.backbones.model_object import PROBES, ModelObject
from fairlab.backbones.scoring import LogLikelihoods
from fairlab.llm.changed import refuse_changed
from fairlab.llm.client import LLM
from fairlab.llm.endpoint import Endpoint
from fairlab.llm.exchange import ExchangeOutcome, Reply
from fairlab.llm.ledger import LEDGER, Ledger
from fairlab.llm.loading import as_budget, as_price
from fairlab.llm.remote_writer import RemoteWriter
from fairlab.llm.server import Server
from fairlab.llm.text_endpoints import (
    Embeddings,
    PromptLogProbabilities,
    PromptTokens,
    read_tokens,
    read_vector,
    text_request,
)
from fairlab.types import EMBEDDINGS, LIKELIHOODS, TEXTS, CannotScore, Count, FairlabError, Natural, Positive

T = TypeVar("T")
STARTS = (DOCUMENT, CHAT_TURN + DOCUMENT, DOCUMENT + CHAT_TURN)  # read as start tokens by servers; in the order tried
SAME = 0.05  # largest difference of a model's values to recorded ones, relative to their size


def load_remote(
    base_url: str,
    model: str = "",
    *,
    api_key_env: str | None = None,
    concurrency: Count = 16,
    price: Mapping[str, float] | Literal["listed"] | None = None,
    budget: Mapping[str, float | None] | None = None,
    ledger: str = LEDGER,
    extra: Mapping[str, Any] | None = None,
    tokens_per_minute: Count | None = None,
    retries: Natural = 6,
    total_timeout: Positive = 300.0,
) -> ModelObject:
    """Load a served model with the abilities that its server offers: embeddings, likelihoods and generated texts.

    All answers of the server are recorded in the ledger by address, model name and text, so a repeated run only checks
    whether the server still gives the same answers.

    Args:
        base_url: Address of the server up to and including the version, such as ``http://127.0.0.1:8000/v1``.
        model: Name of the model on the server; empty if the server lists only one.
        api_key_env: Name of the environment variable that holds the API key, or None to send no key.
        concurrency: Maximum number of requests in flight.
        price: Prices ``{input: ..., output: ...}`` in dollars per million tokens, ``listed`` for those in
            :mod:`fairlab.llm.prices`, or None if the model is free or its price is unknown.
        budget: Limits ``{calls: ..., tokens: ..., dollars: ...}``, each a number or None.
        ledger: File of the answers, which is created if it is missing.
        extra: Additional parameters of every request, sent unchanged.
        tokens_per_minute: Maximum number of tokens per minute, for embeddings and for likelihoods separately; None for
            no limit.
        retries: Maximum number of retries of a lost call, see :class:`fairlab.llm.client.LLM`; the calls that test the
            server's abilities are retried once.
        total_timeout: Maximum duration of a call, in seconds.

    Raises:
        FairlabError: The server cannot be used, serves only other models, offers none of these abilities, or answers
            differently from the ledger.
    """
    name = _served_name(Embeddings(base_url, model, api_key_env=api_key_env, total_timeout=total_timeout))
    found = ModelObject(f"{name} at {urlsplit(base_url).netloc}")
    opened = Ledger(ledger)
    settings: Any = {"api_key_env": api_key_env, "concurrency": concurrency, "total_timeout": total_timeout}
    clients = {}
    for kind in (Embeddings, PromptLogProbabilities, Server):
        endpoint = kind(base_url, name, extra=extra, **settings)
        clients[kind] = LLM(
            endpoint,
            name,
            opened,
            budget=as_budget(budget or {}),
            price=as_price(price, base_url, name),
            retries=min(1, retries),
            repairs=0,
            extra={"endpoint": endpoint.url, **(extra or {})},
            tokens_per_minute=tokens_per_minute,
        )
    vectors, scorer = RemoteVectors(clients[Embeddings]), RemoteScorer(clients[PromptLogProbabilities])
    if (reason := _why_not(lambda: vectors(list(PROBES)))) is None:
        found.encode = vectors
    else:
        found.lacks[EMBEDDINGS] = f"returns no embeddings ({reason})"
    if (reason := _why_not(lambda: scorer.start)) is None:
        found.scorer = scorer
    else:
        found.lacks[LIKELIHOODS] = f"returns no likelihoods ({reason})"
    if (reason := _why_not(lambda: _probe_chat(clients[Server]))) is None:
        found.writer = RemoteWriter(clients[Server])
    else:
        found.lacks[TEXTS] = f"writes no texts ({reason})"
    if not found.offers:
        raise FairlabError(f"{found.name} {' and '.join(found.lacks.values())}; serve it with vLLM or llama-cpp-python")
    if found.encode is not None:
        _refuse_changed(vectors.llm, read_vector)
    if found.scorer is not None:
        _refuse_changed(scorer.llm, lambda text: [value or 0.0 for value in read_tokens(text).log_probabilities])
    for client in clients.values():
        client.retries = retries
    return found


def _served_name(endpoint: Endpoint) -> str:
    """Return the name of the model to request: the given name, or the only name that the server lists.

    Raises:
        FairlabError: The server lists only other models, or several models and none was chosen.
    """
    listed = endpoint.listed()
    if endpoint.name and (not listed or endpoint.name in listed):
        return endpoint.name
    if not endpoint.name and len(listed) == 1:
        return listed[0]
    served = ", ".join(listed[:5]) or "no list of models"
    what = f"not {endpoint.name}" if endpoint.name else "so name one"
    raise FairlabError(f"{endpoint.url.removesuffix(endpoint.path)} serves {served}, {what}: give ADDRESS#NAME")


def _why_not(ask: Callable[[], object]) -> str | None:
    """Call a function, and return the error message if it fails, or None if it succeeds."""
    try:
        ask()
    except (CannotScore, FairlabError) as error:
        return str(error)
    return None


def _probe_chat(llm: LLM) -> None:
    """Request a one-token answer to test whether the server answers chats.

    Raises:
        CannotScore: The server does not answer chats.
    """
    (reply,) = llm.ask([text_request("Say yes.")], stage="probe")
    if reply.outcome not in (ExchangeOutcome.OK, ExchangeOutcome.TRUNCATED, ExchangeOutcome.REFUSED):
        raise CannotScore(reply.reason or str(reply.outcome))


def _refuse_changed(llm: LLM, read: Callable[[str], Any]) -> None:
    """Send a recorded text again, and raise an error if its values differ by more than numerical noise."""

    def is_same(recorded: str, new: str) -> bool:
        before, after = np.asarray(read(recorded)), np.asarray(read(new))
        return before.shape == after.shape and bool(np.abs(before - after).max() <= SAME * np.abs(before).max())

    refuse_changed(llm, [text_request(PROBES[0])], is_same)


def _answers(llm: LLM, texts: Sequence[str], stage: str, read: Callable[[str], T]) -> list[T]:
    """Return the server's answer for each text.

    Raises:
        CannotScore: The server does not answer for one of the texts.
    """
    replies: list[Reply] = llm.ask([text_request(text) for text in texts], stage=stage)
    for text, reply in zip(texts, replies, strict=True):
        if not reply.ok:
            opening = f"{text[:40]}..." if len(text) > 40 else text
            raise CannotScore(f"{llm.name} did not answer on '{opening}': {reply.reason or reply.outcome}")
    return [read(reply.text) for reply in replies]


class RemoteVectors:
    """Callable that embeds texts on a server."""

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the embeddings (N, D) of texts.

        Raises:
            CannotScore: The server does not embed one of the texts, or returns vectors of different lengths.
        """
        found = _answers(self.llm, texts, EMBEDDINGS, read_vector)
        if len({len(vector) for vector in found}) > 1:
            raise CannotScore(f"{self.llm.name} returns vectors of different lengths; serve one model under this name")
        return np.stack(found)


class RemoteScorer:
    """Scorer of texts by the log-probabilities that a server returns for the tokens of a prompt.

    The first token of a text is scored given a start token, as in :class:`fairlab.backbones.causal_lm.CausalLM`. This
    is the start token that the server puts before every prompt (vLLM with Llama or Gemma). Otherwise, it is
    ``<|endoftext|>`` if the server reads that as one token, alone or next to the beginning of a chat turn. Without any
    start token, the first token has no score and is ignored; texts that differ in the first token are then compared
    only by their other tokens.
    """

    cut = 0
    max_length = 0

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    def _tokens(self, texts: Sequence[str]) -> list[PromptTokens]:
        return _answers(self.llm, texts, LIKELIHOODS, read_tokens)

    @cached_property
    def start(self) -> str | None:
        """Return the text to put before a text as its start token, or None if the server adds a start token itself.

        Raises:
            CannotScore: The server does not answer, or assigns log-probabilities to the wrong tokens, as
                llama-cpp-python does for a prompt without its start token.
        """
        for start in ("", *STARTS):
            (found,) = self._tokens([start + PROBES[0]])
            if _compact(found.tokens[1:]) == _compact([PROBES[0]]):
                return start or None
        if self._plain_is_whole:
            return ""
        raise CannotScore(f"{self.llm.name} is served with log-probabilities of the wrong tokens; serve it with vLLM")

    @cached_property
    def _plain_is_whole(self) -> bool:
        """Return whether the server's tokens for a text without a start token are exactly the text."""
        (plain,) = self._tokens(PROBES[:1])
        read = _compact(plain.tokens)
        return bool(read) and _compact([PROBES[0]]).endswith(read)

    def log_likelihoods(
        self, texts: Sequence[str], *, start_apart: bool = False, stride: int | None = None, progress: str = ""
    ) -> LogLikelihoods:
        """Return the log-likelihood and token count of each text.

        Raises:
            CannotScore: The server does not answer, or a text should be read in windows, or without the start
                token that the server adds itself.
        """
        del progress
        if stride is not None:
            raise CannotScore(f"{self.llm.name} is served, so texts cannot be read in windows; give its weights")
        if start_apart and (self.start is None or not self._plain_is_whole):
            raise CannotScore(
                f"the server of {self.llm.name} puts a start token before every text, or needs one, which this "
                "protocol omits; give its weights"
            )
        # the first token has no log-probability
        values = [tokens.log_probabilities[1:] for tokens in self._tokens_with_start(texts, self.start or "")]
        if start_apart and self.start:
            without = [tokens.log_probabilities[1:] for tokens in self._tokens_with_start(texts, "")]
            values = [[*whole[:1], *others] for whole, others in zip(values, without, strict=True)]
        return _sums(values, self.llm.name)

    def continuation_log_likelihoods(self, pairs: Sequence[tuple[str, str]], *, progress: str = "") -> LogLikelihoods:
        """Return the log-likelihood of the second text of each pair, given the first.

        A pair is sent as one text. The continuation begins at the first token that is not a token of the context alone.
        A context is sent immediately before its continuations, so that the server can reuse the common beginning.

        Raises:
            CannotScore: The server does not answer.
        """
        del progress
        start = self.start or ""
        found = self._tokens_with_start([text for context, more in pairs for text in (context, context + more)], start)
        values = []
        for context, both in zip(found[::2], found[1::2], strict=True):
            same = [one == other for one, other in zip(both.tokens, context.tokens, strict=False)]
            values.append(both.log_probabilities[max(1, (*same, False).index(False)) :])
        return _sums(values, self.llm.name)

    def _tokens_with_start(self, texts: Sequence[str], start: str) -> list[PromptTokens]:
        """Return the tokens of each text after the start token.

        An empty text without a start token has no tokens.
        """
        asked = [start + text for text in texts]
        distinct = list(dict.fromkeys(filter(None, asked)))
        found = dict(zip(distinct, self._tokens(distinct), strict=True))
        return [found.get(text, PromptTokens([], [])) for text in asked]


def _compact(tokens: Sequence[str]) -> str:
    """Join tokens to one text without whitespace, which servers represent in several ways."""
    return "".join("".join(tokens).split())


def _sums(values: Sequence[Sequence[float | None]], name: str) -> LogLikelihoods:
    if any(None in row for row in values):
        raise CannotScore(f"{name} gives no log-probability for some tokens of a text; serve it with vLLM")
    return LogLikelihoods.of([np.array(row, dtype=np.float64) for row in values])
