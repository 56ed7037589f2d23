"""What is asked of a language model, what one attempt brings back, and what stands as the reply."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from fairlab.checks.json_text import from_json

CHARACTERS_PER_TOKEN = 4  # rule of thumb for English; used where a server counts nothing
FENCE = re.compile(r"```(?:json)?[^\S\n]*\n(.*?)\n?[^\S\n]*```", re.DOTALL | re.IGNORECASE)
# How models end what they think aloud: DeepSeek and Qwen, others like them, Magistral, and gpt-oss.
THOUGHT = re.compile(
    r"</(?:think|thinking|thought|reasoning|analysis)>|\[/THINK\]|<\|channel\|>final(?:\s*<\|[a-z]+\|>\w*)*<\|message\|>",
    re.IGNORECASE,
)
LONGEST_WAIT = 120.0  # seconds; a server that asks for more is not waited for


class ExchangeOutcome(StrEnum):
    """How an attempt ended.

    The first two are answers, which stand in the ledger. The next three are no answer: they are kept apart, for a
    replay, and asked again by a run with a model. The others are the network's or the server's: they are counted as
    spent and asked again.
    """

    OK = "ok"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    MALFORMED = "malformed JSON"
    WRONG_SCHEMA = "wrong schema"
    RATE_LIMITED = "rate limited"
    TIMED_OUT = "timed out"
    CUT_OFF = "connection cut"
    SERVER_ERROR = "server error"
    UNREACHABLE = "unreachable"
    REJECTED = "request rejected"
    SCHEMA_FORM_REFUSED = "form of the schema refused"
    PARAMETER_REFUSED = "parameter refused"


ANSWERED = {ExchangeOutcome.OK, ExchangeOutcome.REFUSED}
NO_ANSWER = {ExchangeOutcome.TRUNCATED, ExchangeOutcome.MALFORMED, ExchangeOutcome.WRONG_SCHEMA}
SAID = ANSWERED | NO_ANSWER | {ExchangeOutcome.REJECTED}  # what asking again in the same run would not change


@dataclass(frozen=True)
class Request:
    """One question to a model.

    Attributes:
        messages: chat turns, each ``{"role": system | user | assistant, "content": text}``.
        schema: JSON schema of the reply; None asks for free text.
        max_tokens: length of the longest reply, in tokens.
        temperature: sampling temperature; 0 is greedy; None leaves it to the server.
        top_p: share of the probability that sampling draws from; None leaves it to the server.
        seed: seed of sampling; None sends none to a server and is 0 for a local model.
    """

    messages: tuple[dict[str, str], ...]
    schema: dict[str, Any] | None = None
    max_tokens: int = 1024
    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = None

    def canonical(self, model: str, extra: Mapping[str, Any] | None = None) -> str:
        """Return the request as JSON, the same for equal requests: what the ledger addresses by.

        Args:
            model: name of the model.
            extra: further parameters that are sent with every request; an empty one leaves the address as it is.
        """
        content = {"model": model, **vars(self), **({"extra": dict(extra)} if extra else {})}
        return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @property
    def prompt(self) -> str:
        """All that the model reads."""
        return "\n".join(message["content"] for message in self.messages)


def address(canonical: str) -> str:
    """SHA-256 of a canonical request."""
    return hashlib.sha256(canonical.encode()).hexdigest()


def estimated_tokens(text: str) -> int:
    """Tokens of a text, by its length."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True)
class Attempt:
    """One request sent and what came of it.

    Attributes:
        text: text of the reply; empty where there is none.
        reason: why the outcome is not ``ok``, without any key.
        prompt_tokens, completion_tokens: numbers of tokens as the server counts them, estimated where it does not say.
        seconds: seconds from sending to the last byte.
        wait: seconds the server asks to wait before the next attempt; None where it does not say.
    """

    outcome: ExchangeOutcome
    text: str = ""
    reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    wait: float | None = None

    @classmethod
    def in_full(cls, outcome: ExchangeOutcome, request: Request, reason: str, seconds: float = 0.0) -> Attempt:
        """One whose answer never arrived, counted as if it had all been written: the server may have charged for it."""
        tokens = estimated_tokens(request.prompt), request.max_tokens
        return cls(outcome, "", reason, *tokens, seconds)


@dataclass(frozen=True)
class Reply:
    """What stands as the answer to a request, after all its attempts.

    Attributes:
        outcome, text, reason: outcome of the last attempt, text of its reply, and why the outcome is not ``ok``.
        attempts: number of requests sent.
        prompt_tokens, completion_tokens, seconds: sums of tokens and seconds over the attempts.
    """

    outcome: ExchangeOutcome
    text: str
    reason: str
    attempts: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the model answered in the form asked for."""
        return self.outcome == ExchangeOutcome.OK

    @property
    def kept(self) -> bool:
        """Whether the reply is an answer, so that the ledger keeps it for every later run."""
        return self.outcome in ANSWERED

    @cached_property
    def value(self) -> Any:
        """The parsed JSON of an ``ok`` reply to a request with a schema."""
        return parse_answer(self.text)

    def dumps(self) -> str:
        """As JSON, for the ledger."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def loads(cls, text: str) -> Reply:
        """From the ledger's JSON."""
        values = json.loads(text)
        return cls(**{**values, "outcome": ExchangeOutcome(values["outcome"])})


def without_reasoning(text: str) -> str:
    """Return a reply without what the model thought aloud before it; the opening tag may stand in the prompt.

    Example:
        >>> without_reasoning("<think>Two? No, three.</think>  Three.")
        'Three.'
    """
    if text.lstrip("\ufeff \n\r\t").startswith("{"):  # an answer in JSON, which may speak of such tags
        return text
    ends = [found.end() for found in THOUGHT.finditer(text)]
    return text[ends[-1] :].lstrip() if ends else text


def parse_answer(text: str) -> Any:
    """Return the JSON value of a reply, without a byte-order mark, reasoning, a code fence or words around it.

    Raises:
        ValueError: it is not JSON; ``NaN`` and ``Infinity`` are not.
    """
    answer = without_reasoning(text).strip("\ufeff \n\r\t")
    try:
        return from_json(answer, parse_constant=_no_number)
    except ValueError as error:
        for inner in (*FENCE.findall(answer)[-1:], answer[answer.find("{") : answer.rfind("}") + 1]):
            try:
                return from_json(inner, parse_constant=_no_number)
            except ValueError:
                continue
        raise error


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
