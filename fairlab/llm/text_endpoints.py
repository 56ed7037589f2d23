"""Endpoints that measure texts: embeddings, and log-probabilities of a prompt's tokens.

Sources: OpenAI's API reference (``/embeddings``; ``echo`` and ``logprobs`` of ``/completions``), which llama-cpp-python
follows, and vLLM's completion protocol (``prompt_logprobs``: a list with one mapping per token of the prompt, from the
token's id to ``logprob`` and ``decoded_token``, and null for the first token).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairlab.llm.endpoint import Answer, Endpoint, token_count
from fairlab.llm.exchange import Attempt, ExchangeOutcome, Request, estimated_tokens

AT_ONCE = 32  # texts per request for embeddings
LEAST = -9999.0  # vLLM's number for minus infinity, which JSON lacks
VLLM, ECHO = "prompt_logprobs", "echo"
FORMS: dict[str, dict[str, Any]] = {  # parameters that ask for log-probabilities of the prompt, in the order tried
    VLLM: {"prompt_logprobs": 0},
    ECHO: {"echo": True, "logprobs": 1},
}
NO_LOGPROBS = "returns no log-probabilities of a prompt; serve it with vLLM, or with llama-cpp-python and logits_all"


def text_request(text: str) -> Request:
    """Return the request that represents a text for the endpoints of this module."""
    return Request(({"role": "user", "content": text},), max_tokens=1, temperature=None)


class Embeddings(Endpoint):
    """Client of ``/embeddings``.

    The text of an attempt contains the vector, see :func:`read_vector`.
    """

    path = "/embeddings"
    batch_size = AT_ONCE

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """Send the texts in one request, and return one attempt per text.

        Raises:
            FairlabError: No attempt can succeed, because the key is wrong, the model does not exist, or no credit is
                left.
        """
        texts = [request.prompt for request in requests]
        found = await self.exchange({"model": self.name, "input": texts, "encoding_format": "float"} | self.extra)
        if found.answer is None:
            return [found.failure(request) for request in requests]
        if found.answer.status != 200:
            return [self.refusal(found.answer, found.seconds / len(texts)) for _ in requests]
        self.refuse_other_model(found.answer.body)
        vectors = _vectors(found.answer.body, len(texts))
        if vectors is None:
            reason = f"the answer lacks a vector of numbers for each of {len(texts)} texts: {self.said(found.answer)}"
            return [Attempt.in_full(ExchangeOutcome.REJECTED, request, reason) for request in requests]
        usage = found.answer.body.get("usage")
        guessed = sum(map(estimated_tokens, texts))
        tokens = token_count(usage, "prompt_tokens", guessed) / max(1, guessed)
        return [
            Attempt(
                ExchangeOutcome.OK,
                base64.b64encode(vector.tobytes()).decode(),
                prompt_tokens=round(estimated_tokens(text) * tokens),
                seconds=found.seconds / len(texts),
            )
            for text, vector in zip(texts, vectors, strict=True)
        ]


def _vectors(body: Any, count: int) -> NDArray[np.float32] | None:
    """Return the vectors (N, D) in a response in the order of the texts, or None if the response is invalid."""
    try:
        rows = sorted(body["data"], key=lambda one: one.get("index", 0))
        if len({row.get("index", place) for place, row in enumerate(rows)}) < len(rows):
            return None  # one text has two vectors
        found = np.array([row["embedding"] for row in rows], dtype="<f4")
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None
    return found if found.ndim == 2 and len(found) == count and found.size else None


def read_vector(text: str) -> NDArray[np.float32]:
    """Return the vector (D,) stored in the text of an attempt of :class:`Embeddings`."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


class PromptTokens(NamedTuple):
    """Tokens of a text as a server reads it, with their log-probabilities in nats, or None for a token without one."""

    tokens: list[str]
    log_probabilities: list[float | None]


class PromptLogProbabilities(Endpoint):
    """Client of ``/completions`` that requests the log-probabilities of the prompt's tokens; see :func:`read_tokens`.

    The form of the request that the server supports is found by trying several.
    """

    path = "/completions"

    def __init__(self, base_url: str, model: str, **settings: Any) -> None:
        super().__init__(base_url, model, **settings)
        self.forms = list(FORMS)

    async def send_one(self, request: Request) -> Attempt:
        """Send one request, and return its attempt."""
        form = self.forms[0]
        payload = {"model": self.name, "prompt": request.prompt, "max_tokens": 1, "temperature": 0}
        found = await self.exchange(payload | FORMS[form] | self.extra)
        if found.answer is None:
            return found.failure(request)
        if found.answer.status != 200:
            attempt = self.refusal(found.answer, found.seconds)
            refused = attempt.outcome == ExchangeOutcome.REJECTED and form in self.said(found.answer)
            return self._retry_in_next_form(request, form, attempt.reason) if refused else attempt
        self.refuse_other_model(found.answer.body)
        tokens = _tokens(found.answer, form)
        if tokens is None:
            return self._retry_in_next_form(request, form, f"it {NO_LOGPROBS}")
        usage = found.answer.body.get("usage")
        return Attempt(
            ExchangeOutcome.OK,
            json.dumps(tokens),
            prompt_tokens=token_count(usage, "prompt_tokens", estimated_tokens(request.prompt)),
            completion_tokens=1,
            seconds=found.seconds,
        )

    def _retry_in_next_form(self, request: Request, form: str, reason: str) -> Attempt:
        """Switch to the next form of the request, and return the attempt that causes a retry.

        After the last form, the attempt is a failure.
        """
        if form == self.forms[0] and len(self.forms) > 1:
            self.forms = self.forms[1:]
        again = form != self.forms[0]
        outcome = ExchangeOutcome.PARAMETER_REFUSED if again else ExchangeOutcome.REJECTED
        return Attempt.in_full(outcome, request, reason)


def read_tokens(text: str) -> PromptTokens:
    """Return the tokens stored in the text of an attempt of :class:`PromptLogProbabilities`."""
    return PromptTokens(*json.loads(text))


def _tokens(answer: Answer, form: str) -> PromptTokens | None:
    """Return the prompt's tokens in a response, or None if it does not contain their log-probabilities."""
    try:
        choice = answer.body["choices"][0]
        if form == VLLM:
            first = [None if one is None else next(iter(one.values())) for one in choice["prompt_logprobs"]]
            tokens = ["" if one is None else one.get("decoded_token") or "" for one in first]
            found = PromptTokens(tokens, [None if one is None else _number(one["logprob"]) for one in first])
        else:
            written = answer.body.get("usage", {}).get("completion_tokens", 1)
            end = len(choice["logprobs"]["tokens"]) - int(written)
            values = [None if one is None else _number(one) for one in choice["logprobs"]["token_logprobs"]]
            found = PromptTokens(list(map(str, choice["logprobs"]["tokens"][:end])), values[:end])
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, StopIteration):
        return None
    return found if len(found.tokens) == len(found.log_probabilities) else None


def _number(value: Any) -> float:
    """Convert a server's value to a log-probability.

    A placeholder for minus infinity is replaced.

    Raises:
        ValueError: The value is not a log-probability.
    """
    number = float(value)
    if not number <= 1e-4:  # rounding may make a certainty exceed 0
        raise ValueError
    return -np.inf if number <= LEAST else min(number, 0.0)
