"""Moderation endpoint as a source: any server that implements OpenAI's ``/moderations``."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairlab.llm.event_loop import run_coroutine
from fairlab.llm.exchange import ExchangeOutcome, Reply
from fairlab.llm.pending import RETRIED, PendingCall, settled
from fairlab.llm.score_endpoints import AT_ONCE, ModerationEndpoint, fields_request, scores_of_reply
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.types import FairlabError, Natural, need_extra


class SourceEndpoint(ModerationEndpoint):
    """Client of ``/moderations``, whose settings are those of a source."""

    whose = "the source's "


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
        self.endpoint = SourceEndpoint(base_url, model, api_key_env=api_key_env, total_timeout=60.0)
        self.endpoint.api_key.read()
        self.outputs = tuple(outputs)
        self.retries = retries
        self.version = f"{self.endpoint.url} {model}"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the scores (N, F) of the texts, in [0, 1], with NaN for texts that the server rejects."""
        found = run_coroutine(self._replies(texts))
        scores = [scores_of_reply(reply.text) if reply.ok else {} for reply in found]
        rows = [[one.get(name, np.nan) for name in self.outputs] for one in scores]
        return np.array(rows).reshape(len(texts), len(self.outputs))

    async def _replies(self, texts: Sequence[str]) -> list[Reply]:
        async with self.endpoint:
            parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
            return [reply for part in parts for reply in await self._part(part)]

    async def _part(self, texts: Sequence[str]) -> list[Reply]:
        """Send several texts together, and return the replies.

        Raises:
            FairlabError: The last retry failed too, or a reply holds no scores.
        """
        began, requests = time.monotonic(), [fields_request([text]) for text in texts]
        calls = [PendingCall("", request, request, self.retries, repairs=0) for request in requests]

        async def attempt(pending: Sequence[PendingCall]) -> None:
            sent = await self.endpoint.send([call.request for call in pending])
            for call, one in zip(pending, sent, strict=True):
                call.attempts.append(one)

        async for call in settled(calls, attempt):
            reply = call.reply()
            if reply.outcome in RETRIED:
                raise FairlabError(
                    f"{self.endpoint.url} gave no answer for {time.monotonic() - began:.0f} s, with "
                    f"{reply.attempts - 1} retries ({reply.reason}); try later, since the cache keeps the scores so "
                    "far, or raise the source's retries"
                )
            if reply.outcome == ExchangeOutcome.MALFORMED:
                raise FairlabError(f"{self.endpoint.url} returns no scores ({reply.reason}); {self.endpoint.remedy}")
        return [call.reply() for call in calls]
