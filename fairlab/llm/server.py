"""Client of servers with OpenAI's chat completions API: OpenAI, Gemini, vLLM, llama.cpp, Ollama."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from fairlab.checks.redaction import is_variable_name
from fairlab.llm.exchange import (
    LONGEST_WAIT,
    Attempt,
    ExchangeOutcome,
    Request,
    estimated_tokens,
    without_reasoning,
)
from fairlab.types import FairlabError

log = logging.getLogger(__name__)
# Ways to request JSON of a schema, in the order tried: OpenAI's, llama.cpp's, JSON without a schema (older models such
# as gpt-3.5-turbo), and no parameter. The last two rely on the prompt and on the check of the reply.
SCHEMA_FORMS = ("json_schema", "json_object with schema", "json_object", "prompt alone")
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")  # names of the reply limit: the older one and OpenAI's newer one
OPTIONAL = ("temperature", "top_p", "seed")  # parameters that are omitted if a server refuses them
RESERVED = ("model", "messages", "stream", "n")  # parameters that `extra` must not change
PATIENCE = 2  # bare 500s for one form before the next is tried; an explicit refusal counts immediately
REASON_LENGTH = 200
LONGEST_BODY = 16 * 2**20  # maximum bytes read of an answer
LOOPBACK = ("127.0.0.1", "::1", "localhost")
MOST_TOKENS = 10**8  # per call; larger counts of a server are ignored


class TooLong(Exception):
    """Answer longer than :data:`LONGEST_BODY`."""


@dataclass(frozen=True)
class Answer:
    """HTTP response of a server: status, requested wait, and body."""

    status: int
    retry_after: str | None
    content: bytes

    @property
    def text(self) -> str:
        """Return the body as text."""
        return self.content.decode(errors="replace")


class Server:
    """Client that sends requests one by one, with up to ``concurrency`` in flight.

    The API key is read from the environment when a request is sent, and is not stored elsewhere; it is removed from all
    output of the server. A 429 with Retry-After delays all requests, not only the affected one.

    Args:
        base_url: Address of the server up to and including the version, such as ``https://api.openai.com/v1``.
        model: Name of the model as the server calls it.
        api_key_env: Name of the environment variable that holds the API key, or None to send no key.
        concurrency: Maximum number of requests in flight.
        token_limit_key: Name of the server's parameter for the maximum reply length: ``max_tokens`` or
            ``max_completion_tokens``. The other name is used if the server asks for it.
        extra: Additional parameters of every request, sent unchanged.
        connect_timeout, read_timeout, total_timeout: Maximum seconds to wait for a connection, without data while
            reading, and for a call in total.

    Raises:
        FairlabError: If the address or another value is invalid.
    """

    batch_size = 1

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str | None = None,
        concurrency: int = 32,
        token_limit_key: str = "max_tokens",
        extra: Mapping[str, Any] | None = None,
        connect_timeout: float = 10.0,
        read_timeout: float = 120.0,
        total_timeout: float = 300.0,
    ) -> None:
        if concurrency < 1:
            raise FairlabError(f"llm.concurrency must be at least 1, not {concurrency}")
        self.url = _checked(base_url) + "/chat/completions"
        self.name = model
        self.workers = concurrency
        self.api_key_env = api_key_env
        self.token_limit_key = token_limit_key
        self.extra = dict(extra or {})
        if reserved := [name for name in RESERVED if name in self.extra]:
            raise FairlabError(f"llm.extra cannot set '{reserved[0]}'; leave it out")
        self.left_out: set[str] = set()  # parameters that the server refused
        self.timeout = httpx2.Timeout(read_timeout, connect=connect_timeout, pool=None)
        self.total_timeout = total_timeout
        self.forms: tuple[str, ...] = SCHEMA_FORMS
        self.form_known = False
        self.strikes = 0
        self.not_before = 0.0  # on the monotonic clock; set by Retry-After

    async def __aenter__(self) -> Server:
        limits = httpx2.Limits(max_connections=self.workers, max_keepalive_connections=self.workers)
        plain = {"Accept-Encoding": "identity"}  # a few compressed bytes may expand without limit
        self.client = httpx2.AsyncClient(
            timeout=self.timeout,
            limits=limits,
            headers=plain | self._headers(),
            trust_env=httpx2.URL(self.url).host not in LOOPBACK,  # an environment proxy cannot reach a loopback address
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()
        del self.client

    def _key(self) -> str:
        if self.api_key_env is None:
            return ""
        if not (key := os.environ.get(self.api_key_env, "").strip()):
            if not is_variable_name(self.api_key_env):
                raise FairlabError(
                    "llm.api_key_env holds no name of a variable, perhaps the key itself; export it, and give the name"
                )
            raise FairlabError(
                f"the key for {self.url} is read from the environment variable {self.api_key_env}, which is not set; "
                "export it, or name another one as llm.api_key_env"
            )
        return key

    def _headers(self) -> dict[str, str]:
        key = self._key()
        if not key.isascii() or not key.isprintable():
            raise FairlabError(f"the key in {self.api_key_env} holds characters that no header can; export it anew")
        return {"Authorization": f"Bearer {key}"} if key else {}

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """Return one attempt; ``requests`` is a list of one.

        Raises:
            FairlabError: If no attempt can succeed: wrong key, no such model, no credit left.
        """
        return [await self._send(request) for request in requests]

    async def _send(self, request: Request) -> Attempt:
        while (hold := self.not_before - time.monotonic()) > 0:
            await asyncio.sleep(hold + random.uniform(0, 0.1))
        form = self.forms[0] if request.schema is not None else ""
        started = time.perf_counter()
        answer: Answer | None = None
        outcome, reason = ExchangeOutcome.OK, ""
        try:
            async with asyncio.timeout(self.total_timeout):
                payload = self._payload(request, form)
                answer = await self._ask(payload)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            outcome, reason = ExchangeOutcome.UNREACHABLE, str(error) or type(error).__name__
        except TimeoutError:
            outcome, reason = ExchangeOutcome.TIMED_OUT, f"no whole answer within {self.total_timeout:g} s"
        except httpx2.TimeoutException as error:
            outcome, reason = ExchangeOutcome.TIMED_OUT, f"silence ({type(error).__name__})"
        except httpx2.RequestError as error:
            outcome, reason = ExchangeOutcome.CUT_OFF, str(error) or type(error).__name__
        except TooLong:
            outcome, reason = ExchangeOutcome.SERVER_ERROR, f"the answer is longer than {LONGEST_BODY:,} bytes"
        seconds = time.perf_counter() - started
        if answer is None:
            if outcome == ExchangeOutcome.UNREACHABLE:
                return Attempt(outcome, reason=self._clean(reason), seconds=seconds)
            return Attempt.in_full(outcome, request, self._clean(reason), seconds)
        return self._read(answer, request, payload, form, seconds)

    async def _ask(self, payload: dict[str, Any]) -> Answer:
        """Return the server's response, read up to a limit.

        Raises:
            TooLong: If the response is longer.
        """
        content = bytearray()
        async with self.client.stream("POST", self.url, json=payload) as response:
            async for part in response.aiter_bytes():
                content += part
                if len(content) > LONGEST_BODY:
                    raise TooLong
            return Answer(response.status_code, response.headers.get("retry-after"), bytes(content))

    def _payload(self, request: Request, form: str) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "model": self.name,
            "messages": list(request.messages),
            self.token_limit_key: request.max_tokens,
        }
        for name in ("temperature", "top_p", "seed"):
            if (value := getattr(request, name)) is not None and name not in self.left_out:
                payload[name] = value
        if form == "json_schema":
            wrapped = {"name": "answer", "strict": True, "schema": request.schema}
            payload["response_format"] = {"type": "json_schema", "json_schema": wrapped}
        elif form == "json_object with schema":
            payload["response_format"] = {"type": "json_object", "schema": request.schema}
        elif form == "json_object":
            payload["response_format"] = {"type": "json_object"}
        return payload | self.extra

    def _read(self, answer: Answer, request: Request, payload: Mapping[str, Any], form: str, seconds: float) -> Attempt:
        """Convert a response to an attempt."""
        try:
            body = json.loads(answer.content)
        except (ValueError, RecursionError):  # neither JSON nor text
            body = None
        if answer.status != 200:
            return self._refused(answer, body, payload, form, seconds)
        try:
            choice = body["choices"][0]
            message = choice["message"]
            text = without_reasoning(message.get("content") or "")
            thought = message.get("reasoning_content") or message.get("reasoning") or ""
            finish = choice.get("finish_reason") or ""
            usage = body.get("usage")
            refusal = message.get("refusal")
            prompt_tokens = token_count(usage, "prompt_tokens", estimated_tokens(request.prompt))
            completion_tokens = token_count(usage, "completion_tokens", estimated_tokens(text))
            text = text.encode(errors="replace").decode()  # an unpaired surrogate cannot be stored
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            return Attempt.in_full(
                ExchangeOutcome.SERVER_ERROR, request, "the answer is no chat completion", seconds=seconds
            )
        if form and not self.form_known and form == self.forms[0]:
            self.form_known = True
        outcome, reason = ExchangeOutcome.OK, ""
        if refusal or finish == "content_filter":
            outcome, reason = ExchangeOutcome.REFUSED, self._clean(str(refusal or "content filter"))
        elif finish == "length":
            outcome = ExchangeOutcome.TRUNCATED
            reason = f"longer than {request.max_tokens} tokens, reasoning included; raise llm.reply_tokens"
        elif not text.strip():
            outcome, reason = ExchangeOutcome.MALFORMED, "the reply is empty"
            if thought or message.get("content"):
                outcome = ExchangeOutcome.TRUNCATED
                reason += " but for reasoning; raise llm.reply_tokens, or turn reasoning off by llm.extra"
        return Attempt(
            outcome,
            text=self._blank(text),
            reason=reason,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            seconds=seconds,
        )

    def _refused(self, answer: Answer, body: Any, payload: Mapping[str, Any], form: str, seconds: float) -> Attempt:
        """Convert a response with a status other than 200 to an attempt."""
        status = answer.status
        said = self._clean(_error_text(body) or answer.text)
        if status in (401, 403):
            raise FairlabError(
                f"{self.url} refuses the key in {self.api_key_env} ({status}): {said}; check llm.api_key_env"
                if self.api_key_env
                else f"{self.url} asks for a key ({status}); name the environment variable as llm.api_key_env"
            )
        if status in (402, 404) or "insufficient_quota" in answer.text:
            raise FairlabError(
                f"{self.url} says {status} to the model {self.name}: {said}; check llm.model, llm.base_url and what is "
                "left to spend there"
            )
        reason = f"{status}: {said}"
        if status == 429:
            wait = _retry_after(answer.retry_after)
            if wait is not None and wait <= LONGEST_WAIT:
                self.not_before = max(self.not_before, time.monotonic() + wait)
            return Attempt(ExchangeOutcome.RATE_LIMITED, reason=reason, seconds=seconds, wait=wait)
        if status in (400, 422) and self._without_parameter(body, said, payload):
            return Attempt(ExchangeOutcome.PARAMETER_REFUSED, reason=reason, seconds=seconds)
        if form and status in (400, 422, 500) and self._other_form(form, status, answer.text):
            return Attempt(ExchangeOutcome.SCHEMA_FORM_REFUSED, reason=reason, seconds=seconds)
        if status >= 500 or status == 408:
            return Attempt(ExchangeOutcome.SERVER_ERROR, reason=reason, seconds=seconds)
        return Attempt(ExchangeOutcome.REJECTED, reason=reason, seconds=seconds)

    def _without_parameter(self, body: Any, said: str, payload: Mapping[str, Any]) -> bool:
        """Return whether the server refuses a named parameter, which is then omitted or renamed.

        If the temperature is omitted, a model samples with its default.
        """
        error = body.get("error") if isinstance(body, dict) else None
        named = error.get("param") if isinstance(error, dict) else None
        for name in (*OPTIONAL, *TOKEN_LIMITS):
            if name not in payload or name in self.extra or not (named == name or re.search(rf"\b{name}\b", said)):
                continue
            if name in OPTIONAL:
                new = name not in self.left_out
                self.left_out.add(name)
                instead = "it is left out"
            else:
                other = TOKEN_LIMITS[1 - TOKEN_LIMITS.index(name)]
                if not re.search(rf"\b{other}\b", said) and named != name:
                    continue  # for example a limit that is too high
                new = self.token_limit_key != other
                self.token_limit_key = other
                instead = f"{other} takes its place"
            if new:
                log.warning("%s refuses the parameter %s, so %s (%s)", self.name, name, instead, said)
            return True
        return False

    def _other_form(self, form: str, status: int, said: str) -> bool:
        """Return whether to send the request again immediately, with another form of the schema."""
        if form != self.forms[0]:  # changed by another request in the meantime
            return True
        if self.form_known:
            return False
        explicit = status != 500 or "response_format" in said or "schema" in said
        self.strikes += PATIENCE if explicit else 1
        if self.strikes < PATIENCE:
            return False
        self.strikes = 0
        self.forms = self.forms[1:] or SCHEMA_FORMS
        return self.forms != SCHEMA_FORMS  # if all forms are refused, the form is not the cause

    def _blank(self, text: str) -> str:
        key = os.environ.get(self.api_key_env, "").strip() if self.api_key_env else ""
        return text.replace(key, f"<{self.api_key_env}>") if key else text

    def _clean(self, text: str) -> str:
        """Return the text on one line of limited length, without the key."""
        return " ".join(self._blank(text).split())[:REASON_LENGTH]


def _checked(base_url: str) -> str:
    try:
        url = httpx2.URL(base_url)
    except (httpx2.InvalidURL, TypeError) as error:
        raise FairlabError(f"llm.base_url is no address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise FairlabError(f"llm.base_url must be like http://localhost:8000/v1, not {base_url!r}")
    if url.userinfo or url.query:
        raise FairlabError("llm.base_url holds a key or password; put it into the environment, see llm.api_key_env")
    return base_url.rstrip("/")


def token_count(usage: Any, name: str, estimate: int) -> int:
    """Return the number of tokens that a server counted, or the estimate if it gives no valid number."""
    value = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST_TOKENS:
        return estimate
    return math.ceil(value)


def _error_text(body: Any) -> str:
    """Return the message of an OpenAI-like error; servers differ in its nesting depth."""
    while isinstance(body, list) and body:
        body = body[0]
    for name in ("error", "message", "detail"):
        if isinstance(body, dict) and name in body:
            body = body[name]
    return body if isinstance(body, str) else ""


def _retry_after(value: str | None) -> float | None:
    """Return the seconds to wait, from a number or a date, or None without either."""
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
