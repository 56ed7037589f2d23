"""Cost of calls, budgets, and cost forecasts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairlab.types import FairlabError

# Share of the usual price in a batch job at OpenAI and similar providers (https://platform.openai.com/docs/guides/batch).
SHARE = 0.5


@dataclass(frozen=True)
class Price:
    """Price in dollars per million tokens.

    Attributes:
        input, output: Price of prompt tokens and of reply tokens.
        cached: Price of prompt tokens that the server had in its cache, or None if they have the usual price.
    """

    input: float
    output: float
    cached: float | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached"):
            value = getattr(self, name)
            if not (name == "cached" and value is None) and not 0 <= value < math.inf:
                raise FairlabError(f"llm.price.{name} must be 0 or more dollars, not {value}")

    def dollars(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """Return the price of one call, whose cached tokens are part of the prompt's tokens."""
        cached = min(cached_tokens, prompt_tokens) if self.cached is not None else 0
        prompt = (prompt_tokens - cached) * self.input + cached * (self.cached or 0.0)
        return (prompt + completion_tokens * self.output) / 1e6


@dataclass(frozen=True)
class Spent:
    """Resources used so far: requests, tokens, model seconds (summed over concurrent calls) and dollars."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    dollars: float = 0.0

    @property
    def tokens(self) -> int:
        """Return the sum of prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Budget:
    """Upper limits on the total spending recorded in a ledger, over all runs and processes.

    A limit of None means no limit.
    """

    calls: int | None = None
    tokens: int | None = None
    dollars: float | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "tokens", "dollars"):
            value = getattr(self, name)
            if value is not None and not value >= 0:  # NaN is also not a valid bound
                raise FairlabError(f"llm.budget.{name} must be at least 0 or null, not {value}")

    def reached(self, spent: Spent, sending: int, ahead: Spent | None = None) -> str:
        """Return the limit that forbids further calls, or an empty string.

        Args:
            spent: Resources used so far.
            sending: Number of calls to be sent, including those in flight.
            ahead: Maximum resources of calls that are paid for together, such as a batch job; None for single calls.
        """
        ahead = ahead or Spent()
        if self.calls is not None and spent.calls + sending > self.calls:
            return f"llm.budget.calls={self.calls}"
        if self.tokens is not None and (spent.tokens >= self.tokens or spent.tokens + ahead.tokens > self.tokens):
            return f"llm.budget.tokens={self.tokens}"
        if self.dollars is not None and (spent.dollars >= self.dollars or spent.dollars + ahead.dollars > self.dollars):
            return f"llm.budget.dollars={self.dollars}"
        return ""


@dataclass(frozen=True)
class Forecast:
    """Estimated resources for a set of requests, computed without sending them.

    Attributes:
        requests: Number of different requests.
        recorded: Number of requests that already have an answer in the ledger.
        calls: Number of requests left to send, excluding retries after failures.
        prompt_tokens: Number of prompt tokens, estimated from the lengths of the texts.
        completion_tokens: Number of completion tokens if every reply has its maximum length.
        dollars: Maximum cost at the configured prices, or None without prices.
    """

    requests: int
    recorded: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None

    def __str__(self) -> str:
        price = "cost unknown without llm.price" if self.dollars is None else f"at most ${self.dollars:.2f}"
        return (
            f"{self.requests} requests, {self.recorded} of them recorded; {self.calls} calls to make, about "
            f"{self.prompt_tokens} prompt tokens, at most {self.completion_tokens} completion tokens, {price}"
        )
