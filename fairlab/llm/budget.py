"""What calls cost, what may be spent, and what a job would take."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairlab.types import FairlabError


@dataclass(frozen=True)
class Price:
    """Dollars per million tokens."""

    input: float
    output: float

    def __post_init__(self) -> None:
        for name in ("input", "output"):
            if not 0 <= getattr(self, name) < math.inf:
                raise FairlabError(f"llm.price.{name} must be 0 or more dollars, not {getattr(self, name)}")

    def dollars(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Of one call."""
        return (prompt_tokens * self.input + completion_tokens * self.output) / 1e6


@dataclass(frozen=True)
class Spent:
    """What has been used up: requests sent, tokens, the model's seconds (side by side counted twice), dollars."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    dollars: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Budget:
    """Upper bounds on all that a ledger ever spends, over runs and processes; None is no bound."""

    calls: int | None = None
    tokens: int | None = None
    dollars: float | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "tokens", "dollars"):
            value = getattr(self, name)
            if value is not None and not value >= 0:  # no number is no bound either
                raise FairlabError(f"llm.budget.{name} must be at least 0 or null, not {value}")

    def reached(self, spent: Spent, sending: int) -> str:
        """The bound that forbids ``sending`` more calls (those in flight included), in words; empty when none does."""
        if self.calls is not None and spent.calls + sending > self.calls:
            return f"llm.budget.calls={self.calls}"
        if self.tokens is not None and spent.tokens >= self.tokens:
            return f"llm.budget.tokens={self.tokens}"
        if self.dollars is not None and spent.dollars >= self.dollars:
            return f"llm.budget.dollars={self.dollars}"
        return ""


@dataclass(frozen=True)
class Forecast:
    """What asking would take, without asking.

    Attributes:
        requests: number of different requests.
        recorded: number of requests that the ledger answers already.
        calls: number of requests left to send; repeats after failures come on top.
        prompt_tokens: number of prompt tokens, estimated by length.
        completion_tokens: number of completion tokens at most, every reply as long as it may be.
        dollars: price at most, as configured; None without a price.
    """

    requests: int
    recorded: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None

    def __str__(self) -> str:
        price = "no price configured" if self.dollars is None else f"at most ${self.dollars:.2f}"
        return (
            f"{self.requests} requests, {self.recorded} of them recorded; {self.calls} calls to make, about "
            f"{self.prompt_tokens} prompt tokens, at most {self.completion_tokens} completion tokens, {price}"
        )
