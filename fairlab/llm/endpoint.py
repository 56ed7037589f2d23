"""Endpoint of an OpenAI-compatible server: connection, API key, limits and interpretation of error responses."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, Self

from fairlab.llm.exchange import LONGEST_WAIT, Attempt, ExchangeOutcome, Request
from fairlab.llm.keys import ApiKey
from fairlab.llm.urls import checked_url
from fairlab.types import FairlabError, need_extra

REASON_LENGTH = 200
LONGEST_BODY = 16 * 2**20  # maximum bytes read of an answer
LOOPBACK = ("127.0.0.1", "::1", "localhost")
MOST_TOKENS = 10**8  # per call; larger counts of a server are ignored
RESERVED = ("model", "messages", "prompt", "input", "inputs", "stream", "n")  # parameters that `extra` must not change


class TooLong(Exception):
    """Error for a response that is longer than its limit."""


@dataclass(frozen=True)
class Answer:
    """HTTP response of a server: status, requested waiting time, and body."""

    status: int
    retry_after: str | None
    content: bytes

    @property
    def text(self) -> str:
        """Return the body as text."""
        return self.content.decode(errors="replace")

    @property
    def body(self) -> Any:
        """Return the parsed JSON of the body, or None if it is not JSON."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):  # neither JSON nor text
            return None


@dataclass(frozen=True)
class RoundTrip:
    """Result of sending one payload to a server.

    Attributes:
        answer: Response of the server, or None if there is none.
        outcome: Kind of failure if there is no response, else ``ok``.
        reason: Description of the failure.
        seconds: Seconds from sending to the last byte.
    """

    answer: Answer | None
    outcome: ExchangeOutcome
    reason: str
    seconds: float

    def failure(self, request: Request) -> Attempt:
        """Return the attempt for a request without a response."""
        if self.outcome == ExchangeOutcome.UNREACHABLE:
            return Attempt(self.outcome, reason=self.reason, seconds=self.seconds)
        return Attempt.in_full(self.outcome, request, self.reason, self.seconds)


class Endpoint:
    """Connection to one URL of a server, with up to ``concurrency`` requests in flight.

    The API key is read from the environment when a request is sent, and is not stored elsewhere; it is removed from all
    output of the server. A 429 response with Retry-After delays all requests, not only the affected one.

    Args:
        base_url: Address of the server up to and including the version, such as ``https://api.openai.com/v1``.
        model: Name of the model on the server.
        api_key_env: Name of the environment variable that holds the API key, or None to send no key.
        concurrency: Maximum number of requests in flight.
        extra: Additional parameters of every request, sent unchanged.
        connect_timeout, read_timeout, total_timeout: Maximum number of seconds for establishing a connection, for
            waiting without data while reading, and for a whole call.

    Raises:
        FairlabError: The address or another value is invalid.
    """

    path: ClassVar[str]
    whose: ClassVar[str] = "llm."  # prefix of settings in messages
    in_jobs: bool = False
    batch_size = 1

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str | None = None,
        concurrency: int = 32,
        extra: Mapping[str, Any] | None = None,
        connect_timeout: float = 10.0,
        read_timeout: float = 120.0,
        total_timeout: float = 300.0,
    ) -> None:
        need_extra("llm", "a model on a server", "httpx2")
        import httpx2

        if concurrency < 1:
            raise FairlabError(f"llm.concurrency must be at least 1, not {concurrency}")
        self.url = checked_url(base_url, self.whose) + self.path
        self.name = model
        self.workers = concurrency
        self.api_key = ApiKey(api_key_env, self.url, f"{self.whose}api_key_env")
        self.extra = dict(extra or {})
        if reserved := [name for name in RESERVED if name in self.extra]:
            raise FairlabError(f"llm.extra cannot set '{reserved[0]}'; leave it out")
        self.timeout = httpx2.Timeout(read_timeout, connect=connect_timeout, pool=None)
        self.total_timeout = total_timeout
        logging.getLogger("httpx2").setLevel(logging.WARNING)  # otherwise it logs every request
        self.not_before = 0.0  # on the monotonic clock; set by Retry-After

    @property
    def remedy(self) -> str:
        """Return the remedy for an address or a model that the server does not know."""
        return f"check {self.whose}model, {self.whose}base_url and the remaining quota"

    async def __aenter__(self) -> Self:
        import httpx2

        limits = httpx2.Limits(max_connections=self.workers, max_keepalive_connections=self.workers)
        plain = {"Accept-Encoding": "identity"}  # a few compressed bytes may expand without limit
        self.client = httpx2.AsyncClient(
            timeout=self.timeout,
            limits=limits,
            headers=plain | self.api_key.headers(),
            trust_env=httpx2.URL(self.url).host not in LOOPBACK,  # an environment proxy cannot reach a loopback address
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()
        del self.client

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """Send each request by itself, and return their attempts.

        Raises:
            FairlabError: No attempt can succeed, because the key is wrong, the model does not exist, or no credit is
                left.
        """
        return [await self.send_one(request) for request in requests]

    async def send_one(self, request: Request) -> Attempt:
        """Send one request, and return its attempt."""
        raise NotImplementedError

    async def exchange(self, payload: Mapping[str, Any]) -> RoundTrip:
        """Send a payload, after any waiting time that the server requested, and return the result."""
        import httpx2

        while (hold := self.not_before - time.monotonic()) > 0:
            await asyncio.sleep(hold + random.uniform(0, 0.1))
        started = time.perf_counter()
        answer: Answer | None = None
        outcome, reason = ExchangeOutcome.OK, ""
        try:
            async with asyncio.timeout(self.total_timeout):
                answer = await self._receive("POST", self.url, LONGEST_BODY, json=payload)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            outcome, reason = ExchangeOutcome.UNREACHABLE, str(error) or type(error).__name__
        except TimeoutError:
            outcome, reason = ExchangeOutcome.TIMED_OUT, f"no complete answer within {self.total_timeout:g} s"
        except httpx2.TimeoutException as error:
            outcome, reason = ExchangeOutcome.TIMED_OUT, f"silence ({type(error).__name__})"
        except httpx2.RequestError as error:
            outcome, reason = ExchangeOutcome.CUT_OFF, str(error) or type(error).__name__
        except TooLong:
            outcome, reason = ExchangeOutcome.SERVER_ERROR, f"the answer is longer than {LONGEST_BODY:,} bytes"
        return RoundTrip(answer, outcome, self.clean(reason), time.perf_counter() - started)

    async def _receive(self, method: str, url: str, longest: int, **content: Any) -> Answer:
        """Send an HTTP request, and return the response.

        Raises:
            TooLong: The response is longer than ``longest`` bytes.
        """
        body = bytearray()
        async with self.client.stream(method, url, **content) as response:
            async for part in response.aiter_bytes():
                body += part
                if len(body) > longest:
                    raise TooLong
            return Answer(response.status_code, response.headers.get("retry-after"), bytes(body))

    def listed(self) -> list[str]:
        """Return the names of the models that the server lists.

        The result is empty if it provides no list.

        Raises:
            FairlabError: The server cannot be reached, rejects the key, or has a different interface.
        """
        import httpx2

        url = self.url.removesuffix(self.path) + "/models"
        trust_env = httpx2.URL(url).host not in LOOPBACK
        try:
            found = httpx2.get(url, headers=self.api_key.headers(), timeout=self.timeout, trust_env=trust_env)
        except httpx2.RequestError as error:
            said = self.clean(str(error) or type(error).__name__)
            raise FairlabError(
                f"{url} cannot be reached ({said}); start its server, or give another address"
            ) from error
        answer = Answer(found.status_code, None, found.content[:LONGEST_BODY])
        if answer.text.lstrip().startswith("<"):
            raise FairlabError(
                f"{url} returns a web page; give the address up to its version, like http://HOST:8000/v1"
            )
        if answer.status in (401, 403):
            self.refusal(answer, 0.0)
        data = answer.body.get("data") if isinstance(answer.body, dict) else None
        return [str(one["id"]) for one in data if isinstance(one, dict) and "id" in one] if data else []

    def other_model(self, body: Any) -> str:
        """Return the model named in a response if it is not the requested one, else an empty string.

        Names that differ only in the version or the folder count as the same model.
        """
        named = body.get("model") if isinstance(body, dict) else None
        if not isinstance(named, str) or not named:
            return ""
        one, other = (text.rpartition("/")[2].casefold() for text in (named, self.name))
        return "" if one.startswith(other) or other.startswith(one) else self.clean(named)

    def refuse_other_model(self, body: Any) -> None:
        """Raise an error if a response names a model other than the requested one."""
        if named := self.other_model(body):
            raise FairlabError(
                f"{self.url} answers as {named}, not as {self.name}; give the name of the model that it serves"
            )

    def refusal(self, answer: Answer, seconds: float) -> Attempt:
        """Convert an error response (any status other than 200) to an attempt.

        Raises:
            FairlabError: No further request can succeed, because the key is wrong, the model does not exist, or no
                credit is left.
        """
        status, said = answer.status, self.said(answer)
        if status in (401, 403):
            raise self.api_key.refused(status, said)
        if status in (402, 404) or "insufficient_quota" in answer.text:
            model = f" for the model {self.name}" if self.name else ""
            raise FairlabError(f"{self.url} returned {status}{model}: {said}; {self.remedy}")
        reason = f"{status}: {said}"
        if 300 <= status < 400:
            reason = f"{status}: the address redirects; give the server's final address"
        if status == 429:
            reason += "; wait, or lower llm.concurrency or llm.tokens_per_minute"
            wait = retry_after(answer.retry_after)
            if wait is not None and wait <= LONGEST_WAIT:
                self.not_before = max(self.not_before, time.monotonic() + wait)
            return Attempt(ExchangeOutcome.RATE_LIMITED, reason=reason, seconds=seconds, wait=wait)
        lost = (status >= 500 and status != 501) or status == 408  # 501: not offered
        return Attempt(
            ExchangeOutcome.SERVER_ERROR if lost else ExchangeOutcome.REJECTED, reason=reason, seconds=seconds
        )

    def said(self, answer: Answer) -> str:
        """Return the error message in a response, on one line."""
        return self.clean(_error_text(answer.body) or answer.text)

    def clean(self, text: str) -> str:
        """Shorten a text to one line of limited length, without the API key."""
        return " ".join(self.api_key.blank(text).split())[:REASON_LENGTH]


def token_count(usage: Any, name: str, estimate: int) -> int:
    """Return the number of tokens reported by a server, or the estimate if the server reports no valid number."""
    value = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST_TOKENS:
        return estimate
    return math.ceil(value)


def _error_text(body: Any) -> str:
    """Return the message of an OpenAI-style error.

    Servers nest this message at different depths.
    """
    while isinstance(body, list) and body:
        body = body[0]
    for name in ("error", "message", "detail"):
        if isinstance(body, dict) and name in body:
            body = body[name]
    return body if isinstance(body, str) else ""


def retry_after(value: str | None) -> float | None:
    """Return the seconds to wait from a Retry-After header, a number or a date, or None if it is neither."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
