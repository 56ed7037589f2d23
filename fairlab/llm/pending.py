"""Calls that wait for a reply, with their attempts so far and the time and form of the next attempt."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from fairlab.llm.exchange import LONGEST_WAIT, Attempt, ExchangeOutcome, Reply, Request
from fairlab.types import FairlabError

FIRST_WAIT = 1.0  # seconds before the first retry; doubled for each further one
FIRST_TRIES = 3  # attempts to connect to a server that has never answered
GIVEN_UP = 3  # calls that a model may lose in a row before the others are not made: a single text may be at fault
ROUNDING = 1e-9  # of a sum of shares
FORM_TRIES = 8  # attempts to find the parameters and the schema form that a server supports
RETRIED = {
    ExchangeOutcome.RATE_LIMITED,
    ExchangeOutcome.TIMED_OUT,
    ExchangeOutcome.CUT_OFF,
    ExchangeOutcome.SERVER_ERROR,
    ExchangeOutcome.UNREACHABLE,
}
ADAPTED = {ExchangeOutcome.SCHEMA_FORM_REFUSED, ExchangeOutcome.PARAMETER_REFUSED}  # sent again in another form


@dataclass
class PendingCall:
    """Request that waits for a reply.

    Attributes:
        key: Address of the reply in the ledger.
        asked: Original request.
        request: Request in the form in which it is sent next, for example with a longer reply or with the mistake
            shown.
        retries, repairs: Numbers of retries and repairs left.
        attempts: Attempts so far.
    """

    key: str
    asked: Request
    request: Request
    retries: int
    repairs: int
    attempts: list[Attempt] = field(default_factory=list)

    def reply(self) -> Reply:
        """Return the reply of the last attempt, with the tokens and seconds of all attempts."""
        last = self.attempts[-1]
        return Reply(
            last.outcome,
            last.text,
            last.reason,
            attempts=len(self.attempts),
            prompt_tokens=sum(attempt.prompt_tokens for attempt in self.attempts),
            completion_tokens=sum(attempt.completion_tokens for attempt in self.attempts),
            seconds=sum(attempt.seconds for attempt in self.attempts),
            log_probability=last.log_probability,
        )

    def next_wait(self, reached: bool) -> float | None:
        """Prepare the next attempt.

        Args:
            reached: Whether the server has ever answered; retries end early for a server that is not running.

        Returns:
            Seconds to wait before the next attempt, or None if the last attempt is final.
        """
        last = self.attempts[-1]
        if last.outcome in ADAPTED:
            refusals = sum(attempt.outcome in ADAPTED for attempt in self.attempts)
            return 0.0 if refusals <= FORM_TRIES else None
        if not reached and len(self.attempts) == FIRST_TRIES:
            return None
        if last.outcome in RETRIED and self.retries and (last.wait or 0.0) <= LONGEST_WAIT:
            self.retries -= 1
            tried = sum(attempt.outcome in RETRIED for attempt in self.attempts)
            backoff = min(FIRST_WAIT * 2 ** (tried - 1), LONGEST_WAIT)
            # Random, so that calls that failed together are not retried together.
            jitter = random.uniform(0.5, 1.0) * backoff
            return jitter if last.wait is None else last.wait + 0.1 * jitter
        if self.repairs and last.outcome == ExchangeOutcome.TRUNCATED:
            self.repairs -= 1
            self.request = replace(self.request, max_tokens=2 * self.request.max_tokens)
            return 0.0
        malformed = last.outcome in (ExchangeOutcome.MALFORMED, ExchangeOutcome.WRONG_SCHEMA)
        if self.repairs and malformed and self.asked.schema is not None:
            self.repairs -= 1
            # At temperature 0 the same prompt would give the same answer, so the model is shown its mistake.
            mistake = f"That is not the JSON asked for ({last.reason}). Reply with the corrected JSON object alone."
            turns = ({"role": "assistant", "content": last.text}, {"role": "user", "content": mistake})
            self.request = replace(self.request, messages=(*self.asked.messages, *turns))
            return 0.0
        return None


async def settled(
    calls: Sequence[PendingCall],
    attempt: Callable[[Sequence[PendingCall]], Awaitable[object]],
    reached: Callable[[], bool] = lambda: True,
) -> AsyncIterator[PendingCall]:
    """Attempt all calls, and yield each one after its final attempt.

    The remaining calls are attempted again together, after the longest of their waits. ``attempt`` adds an attempt to
    each call, and ``reached`` returns whether the server has ever answered.
    """
    pending = list(calls)
    while pending:
        await attempt(pending)
        waits = [(call, call.next_wait(reached())) for call in pending]
        for call, wait in waits:
            if wait is None:
                yield call
        pending = [call for call, wait in waits if wait is not None]
        await asyncio.sleep(max((wait for _, wait in waits if wait is not None), default=0.0))


class Silence:
    """Counter of the calls to a model that have failed since its last answer.

    A single text may make a server fail, so one failed call does not end a run. If every call fails, the run ends,
    because otherwise each call would use all of its retries.
    """

    def __init__(self) -> None:
        self._began: float | None = None
        self._given_up = 0.0

    def note(self, attempts: Iterable[Attempt], began: float) -> None:
        """Record whether any of the requests got an answer.

        Args:
            attempts: Attempts of requests that were sent together.
            began: Time at which they were sent, on the clock :func:`time.monotonic`.
        """
        if any(attempt.outcome not in RETRIED for attempt in attempts):
            self._began, self._given_up = None, 0.0
        elif self._began is None:
            self._began = began

    def give_up(self, name: str, reply: Reply, most: int = GIVEN_UP, share: float = 1.0) -> None:
        """Count a call whose last retry was lost.

        Args:
            name: Name of the model.
            reply: Final reply of the call.
            most: Number of consecutive lost calls that end the run.
            share: Part of a call, if several texts are sent in one.

        Raises:
            FairlabError: The model has lost ``most`` calls since its last answer.
        """
        self._given_up += share
        if self._began is None or self._given_up < most - ROUNDING:
            return
        raise FairlabError(
            f"{name} gave no answer for {time.monotonic() - self._began:.0f} s, with {reply.attempts - 1} retries of "
            f"a call ({reply.outcome}: {reply.reason}), so the others are not made; run again when it answers, or "
            "raise llm.retries"
        )
