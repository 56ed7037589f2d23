"""Asking a model through its ledger: what is recorded is never asked again, and nothing is spent past the budget."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from rich.progress import Progress

from fairlab.llm.budget import Budget, Forecast, Price
from fairlab.llm.exchange import (
    LONGEST_WAIT,
    NO_ANSWER,
    Attempt,
    ExchangeOutcome,
    Reply,
    Request,
    address,
    estimated_tokens,
)
from fairlab.llm.ledger import Ledger
from fairlab.llm.structured import judged
from fairlab.types import FairlabError

FIRST_WAIT = 1.0  # seconds before the first retry; doubled with each
FIRST_TRIES = 3  # to connect to a server that never answered
FORM_TRIES = 8  # in which a request may help to find the parameters and the form of the schema that a server speaks
POLL = 0.05  # seconds between looks at calls that another process is making
OPENING = 60  # characters of a prompt shown in errors
RETRIED = {
    ExchangeOutcome.RATE_LIMITED,
    ExchangeOutcome.TIMED_OUT,
    ExchangeOutcome.CUT_OFF,
    ExchangeOutcome.SERVER_ERROR,
    ExchangeOutcome.UNREACHABLE,
}
ADAPTED = {ExchangeOutcome.SCHEMA_FORM_REFUSED, ExchangeOutcome.PARAMETER_REFUSED}  # sent again in another form


class Model(AbstractAsyncContextManager["Model"], Protocol):
    """What the client asks of a server or a local model.

    Attributes:
        name: name under which the model's answers are recorded.
        workers: number of batches in flight at a time.
        batch_size: number of requests in a batch.
    """

    name: str
    workers: int
    batch_size: int

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """One attempt for each request."""
        ...


@dataclass
class _Pending:
    """A request on its way to a reply."""

    key: str
    asked: Request
    request: Request  # as it will be sent next
    retries: int
    repairs: int
    attempts: list[Attempt] = field(default_factory=list)

    def reply(self) -> Reply:
        last = self.attempts[-1]
        return Reply(
            last.outcome,
            last.text,
            last.reason,
            attempts=len(self.attempts),
            prompt_tokens=sum(attempt.prompt_tokens for attempt in self.attempts),
            completion_tokens=sum(attempt.completion_tokens for attempt in self.attempts),
            seconds=sum(attempt.seconds for attempt in self.attempts),
        )

    def next_wait(self, reached: bool) -> float | None:
        """Seconds until the next attempt, whose request is made ready; None when the last attempt stands.

        Args:
            reached: whether the server ever answered anything; one that is not running is given up soon.
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
            # Drawn, so that calls that failed together do not come back together.
            jitter = random.uniform(0.5, 1.0) * backoff
            return jitter if last.wait is None else last.wait + 0.1 * jitter
        if self.repairs and last.outcome == ExchangeOutcome.TRUNCATED:
            self.repairs -= 1
            self.request = replace(self.request, max_tokens=2 * self.request.max_tokens)
            return 0.0
        if self.repairs and last.outcome in (ExchangeOutcome.MALFORMED, ExchangeOutcome.WRONG_SCHEMA):
            self.repairs -= 1
            # The same question would get the same answer at temperature 0, so the model is shown its mistake.
            mistake = f"That is not the JSON asked for ({last.reason}). Reply with the corrected JSON object alone."
            turns = ({"role": "assistant", "content": last.text}, {"role": "user", "content": mistake})
            self.request = replace(self.request, messages=(*self.asked.messages, *turns))
            return 0.0
        return None


class LLM:
    """A language model behind its ledger.

    An answer is recorded once and for all. A reply that was cut, empty or not the JSON asked for is none: like what the
    network lost, it is asked for again by the next run. A run that is killed continues from the ledger, and another
    process with the same ledger shares the work.

    Args:
        model: a server or a local model; None replays the ledger alone.
        name: name of the model, under which answers are looked up.
        ledger: file of recorded answers, open for writing unless replayed.
        budget: bounds on all that the ledger ever spends; None sets none. Calls in flight when one is reached are still
            recorded.
        price: dollars per million tokens, for the cost and for a budget in dollars; None where nothing is paid or
            known.
        retries: number of times a call that the network or the server lost is sent again, waiting longer each time.
        repairs: number of times a reply is asked for again that is cut short (with twice the length) or not the JSON
            asked for (with the mistake shown). A refusal stands.

        extra: parameters that the model's server is sent with every request; they are a part of what is asked, and so
            of the address in the ledger.
        reply_tokens: room for every reply in tokens, reasoning included; None leaves it to whoever asks.

    Raises:
        FairlabError: a budget in dollars without a price.
    """

    def __init__(
        self,
        model: Model | None,
        name: str,
        ledger: Ledger,
        *,
        budget: Budget | None = None,
        price: Price | None = None,
        retries: int = 6,
        repairs: int = 2,
        extra: Mapping[str, Any] | None = None,
        reply_tokens: int | None = None,
    ) -> None:
        self.model = model
        self.name = name
        self.ledger = ledger
        self.budget = budget or Budget()
        self.price = price
        self.retries = retries
        self.repairs = repairs
        self.extra = dict(extra or {})
        self.reply_tokens = reply_tokens
        self.failed: dict[str, Reply] = {}  # what was no answer is not asked for again by this object
        self.in_flight = 0
        self.reached = False
        self.stopped: FairlabError | None = None
        if self.budget.dollars is not None and price is None:
            raise FairlabError(
                "llm.budget.dollars needs a price; give llm.price.input and llm.price.output in dollars per million "
                "tokens"
            )

    def ask(self, requests: Sequence[Request], *, stage: str) -> list[Reply]:
        """A reply to each request, in order; equal requests are asked once.

        Args:
            requests: any number of requests.
            stage: name under which the ledger adds up calls, tokens, seconds and dollars.

        Raises:
            FairlabError: the budget is spent, the server cannot be used at all, or a replayed ledger lacks an answer;
                everything answered so far is in the ledger.
        """
        found, missing = self._look_up(requests)
        if missing and self.model is None:
            self._refuse_miss(*next(iter(missing.items())))
        if missing:
            found |= _run(self._ask_missing(missing, stage))
        return [found[key] for key in map(self.address_of, requests)]

    def forecast(self, requests: Sequence[Request]) -> Forecast:
        """What :meth:`ask` would take, without asking anything."""
        found, missing = self._look_up(requests)
        prompt_tokens = sum(estimated_tokens(request.prompt) for request in missing.values())
        completion_tokens = sum(request.max_tokens for request in missing.values())
        return Forecast(
            requests=len(found) + len(missing),
            recorded=len(found),
            calls=len(missing),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            dollars=self.price.dollars(prompt_tokens, completion_tokens) if self.price else None,
        )

    def address_of(self, request: Request) -> str:
        """Where the ledger keeps the reply to a request."""
        return address(self._asked(request).canonical(self.name, self.extra))

    def _asked(self, request: Request) -> Request:
        """The request with the room for its reply that was set."""
        return request if self.reply_tokens is None else replace(request, max_tokens=self.reply_tokens)

    def _look_up(self, requests: Sequence[Request]) -> tuple[dict[str, Reply], dict[str, Request]]:
        """Recorded replies and the requests without one, by address."""
        found: dict[str, Reply] = {}
        missing: dict[str, Request] = {}
        for request in requests:
            key, request = self.address_of(request), self._asked(request)
            if key in found or key in missing:
                continue
            reply = self.ledger.get(key)
            if reply is None and self.model is None:  # a replay gives what the run had
                reply = self.ledger.failure(key)
            reply = reply or self.failed.get(key)
            if reply is None:
                missing[key] = request
            else:
                found[key] = reply
        return found, missing

    def _refuse_miss(self, key: str, request: Request) -> None:
        opening = " ".join(request.messages[-1]["content"].split())[:OPENING] if request.messages else ""
        has = "a damaged answer" if key in self.ledger.corrupt else "no answer"
        raise FairlabError(
            f"the ledger {self.ledger.path} has {has} to the call {key[:12]} of {self.name}, whose prompt ends "
            f'"{opening}"; record it with llm=openai, gemini, vllm, local, qwen or transformers'
        )

    async def _ask_missing(self, missing: dict[str, Request], stage: str) -> dict[str, Reply]:
        assert self.model is not None
        self.stopped = None
        queue, answers = deque(missing.items()), dict[str, Reply]()
        with Progress(disable=not sys.stderr.isatty(), transient=True) as progress:
            task = progress.add_task(f"asking {self.name}", total=len(missing))
            async with self.model:
                polling = asyncio.Lock()  # one look for all workers

                async def work() -> None:
                    while queue and self.stopped is None:
                        if batch := self._claim(queue, answers):
                            await self._answer(batch, stage, answers)
                        elif queue:
                            async with polling:
                                await asyncio.sleep(POLL)
                        progress.update(task, completed=len(answers))

                await asyncio.gather(*(work() for _ in range(min(self.model.workers, len(missing)))))
        if self.stopped is not None:
            kept = sum(reply.kept for reply in answers.values())
            raise FairlabError(
                f"{self.stopped}; {kept} of {len(missing)} calls were answered and are kept in {self.ledger.path}"
            ) from self.stopped
        return answers

    def _claim(self, queue: deque[tuple[str, Request]], answers: dict[str, Reply]) -> list[_Pending]:
        """Take calls from the queue for a batch; those another process is making go to its end."""
        assert self.model is not None
        batch: list[_Pending] = []
        for _ in range(len(queue)):
            if len(batch) == self.model.batch_size:
                break
            key, request = queue.popleft()
            if self.ledger.claim(key):
                batch.append(_Pending(key, request, request, self.retries, self.repairs))
            elif (reply := self.ledger.get(key)) is not None:
                answers[key] = reply
            else:
                queue.append((key, request))
        return batch

    async def _answer(self, batch: list[_Pending], stage: str, answers: dict[str, Reply]) -> None:
        """See a batch through to replies; an error meant for the user stops all workers after their present calls."""
        pending = batch
        try:
            while pending:
                await self._attempt(pending, stage)
                waits = [(item, item.next_wait(self.reached)) for item in pending]
                for item, wait in waits:
                    if wait is None:
                        answers[item.key] = self._settled(item)
                pending = [item for item, wait in waits if wait is not None]
                await asyncio.sleep(max((wait for _, wait in waits if wait is not None), default=0.0))
        except FairlabError as error:
            self.stopped = self.stopped or error
        finally:
            for item in batch:
                if item.key not in answers or not answers[item.key].kept:
                    self.ledger.release(item.key)

    async def _attempt(self, pending: list[_Pending], stage: str) -> None:
        """Send the batch once, unless the run is stopped or the budget spent, and note what it took."""
        assert self.model is not None
        if self.stopped is not None:
            raise self.stopped
        spent = self.ledger.spent()
        if bound := self.budget.reached(spent, self.in_flight + len(pending)):
            raise FairlabError(
                f"the budget {bound} is spent ({spent.calls} calls, {spent.tokens} tokens, ${spent.dollars:.4f} so "
                "far); raise it and run again"
            )
        self.in_flight += len(pending)
        try:
            attempts = await self.model.send([item.request for item in pending])
        except BaseException as error:  # the calls were sent, whatever came of them
            for item in pending:
                self._spend(item, _unanswered(item.request, error), stage)
            raise
        finally:
            self.in_flight -= len(pending)
        self.reached |= any(attempt.outcome != ExchangeOutcome.UNREACHABLE for attempt in attempts)
        for item, attempt in zip(pending, attempts, strict=True):
            item.attempts.append(judged(attempt, item.asked.schema))
            self._spend(item, item.attempts[-1], stage)

    def _spend(self, item: _Pending, attempt: Attempt, stage: str) -> None:
        dollars = self.price.dollars(attempt.prompt_tokens, attempt.completion_tokens) if self.price else 0.0
        self.ledger.spend(item.key, stage, attempt, dollars)

    def _settled(self, item: _Pending) -> Reply:
        """The reply that stands: recorded where the model answered.

        Raises:
            FairlabError: the server cannot be reached, so no other call will fare better.
        """
        reply = item.reply()
        if reply.outcome == ExchangeOutcome.UNREACHABLE:
            raise FairlabError(f"{self.name} cannot be reached ({reply.reason}); start its server or set llm.base_url")
        if not reply.kept and reply.outcome not in NO_ANSWER:
            return reply
        if not reply.kept:
            self.failed[item.key] = reply
        return self.ledger.put(item.key, item.asked.canonical(self.name, self.extra), reply)


def _unanswered(request: Request, error: BaseException) -> Attempt:
    """The attempt of a call that ended in an error: one that was turned down is free, what broke off may be charged."""
    if isinstance(error, FairlabError):
        return Attempt(ExchangeOutcome.REJECTED, reason=str(error))
    return Attempt.in_full(ExchangeOutcome.CUT_OFF, request, f"broken off by {type(error).__name__}")


def _run(job: Coroutine[Any, Any, dict[str, Reply]]) -> dict[str, Reply]:
    """Run to the end, also from inside a notebook, whose event loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(job)
    outcome: list[dict[str, Reply] | BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(job))
        except BaseException as error:  # handed to the caller
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
