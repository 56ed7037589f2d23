"""Pacing of calls to stay below a server's limit of tokens per minute."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairlab.llm.exchange import Attempt, Request, estimated_tokens
from fairlab.types import FairlabError

WINDOW = 60.0  # seconds over which tokens are limited
POLL = 0.05  # seconds between checks for room


@dataclass
class Reservation:
    """Tokens that count towards the limit, starting at a point in time.

    Attributes:
        at: Time on the monotonic clock.
        tokens: Number of tokens, which is an estimate until the calls are answered.
    """

    at: float
    tokens: int

    def correct(self, attempts: Sequence[Attempt]) -> None:
        """Replace the estimate by the number of tokens charged for the attempts."""
        self.tokens = sum(attempt.prompt_tokens + attempt.completion_tokens for attempt in attempts)


class TokenPace:
    """Limit on the tokens that this process sends and receives within any minute.

    A call counts with its estimated prompt and its maximum reply until it is answered, and with the charged tokens
    afterwards. A call that exceeds the limit is sent when no other call counts.

    Args:
        tokens_per_minute: Maximum number of tokens, or None for no limit.

    Raises:
        FairlabError: The limit is below 1.
    """

    def __init__(self, tokens_per_minute: int | None) -> None:
        if tokens_per_minute is not None and not tokens_per_minute >= 1:
            raise FairlabError(f"llm.tokens_per_minute must be at least 1 or null, not {tokens_per_minute}")
        self.limit = tokens_per_minute
        self.reserved: deque[Reservation] = deque()

    async def reserve(self, requests: Sequence[Request], stopped: Callable[[], bool]) -> Reservation:
        """Wait until the requests fit into the limit or ``stopped`` returns true, and return their reservation."""
        tokens = sum(estimated_tokens(request.prompt) + request.max_tokens for request in requests)
        while not self._fits(tokens) and not stopped():
            await asyncio.sleep(POLL)
        made = Reservation(time.monotonic(), tokens)
        if self.limit is not None:
            self.reserved.append(made)
        return made

    def _fits(self, tokens: int) -> bool:
        if self.limit is None:
            return True
        while self.reserved and self.reserved[0].at <= time.monotonic() - WINDOW:
            self.reserved.popleft()
        used = sum(reservation.tokens for reservation in self.reserved)
        return used == 0 or used + tokens <= self.limit
