"""Client that sends requests to a model, records the answers in a ledger, reuses them, and respects the budget."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from rich.progress import Progress

from fairlab.llm.budget import SHARE, Budget, Forecast, Price, Spent
from fairlab.llm.event_loop import run_coroutine
from fairlab.llm.exchange import (
    NO_ANSWER,
    SAID,
    Attempt,
    ExchangeOutcome,
    Reply,
    Request,
    StillAtWork,
    address,
    estimated_tokens,
)
from fairlab.llm.ledger import Ledger
from fairlab.llm.pacing import TokenPace
from fairlab.llm.pending import RETRIED, PendingCall, Silence, settled
from fairlab.llm.probe import PROBES, expectation, refuse_probes
from fairlab.llm.structured import judged
from fairlab.types import FairlabError, need_extra

log = logging.getLogger(__name__)
POLL = 0.05  # seconds between checks for calls that another process is making
OPENING = 60  # maximum number of prompt characters shown in errors


class Model(AbstractAsyncContextManager["Model"], Protocol):
    """Interface of a served or local model that the client sends requests to.

    Attributes:
        name: Name under which the model's answers are recorded.
        workers: Number of concurrent batches.
        batch_size: Number of requests in a batch.
        in_jobs: Whether a batch of requests is one job, which is paid for as a whole at a reduced price.
    """

    name: str
    workers: int
    batch_size: int
    in_jobs: bool

    async def send(self, requests: Sequence[Request]) -> list[Attempt]:
        """Return one attempt per request."""
        ...


class LLM:
    """Language model with a ledger of its answers.

    Each answer is recorded once. A reply that is truncated, empty or not the requested JSON does not count as an
    answer. The next run requests it again, like a reply that was lost in the network. A killed run resumes from the
    ledger, and several processes with the same ledger share the work.

    Args:
        model: Served or local model, or None to replay only the ledger.
        name: Name of the model, used to look up answers.
        ledger: File of recorded answers, open for writing except in a replay.
        budget: Limits on the total spending recorded in the ledger, or None for no limits. Calls in flight when a limit
            is reached are still recorded.
        price: Dollars per million tokens, for the cost and for a budget in dollars, or None if the model is free or its
            price is unknown.
        retries: Maximum number of retries of a call lost by the network or the server, with increasing waits. If three
            consecutive calls lose all their retries, no further call is made.
        repairs: Maximum number of further requests for a reply that is truncated (with twice the length) or is not the
            requested JSON (with the mistake quoted). A refusal is not retried.
        extra: Additional parameters of every request to the model's server. They are part of the request, and therefore
            of its address in the ledger.
        reply_tokens: Maximum tokens of every reply, including reasoning, or None to use each request's own limit.
        tokens_per_minute: Maximum number of tokens that this object sends and receives per minute, or None for no
            limit.
        probe_above: Number of calls above which the first call is made alone, to check the model and the schema and to
            log the expected price and duration; None to make no such call. Its answer is recorded like any other
            answer.

    Raises:
        FairlabError: A budget in dollars is set without a price, or the tokens per minute are below 1.
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
        tokens_per_minute: int | None = None,
        probe_above: int | None = None,
    ) -> None:
        need_extra("llm", "a language model", "jsonschema")
        self.model = model
        self.name = name
        self.ledger = ledger
        self.budget = budget or Budget()
        self.price = price
        self.retries = retries
        self.repairs = repairs
        self.extra = dict(extra or {})
        self.reply_tokens = reply_tokens
        self.pace = TokenPace(tokens_per_minute)
        self.probe_above = probe_above
        self.probed: set[str] = set()  # stages whose first call was answered
        self.failed: dict[str, Reply] = {}  # failed replies are not requested again by this object
        self.in_flight = 0
        self.reached = False
        self.silence = Silence()
        self.stopped: FairlabError | None = None
        if self.budget.dollars is not None and price is None:
            raise FairlabError(
                "llm.budget.dollars needs a price, which is unknown; give llm.price={input: ..., output: ...} in "
                "dollars per million tokens"
            )

    def ask(self, requests: Sequence[Request], *, stage: str) -> list[Reply]:
        """Return a reply to each request, in order.

        Equal requests are sent once. The ledger adds up calls, tokens, seconds and dollars by ``stage``.

        Raises:
            FairlabError: The budget is spent, the server cannot be used at all, the first calls of a large job get
                no answer, or a replayed ledger lacks an answer. All answers so far are in the ledger.
        """
        found, missing = self._look_up(requests)
        if missing and self.model is None:
            self._refuse_miss(*next(iter(missing.items())))
        if self.probe_above is not None and len(missing) > self.probe_above and stage not in self.probed:
            found |= self._probe(missing, stage)
            missing = {key: request for key, request in missing.items() if key not in found}
        if missing:
            found |= run_coroutine(self._ask_missing(missing, stage))
        return [found[key] for key in map(self.address_of, requests)]

    def _probe(self, missing: dict[str, Request], stage: str) -> dict[str, Reply]:
        """Make the first call of a large job alone, and log the expected cost of the rest.

        If there is no answer to the first text, the next texts are tried.

        Raises:
            FairlabError: The model gives no answer.
        """
        assert self.model is not None
        replies: dict[str, Reply] = {}
        for key in list(missing)[:PROBES]:
            replies |= run_coroutine(self._ask_missing({key: missing[key]}, stage))
            if replies[key].outcome in RETRIED:
                self.silence.give_up(self.name, replies[key], most=1)
            if replies[key].kept:
                break
        refuse_probes(self.name, replies, len(missing))
        self.probed.add(stage)
        rest = self.forecast([request for key, request in missing.items() if key not in replies])
        workers = self.model.workers * self.model.batch_size
        in_jobs = self.model.in_jobs
        expected = expectation(replies[key], rest, workers, self.price, self.pace.limit, in_jobs=in_jobs)
        log.info("%s %s", self.name, expected)
        return replies

    def ask_again(self, request: Request, *, stage: str) -> Reply:
        """Send a request even if it is in the ledger, and return the reply.

        Only its cost is recorded.

        Raises:
            FairlabError: The budget is spent, or the server cannot be used at all.
        """
        model, asked = self.model, self._asked(request)
        assert model is not None
        call = PendingCall(self.address_of(request), asked, asked, self.retries, repairs=0)
        self.stopped = None

        async def again() -> Reply:
            async with model:
                async for _ in settled([call], partial(self._attempt, stage=stage), lambda: self.reached):
                    pass
            return call.reply()

        return run_coroutine(again())

    def forecast(self, requests: Sequence[Request]) -> Forecast:
        """Estimate the resources that :meth:`ask` would use for the requests, without sending them."""
        found, missing = self._look_up(requests)
        most = self._maximum_spending(list(missing.values()))
        return Forecast(
            requests=len(found) + len(missing),
            recorded=len(found),
            calls=most.calls,
            prompt_tokens=most.prompt_tokens,
            completion_tokens=most.completion_tokens,
            dollars=most.dollars if self.price else None,
        )

    def address_of(self, request: Request) -> str:
        """Return the ledger address of the reply to a request."""
        return address(self._asked(request).canonical(self.name, self.extra))

    def _asked(self, request: Request) -> Request:
        """Return the request with the configured reply limit, if there is one."""
        return request if self.reply_tokens is None else replace(request, max_tokens=self.reply_tokens)

    def _look_up(self, requests: Sequence[Request]) -> tuple[dict[str, Reply], dict[str, Request]]:
        """Return the recorded replies, and the requests that have none, both keyed by ledger address."""
        found: dict[str, Reply] = {}
        missing: dict[str, Request] = {}
        for request in requests:
            key, request = self.address_of(request), self._asked(request)
            if key in found or key in missing:
                continue
            reply = self.ledger.get(key)
            if reply is None and self.model is None:  # a replay returns the failures of the run
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
            f"the ledger {self.ledger.path} has {has} to the call {key[:12]} of {self.name}, whose prompt ends with "
            f'"{opening}"; record it with llm=openai, gemini, anthropic, vllm, local, qwen or transformers'
        )

    async def _ask_missing(self, missing: dict[str, Request], stage: str) -> dict[str, Reply]:
        assert self.model is not None
        self.stopped = None
        queue, answers = deque(missing.items()), dict[str, Reply]()
        with Progress(disable=not sys.stderr.isatty(), transient=True) as progress:
            task = progress.add_task(f"asking {self.name}", total=len(missing))
            async with self.model:
                polling = asyncio.Lock()  # one poll for all workers

                async def work() -> None:
                    while queue and self.stopped is None:
                        if batch := self._claim(queue, answers):
                            await self._answer(batch, stage, answers, queue)
                        elif queue:
                            async with polling:
                                await asyncio.sleep(POLL)
                        progress.update(task, completed=len(answers))

                await asyncio.gather(*(work() for _ in range(min(self.model.workers, len(missing)))))
        if self.stopped is not None:
            kept = sum(reply.kept for reply in answers.values())
            place = f" and are kept in {self.ledger.path}" if kept else ""
            raise FairlabError(f"{self.stopped}; {kept} of {len(missing)} calls were answered{place}") from self.stopped
        return answers

    def _claim(self, queue: deque[tuple[str, Request]], answers: dict[str, Reply]) -> list[PendingCall]:
        """Take calls from the queue for a batch.

        Calls that another process is making are moved to the end of the queue.
        """
        assert self.model is not None
        batch: list[PendingCall] = []
        for _ in range(len(queue)):
            if len(batch) == self.model.batch_size:
                break
            key, request = queue.popleft()
            if self.ledger.claim(key):
                batch.append(PendingCall(key, request, request, self.retries, self.repairs))
            elif (reply := self.ledger.get(key)) is not None:
                answers[key] = reply
            else:
                queue.append((key, request))
        return batch

    async def _answer(
        self, batch: list[PendingCall], stage: str, answers: dict[str, Reply], queue: Collection[object]
    ) -> None:
        """Complete a batch of calls.

        An error that the user can fix stops all workers after their current calls. If no call waits in the queue and
        some were answered, lost calls stop nothing, because their texts may be at fault.
        """
        try:
            async for item in settled(batch, partial(self._attempt, stage=stage), lambda: self.reached):
                reply = answers[item.key] = self._finish_call(item)
                if reply.outcome in RETRIED and (queue or not any(one.kept for one in answers.values())):
                    self.silence.give_up(self.name, reply, share=1 / len(batch))
        except FairlabError as error:
            self.stopped = self.stopped or error
        finally:
            for item in batch:
                if item.key not in answers or not answers[item.key].kept:
                    self.ledger.release(item.key)

    async def _attempt(self, pending: Sequence[PendingCall], stage: str) -> None:
        """Send a batch once and record its cost, unless the run is stopped or the budget is spent."""
        assert self.model is not None
        sent = [item.request for item in pending]
        reservation = await self.pace.reserve(sent, lambda: self.stopped is not None)
        if self.stopped is not None:
            raise self.stopped
        spent = self.ledger.spent()
        ahead = self._maximum_spending(sent) if self.model.in_jobs and len(sent) > 1 else None
        if bound := self.budget.reached(spent, self.in_flight + len(pending), ahead):
            most = f", and up to {ahead.tokens} tokens, ${ahead.dollars:.4f} for a batch job" if ahead else ""
            raise FairlabError(
                f"the budget {bound} is spent ({spent.calls} calls, {spent.tokens} tokens, ${spent.dollars:.4f} so "
                f"far{most}); raise it and run again"
            )
        self.in_flight += len(pending)
        began = time.monotonic()
        try:
            attempts = await self.model.send(sent)
        except StillAtWork:  # counted when they are collected
            raise
        except BaseException as error:  # the calls were sent, regardless of the result
            for item in pending:
                self._spend(item.key, _unanswered(item.request, error), stage)
            raise
        finally:
            self.in_flight -= len(pending)
        reservation.correct(attempts)
        self.silence.note(attempts, began)
        self.reached |= any(attempt.outcome != ExchangeOutcome.UNREACHABLE for attempt in attempts)
        for item, attempt in zip(pending, attempts, strict=True):
            item.attempts.append(judged(attempt, item.asked.schema))
            self._spend(item.key, item.attempts[-1], stage)

    def _spend(self, key: str, attempt: Attempt, stage: str) -> None:
        used = (attempt.prompt_tokens, attempt.completion_tokens, attempt.cached_tokens)
        dollars = attempt.share * self.price.dollars(*used) if self.price else 0.0
        self.ledger.spend(key, stage, attempt, dollars)

    def _maximum_spending(self, requests: Sequence[Request]) -> Spent:
        """Return the maximum resources of requests, for estimated prompt lengths and replies of maximum length."""
        prompts = sum(estimated_tokens(request.prompt) for request in requests)
        replies = sum(request.max_tokens for request in requests)
        share = SHARE if self.model is not None and self.model.in_jobs else 1.0
        dollars = share * self.price.dollars(prompts, replies) if self.price else 0.0
        return Spent(len(requests), prompts, replies, 0.0, dollars)

    def _finish_call(self, item: PendingCall) -> Reply:
        """Return the final reply of a call.

        Answers are recorded. Failures are recorded only for a replay.

        Raises:
            FairlabError: The server is unreachable, so that any other call would fail too.
        """
        reply = item.reply()
        if reply.outcome == ExchangeOutcome.UNREACHABLE:
            remedy = "start its server, or give another address"
            if "CERTIFICATE" in reply.reason:
                remedy = "set SSL_CERT_FILE to the certificate that its server uses"
            raise FairlabError(f"{self.name} cannot be reached ({reply.reason}); {remedy}")
        if not reply.kept and reply.outcome in SAID:
            self.failed[item.key] = reply
        if not reply.kept and reply.outcome not in NO_ANSWER:
            return reply
        return self.ledger.put(item.key, item.asked.canonical(self.name, self.extra), reply)


def _unanswered(request: Request, error: BaseException) -> Attempt:
    """Return the attempt for a call that raised an error.

    A rejected call is free, but the server may have charged for an interrupted call.
    """
    if isinstance(error, FairlabError):
        return Attempt(ExchangeOutcome.REJECTED, reason=str(error))
    return Attempt.in_full(ExchangeOutcome.CUT_OFF, request, f"broken off by {type(error).__name__}")
