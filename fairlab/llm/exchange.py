"""Requests to a language model, results of single attempts, and final replies."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from typing import Any

from fairlab.checks.json_text import from_json
from fairlab.types import FairlabError

CHARACTERS_PER_TOKEN = 4  # rule of thumb for English; used if a server reports no count
FENCE = re.compile(r"```(?:json)?[^\S\n]*\n(.*?)\n?[^\S\n]*```", re.DOTALL | re.IGNORECASE)
# Ends of the reasoning of models: DeepSeek, Qwen and similar, Magistral, and gpt-oss.
THOUGHT = re.compile(
    r"</(?:think|thinking|thought|reasoning|analysis)>|\[/THINK\]|<\|channel\|>final(?:\s*<\|[a-z]+\|>\w*)*<\|message\|>",
    re.IGNORECASE,
)
STRING = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*)"(?P<name>\s*:)?')  # of JSON; a name is followed by a colon
LONGEST_WAIT = 120.0  # seconds; a call is not retried if the server requests a longer wait


class StillAtWork(FairlabError):
    """Error that ends a run while the server is still processing its calls.

    The next run collects the answers.
    """


class ExchangeOutcome(StrEnum):
    """Outcome of an attempt.

    ``OK`` and ``REFUSED`` are answers and are stored in the ledger. ``TRUNCATED``, ``MALFORMED`` and ``WRONG_SCHEMA``
    are replies without an answer: they are stored separately for a replay, and requested again by a run with a model.
    All other outcomes are failures of the network or the server; they count as spending and are requested again.
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
SAID = ANSWERED | NO_ANSWER | {ExchangeOutcome.REJECTED}  # outcomes that a retry in the same run would not change


@dataclass(frozen=True)
class Request:
    """Request to a model.

    Attributes:
        messages: Chat turns, each ``{"role": system | user | assistant, "content": text}``.
        schema: JSON schema of the reply, or None for free text.
        max_tokens: Maximum length of the reply, in tokens.
        temperature: Sampling temperature; 0 is greedy and None uses the server's default.
        top_p: Probability mass for nucleus sampling, or None for the server's default.
        seed: Sampling seed; None is omitted from server requests and means 0 for a local model.
        log_probabilities: Whether the log-probabilities of the answer's tokens are requested. They do not change the
            answer, so they are not part of its address.
    """

    messages: tuple[dict[str, str], ...]
    schema: dict[str, Any] | None = None
    max_tokens: int = 1024
    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = None
    log_probabilities: bool = False

    def canonical(self, model: str, extra: Mapping[str, Any] | None = None) -> str:
        """Return the request as JSON that is identical for equal requests.

        Its hash is the address in the ledger. An empty ``extra`` does not change the address.
        """
        asked = {name: value for name, value in vars(self).items() if name != "log_probabilities"}
        content = {"model": model, **asked, **({"extra": dict(extra)} if extra else {})}
        return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @property
    def prompt(self) -> str:
        """Return the texts of all messages, which the model reads."""
        return "\n".join(message["content"] for message in self.messages)


def chat(task: str, asked: str, examples: Iterable[tuple[str, str]] = ()) -> tuple[dict[str, str], ...]:
    """Return the messages of a chat: the task, examples as earlier turns of question and answer, and the question."""
    turns = [("system", task.strip())]
    for question, answer in examples:
        turns += [("user", question), ("assistant", answer)]
    return tuple({"role": role, "content": content} for role, content in [*turns, ("user", asked)])


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object that has all the given properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def address(canonical: str) -> str:
    """Return the ledger address of a request, the SHA-256 of its canonical JSON."""
    return hashlib.sha256(canonical.encode()).hexdigest()


def estimated_tokens(text: str) -> int:
    """Estimate the number of tokens of a text from its length."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True)
class Attempt:
    """Result of sending one request.

    Attributes:
        outcome: Kind of result.
        text: Text of the reply, or an empty string without a reply.
        reason: Reason why the outcome is not ``ok``, with any API key removed.
        prompt_tokens, completion_tokens: Numbers of tokens reported by the server, else estimates.
        cached_tokens: Number of the prompt tokens that the server had in its cache.
        share: Proportion of the usual price that is charged, such as 0.5 in a batch job.
        log_probability: Log-probability of the answer in nats, see :func:`answer_log_probability`, or None if unknown.
        seconds: Seconds from sending to the last byte.
        wait: Seconds to wait before the next attempt, or None if the server does not request a wait.
    """

    outcome: ExchangeOutcome
    text: str = ""
    reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    wait: float | None = None
    cached_tokens: int = 0
    share: float = 1.0
    log_probability: float | None = None

    @classmethod
    def in_full(cls, outcome: ExchangeOutcome, request: Request, reason: str, seconds: float = 0.0) -> Attempt:
        """Return an attempt without an answer that includes a reply of maximum length, which may have been charged."""
        tokens = estimated_tokens(request.prompt), request.max_tokens
        return cls(outcome, "", reason, *tokens, seconds)


@dataclass(frozen=True)
class Reply:
    """Final reply to a request, after all attempts.

    Attributes:
        outcome, text, reason: Outcome of the last attempt, text of its reply, and the reason if it is not ``ok``.
        attempts: Number of times that the request was sent.
        prompt_tokens, completion_tokens, seconds: Sums of tokens and seconds over the attempts.
        log_probability: Log-probability of the last attempt's answer in nats, or None if unknown.
    """

    outcome: ExchangeOutcome
    text: str
    reason: str
    attempts: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    log_probability: float | None = None

    @property
    def ok(self) -> bool:
        """Return whether the model answered in the requested form."""
        return self.outcome == ExchangeOutcome.OK

    @property
    def kept(self) -> bool:
        """Return whether the reply is an answer, which later runs reuse from the ledger."""
        return self.outcome in ANSWERED

    @cached_property
    def value(self) -> Any:
        """Parse the JSON of an ``ok`` reply to a request with a schema."""
        return parse_answer(self.text)

    def dumps(self) -> str:
        """Serialise the reply to JSON for the ledger."""
        values = asdict(self)
        if self.log_probability is None:
            del values["log_probability"]
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def loads(cls, text: str) -> Reply:
        """Parse a reply from the ledger's JSON.

        Raises:
            ValueError, KeyError, TypeError: The text is not a reply.
        """
        values = json.loads(text)
        found = cls(**{**values, "outcome": ExchangeOutcome(values["outcome"])})
        numbers = (found.attempts, found.prompt_tokens, found.completion_tokens, found.seconds)
        if not (isinstance(found.text, str) and isinstance(found.reason, str)):
            raise TypeError("a reply's text and reason must be texts")
        if not all(isinstance(one, int | float) for one in (*numbers, found.log_probability or 0.0)):
            raise TypeError("a reply's counts must be numbers")
        return found


def without_reasoning(text: str) -> str:
    """Remove the reasoning at the start of a reply.

    The opening tag of the reasoning may be in the prompt.

    Example:
        >>> without_reasoning("<think>Two? No, three.</think>  Three.")
        'Three.'
    """
    if text.lstrip("\ufeff \n\r\t").startswith("{"):  # a JSON answer, whose text may mention such tags
        return text
    ends = [found.end() for found in THOUGHT.finditer(text)]
    return text[ends[-1] :].lstrip() if ends else text


def answer_log_probability(tokens: Sequence[str], log_probabilities: Sequence[float]) -> float | None:
    """Return the log-probability of an answer in nats: the sum over its tokens, without any reasoning.

    For a JSON object, only tokens within text values are counted. Names and punctuation are mostly determined by a
    schema. However, servers report log-probabilities from before the schema is applied, which may be very low for such
    tokens. The result is None if there is no such token or a value is not a log-probability.

    Example:
        >>> answer_log_probability(["<think>", "hm", "</think>", "Yes", "."], [-1.0, -2.0, -3.0, -0.5, -0.25])
        -0.75
        >>> answer_log_probability(['{"', "man", '":"', "He", '"}'], [0.0, -9.0, -0.1, -0.25, -3.0])
        -0.25
    """
    text = "".join(tokens)
    begin = len(text) - len(without_reasoning(text))
    spans = [(begin, len(text))]
    if text[begin:].lstrip().startswith("{"):
        texts = (found for found in STRING.finditer(text, begin) if not found["name"])
        spans = [(found.start() + 1, found.end("text")) for found in texts]
    ends = list(accumulate(map(len, tokens)))
    starts = [end - len(token) for end, token in zip(ends, tokens, strict=True)]
    values = [
        value
        for start, end, value in zip(starts, ends, log_probabilities, strict=True)
        if any(start < last and end > first for first, last in spans)
    ]
    if not values or not all(-math.inf < value <= 1e-4 for value in values):  # rounding may make a certainty exceed 0
        return None
    return min(0.0, math.fsum(values))


def parse_answer(text: str) -> Any:
    """Parse the JSON value in a reply, ignoring a byte-order mark, reasoning, a code fence or surrounding text.

    Raises:
        ValueError: The reply is not JSON; ``NaN`` and ``Infinity`` are not valid.
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
    raise ValueError(f"{name} is not a JSON number")
