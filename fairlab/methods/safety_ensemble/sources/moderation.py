"""Moderation endpoint as a source: any server that implements OpenAI's ``/moderations``."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.llm.endpoint import Endpoint
from fairlab.llm.event_loop import run_coroutine
from fairlab.llm.exchange import Attempt, ExchangeOutcome, Reply, Request
from fairlab.llm.pending import RETRIED, PendingCall, settled
from fairlab.llm.text_endpoints import text_request
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.types import FairlabError, Natural, need_extra

AT_ONCE = 32  # texts in a request


class ModerationEndpoint(Endpoint):
    """Client of ``/moderations``.

    The text of an attempt contains the category scores of one input text as JSON.
    """

    path = "/moderations"
    whose = "the source's "

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """Send the texts in one request, and return one attempt per text.

        Raises:
            FairlabError: No attempt can succeed, because the address, the key or the model is wrong, or a reply has no
                scores.
        """
        texts = [request.prompt for request in requests]
        found = await self.exchange({"model": self.name, "input": texts})
        if found.answer is None:
            return [found.failure(request) for request in requests]
        if found.answer.status != 200:
            attempt = self.refusal(found.answer, found.seconds)
            if attempt.outcome == ExchangeOutcome.REJECTED and found.answer.status != 400:
                raise FairlabError(f"{self.url} returned {attempt.reason}; check the source's base_url and model")
            return [attempt] * len(texts)
        scores = _category_scores(found.answer.body)
        if scores is None:
            raise FairlabError(f"{self.url} returns no category_scores; check the source's base_url and model")
        if len(scores) != len(texts):
            raise FairlabError(f"{self.url} returned {len(scores)} results for {len(texts)} texts; check the server")
        return [Attempt(ExchangeOutcome.OK, json.dumps(one)) for one in scores]


def _category_scores(body: Any) -> list[dict[str, float]] | None:
    """Return the scores of each text by category, or None if a response does not hold them."""
    try:
        return [
            {name: float(score) for name, score in result["category_scores"].items() if score is not None}
            for result in body["results"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


class Moderation(Source):
    """Source of an endpoint's category scores.

    The key is read from the environment when texts are sent, and is not stored anywhere else.

    Args:
        base_url: Address of the endpoint up to and including the version.
        model: Name of the model on the server; the source's version consists of the address and this name.
        outputs: Names of the categories to use; the score is missing if a reply lacks the category.
        api_key_env: Environment variable that holds the key; None sends no key.
        retries: Maximum number of retries of a request while the server is busy or unavailable.

    Raises:
        FairlabError: The address is invalid or the key is missing or, in ``score``, the server refuses the key or the
            model, or is unavailable.
    """

    title = "moderation endpoint"
    limits = "The server's owner may change the model behind its name at any time, and receives every text."
    citation = """@inproceedings{markov2023holistic,
  title = {A Holistic Approach to Undesired Content Detection in the Real World},
  author = {Markov, Todor and Zhang, Chong and Agarwal, Sandhini and Nekoul, Florentine Eloundou and Lee, Theodore
            and Adler, Steven and Jiang, Angela and Weng, Lilian},
  booktitle = {Proceedings of the {AAAI} Conference on Artificial Intelligence},
  year = {2023}
}"""
    secret = ("base_url", "api_key_env")
    name = "moderation"
    asks_of_turned = False  # every request costs money
    own_limit = True  # the client limits the time of each request

    def __init__(
        self, *, base_url: str, model: str, outputs: Sequence[str], api_key_env: str | None, retries: Natural = 4
    ) -> None:
        need_extra("llm", "source=moderation", "httpx2")
        self.endpoint = ModerationEndpoint(base_url, model, api_key_env=api_key_env, total_timeout=60.0)
        self.endpoint.api_key.read()
        self.outputs = tuple(outputs)
        self.retries = retries
        self.version = f"{self.endpoint.url} {model}"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the scores (N, F) of the texts, in [0, 1], with NaN for texts that the server rejects."""
        found = run_coroutine(self._replies(texts))
        scores = [json.loads(reply.text) if reply.ok else {} for reply in found]
        rows = [[float(one.get(name, np.nan)) for name in self.outputs] for one in scores]
        return np.array(rows).reshape(len(texts), len(self.outputs))

    async def _replies(self, texts: Sequence[str]) -> list[Reply]:
        async with self.endpoint:
            parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
            return [reply for part in parts for reply in await self._part(part)]

    async def _part(self, texts: Sequence[str]) -> list[Reply]:
        """Send several texts in one request, and return the replies.

        If the request is rejected, each text is sent in a separate request.

        Raises:
            FairlabError: The last retry failed too.
        """
        began, requests = time.monotonic(), [text_request(text) for text in texts]
        calls = [PendingCall("", request, request, self.retries, repairs=0) for request in requests]

        async def attempt(pending: Sequence[PendingCall]) -> None:
            sent = await self.endpoint.send([call.request for call in pending])
            for call, one in zip(pending, sent, strict=True):
                call.attempts.append(one)

        replies = [call.reply() async for call in settled(calls, attempt)]
        if replies[0].outcome in RETRIED:
            raise FairlabError(
                f"{self.endpoint.url} gave no answer for {time.monotonic() - began:.0f} s, with "
                f"{replies[0].attempts - 1} retries ({replies[0].reason}); try later, since the cache keeps the scores "
                "so far, or raise the source's retries"
            )
        if replies[0].ok or len(texts) == 1:
            return replies
        return [reply for text in texts for reply in await self._part([text])]  # perhaps only one text is refused
