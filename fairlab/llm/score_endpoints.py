"""Endpoints that score texts by label: moderation, and text classification.

Sources: OpenAI's API reference (``/moderations``), Hugging Face's specification of the task text-classification, and
``/predict`` of Text Embeddings Inference.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from fairlab.llm.endpoint import Answer, Endpoint, RoundTrip
from fairlab.llm.exchange import Attempt, ExchangeOutcome, Request, estimated_tokens
from fairlab.text.labels import as_written
from fairlab.types import FairlabError

Scores = dict[str, float]
AT_ONCE = 32  # texts per request for moderation
MOST_LABELS = 1000  # labels that a text-classification endpoint is asked for; some give five by default
NOT_OFFERED = (405, 501)  # statuses of an address with another interface, like a redirect
INTERNAL = 500
SHOWN = 80  # characters of a response that messages show


def fields_request(fields: Sequence[str]) -> Request:
    """Return the request that represents the fields of a text for the endpoints of this module."""
    return Request(tuple({"role": "user", "content": one} for one in fields), max_tokens=1, temperature=None)


def scores_of_reply(text: str) -> Scores:
    """Return the scores by label in the text of a reply, with NaN for a label without a score."""
    found: Scores = json.loads(text)
    return found


class ScoreEndpoint(Endpoint):
    """Client of an endpoint that scores texts by label; see :func:`scores_of_reply`."""

    retries_internal: ClassVar[bool] = True  # whether status 500 is a passing failure, instead of a failure on a text

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """Send the texts in one request, or one by one if it is rejected, and return one attempt per text.

        Raises:
            FairlabError: No attempt can succeed, because the address, the key or the model is wrong, or no credit is
                left; or the number of results is wrong.
        """
        found = await self.exchange(self.extra | self._payload(requests))
        if found.answer is None:
            return [found.failure(request) for request in requests]
        status = found.answer.status
        if status == 200:
            return self._attempts(found.answer, found, requests)
        attempt = self.refusal(found.answer, found.seconds)
        if 300 <= status < 400:
            raise FairlabError(f"{self.url} returned {attempt.reason}")
        if status in NOT_OFFERED:
            raise FairlabError(f"{self.url} returned {attempt.reason}; {self.remedy}")
        if len(requests) > 1 and (attempt.outcome == ExchangeOutcome.REJECTED or status == INTERNAL):
            return [one for request in requests for one in await self.send([request])]  # one text may be at fault
        if status == INTERNAL and not self.retries_internal:
            attempt = replace(attempt, outcome=ExchangeOutcome.REJECTED)
        return [attempt] * len(requests)

    def _attempts(self, answer: Answer, found: RoundTrip, requests: Sequence[Request]) -> list[Attempt]:
        """Convert a successful response to one attempt per text."""
        try:
            parts = self._parts(answer.body)
        except (KeyError, TypeError):
            parts = [None] * len(requests)
        if len(parts) != len(requests):
            raise FairlabError(f"{self.url} returned {len(parts)} results for {len(requests)} texts; check the server")
        attempts = []
        for request, part in zip(requests, parts, strict=True):
            outcome, text, reason = ExchangeOutcome.OK, "", ""
            try:
                text = json.dumps(self._scores(part))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError):
                shown = self.said(answer) if part is None else json.dumps(part)
                outcome, reason = ExchangeOutcome.MALFORMED, f"there must be a number per label, not {shown[:SHOWN]}"
            tokens, seconds = estimated_tokens(request.prompt), found.seconds / len(requests)
            attempts.append(Attempt(outcome, text, self.clean(reason), prompt_tokens=tokens, seconds=seconds))
        return attempts

    def _payload(self, requests: Sequence[Request]) -> dict[str, Any]:
        """Return the body of a request for some texts."""
        raise NotImplementedError

    def _parts(self, body: Any) -> list[Any]:
        """Return the part of a response about each text."""
        raise NotImplementedError

    def _scores(self, part: Any) -> Scores:
        """Return the scores in the part of a response about one text."""
        raise NotImplementedError


class ModerationEndpoint(ScoreEndpoint):
    """Client of ``/moderations``. The fields of a text are joined by a space."""

    path = "/moderations"
    batch_size = AT_ONCE

    def _payload(self, requests: Sequence[Request]) -> dict[str, Any]:
        texts = [" ".join(message["content"] for message in request.messages) for request in requests]
        return {"input": texts} | ({"model": self.name} if self.name else {})

    def _parts(self, body: Any) -> list[Any]:
        return [result["category_scores"] for result in body["results"]]

    def _scores(self, part: Any) -> Scores:
        return _numbers(part)


class TextClassificationEndpoint(ScoreEndpoint):
    """Client of the text-classification interface. A text with several fields is sent as a list of them."""

    path = ""

    def _payload(self, requests: Sequence[Request]) -> dict[str, Any]:
        fields = [message["content"] for message in requests[0].messages]
        return {
            "inputs": fields if len(fields) > 1 else fields[0],
            "parameters": {"top_k": MOST_LABELS, **self.extra.get("parameters", {})},
        }

    def _parts(self, body: Any) -> list[Any]:
        return [body]

    def _scores(self, part: Any) -> Scores:
        rows = part[0] if len(part) == 1 and isinstance(part[0], list) else part  # Inference Providers nest the list
        named = ((one["label"], one["score"]) for one in rows)
        return _numbers({name if isinstance(name, str) else as_written(name): score for name, score in named})


def _numbers(value: Mapping[str, Any]) -> Scores:
    """Return the scores that a server gives for one text, with NaN for null."""
    if not value:
        raise ValueError
    return {name: math.nan if score is None else float(score) for name, score in value.items()}
