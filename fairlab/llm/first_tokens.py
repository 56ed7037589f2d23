"""Answers of a chat model that are one of a few given words, with their probabilities as first tokens."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from fairlab.llm.endpoint import Answer
from fairlab.llm.exchange import Attempt, ExchangeOutcome, Reply, Request
from fairlab.llm.server import ALTERNATIVES, LOG_PROBABILITIES, Server

ASKED = {LOG_PROBABILITIES: True, ALTERNATIVES: 20}  # parameters of a request with ``log_probabilities``
REASONING = re.compile(r"\s*(<(think|thinking|thought|reasoning|analysis)>|\[THINK\]|<\|channel\|>)", re.IGNORECASE)
END = re.compile(r"(?:\s|<[^\s<>]+>)+\Z")  # white space and tokens that end a reply, such as <|im_end|>


class FirstTokens(Server):
    """Server whose replies hold the text and the log-probabilities of candidates for the first non-blank token.

    Requests have ``log_probabilities``; a server that refuses this parameter gives the text alone. A reply is JSON,
    ``{"text": ..., "first": {TOKEN: LOGPROB}}``, so that the ledger keeps both. A truncated reply counts as an answer
    too, because only its beginning matters, unless it begins with reasoning.
    """

    asked = ASKED
    alternatives = ASKED[ALTERNATIVES]

    def _read(self, answer: Answer, request: Request, payload: Mapping[str, Any], form: str, seconds: float) -> Attempt:
        attempt = super()._read(answer, request, payload, form, seconds)
        if attempt.outcome not in (ExchangeOutcome.OK, ExchangeOutcome.TRUNCATED) or not attempt.text.strip():
            return attempt
        if attempt.outcome == ExchangeOutcome.TRUNCATED and REASONING.match(attempt.text):
            return attempt
        both = json.dumps({"text": attempt.text, "first": first_candidates(answer.body, attempt.text)})
        return replace(attempt, outcome=ExchangeOutcome.OK, reason="", text=both)


def read_reply(reply: Reply) -> tuple[str, dict[str, float]]:
    """Return the text of a reply of :class:`FirstTokens`, and the log-probabilities of its first token."""
    if not reply.ok:
        return "", {}
    found = json.loads(reply.text)
    return found["text"], found["first"]


def answer_probabilities(text: str, first: Mapping[str, float], answers: Sequence[str]) -> list[float]:
    """Return the probability, in [0, 1], of each of several answers.

    The probabilities are those of the first tokens that begin only one of the answers, divided by their sum. Without
    such tokens for the given answer, its probability is 1. All probabilities are NaN if the reply begins with none of
    the answers.

    Args:
        text: Text of the reply.
        first: Log-probabilities of candidates for the first token; empty if the server returns none.
        answers: Possible answers. Case, and the signs before and within an answer, are ignored.

    Example:
        >>> answer_probabilities("No", {"No": math.log(0.6), " Yes": math.log(0.2)}, ["yes", "no"])
        [0.25, 0.75]
        >>> answer_probabilities("**Not toxic**, because", {}, ["toxic", "not_toxic"])
        [0.0, 1.0]
        >>> answer_probabilities("Well, it depends", {}, ["yes", "no"])
        [nan, nan]
    """
    given = max((one for one in answers if _pattern(one).match(text)), key=len, default=None)
    if given is None:
        return [math.nan] * len(answers)
    masses = {
        one: sum(math.exp(value) for token, value in first.items() if _begins(token, one, answers)) for one in answers
    }
    if not masses[given]:
        return [float(one == given) for one in answers]
    return [round(mass / sum(masses.values()), 12) for mass in masses.values()]


def _pattern(answer: str) -> re.Pattern[str]:
    """Return the pattern of an answer at the start of a text."""
    words = re.findall(r"[^\W_]+", answer)
    if not words:
        return re.compile(rf"\s*{re.escape(answer)}")
    spelled = r"[\W_]+".join(words)
    return re.compile(rf"[\W_]*{spelled}(?![^\W_])", re.IGNORECASE)


def _begins(token: str, answer: str, answers: Sequence[str]) -> bool:
    """Return whether a token is the beginning of one answer and not of the others."""
    found = token.strip().casefold()
    begun = [one for one in answers if one.casefold().startswith(found)]
    return bool(found) and begun == [answer]


def first_candidates(body: Any, text: str) -> dict[str, float]:
    """Return the log-probabilities of the candidates for the first non-blank token of a reply's text.

    The tokens of the response may begin with reasoning, which the text does not contain. The result is empty if the
    response has no such token.
    """
    try:
        tokens = body["choices"][0]["logprobs"]["content"]
        position = _position(text.strip(), "".join(one["token"] for one in tokens))
        for one, end in zip(tokens, accumulate(len(one["token"]) for one in tokens), strict=True):
            if end > position >= 0 and one["token"].strip():
                found = {str(other["token"]): float(other["logprob"]) for other in one["top_logprobs"]}
                return {token: value for token, value in found.items() if math.isfinite(value) and value <= 0}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        pass
    return {}


def _position(text: str, tokens: str) -> int:
    """Return the position of a reply's text in all its tokens, or -1.

    After the beginning, tokens may differ from the text, because some servers write parts of a character as bytes.
    """
    said = END.sub("", tokens)
    if said.endswith(text):
        return len(said) - len(text)
    begin = len(tokens) - len(tokens.lstrip())
    pairs = zip(text.split()[0], tokens[begin:], strict=False)  # some servers return the first token alone
    return begin if all(one == other for one, other in pairs) else tokens.rfind(text)
