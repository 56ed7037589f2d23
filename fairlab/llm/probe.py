"""First calls of a large job, which test whether the model answers and give the expected cost of the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fairlab.llm.budget import SHARE, Forecast, Price
from fairlab.llm.exchange import ExchangeOutcome, Reply, Request
from fairlab.llm.pending import RETRIED
from fairlab.types import FairlabError

if TYPE_CHECKING:
    from fairlab.llm.client import LLM

RESENT = 20  # requests that are sent again at most, to find out whether a model has changed
PROBES = 3  # requests tried before a job is refused: a single text may be at fault


def refuse_probes(name: str, replies: Mapping[str, Reply], calls: int) -> None:
    """Raise an error if no probe call of a job with ``calls`` calls was answered."""
    if any(reply.kept for reply in replies.values()):
        return
    last = list(replies.values())[-1]
    raise FairlabError(
        f"{name} did not answer the first of {calls} calls ({last.outcome}: {last.reason}), so the others are not "
        "made; check llm.model, llm.extra and llm.reply_tokens, or set llm.probe_above=null to make them anyway"
    )


def expectation(
    probe: Reply, rest: Forecast, workers: int, price: Price | None, pace: int | None, *, in_jobs: bool = False
) -> str:
    """Describe the expected price and duration of a job, assuming replies like the reply to the probe call.

    ``rest`` is the forecast of the remaining calls, and ``workers`` the number of concurrent calls. The price is None
    if it is unknown, and the pace, in tokens per minute, if there is no limit.
    """
    completion_tokens = rest.calls * probe.completion_tokens
    seconds = rest.calls * probe.seconds / workers
    if pace is not None:
        seconds = max(seconds, (rest.prompt_tokens + completion_tokens) / pace * 60)
    duration = f"{seconds / 60:.1f} minutes"
    share = 1.0
    if in_jobs:
        duration, share = "up to a day as a batch job", SHARE
    dollars = share * price.dollars(rest.prompt_tokens, completion_tokens) if price else None
    cost = "cost unknown without llm.price" if dollars is None else f"${dollars:.2f}"
    return (
        f"answered a first call in {probe.seconds:.1f} s; {rest.calls} more calls are expected to take "
        f"{duration}, {rest.prompt_tokens} prompt tokens and {completion_tokens} completion tokens, {cost}"
    )


def refuse_changed(llm: LLM, requests: Sequence[Request], is_same: Callable[[str, str], bool]) -> None:
    """Send some of the recorded requests again, and raise an error if an answer differs from the recorded one.

    Nothing is checked if the server is not running, because the ledger may hold all answers.

    Args:
        llm: Client of the model.
        requests: Requests, of which at most :data:`RESENT` that the ledger has answers to are sent.
        is_same: Function from the texts of a recorded and of a new reply to whether they differ only by noise.

    Raises:
        FairlabError: A reply differs, so that another model may have this name, or the server does not answer.
    """
    answers = [(request, llm.ledger.get(llm.address_of(request))) for request in requests]
    recorded = [(request, reply) for request, reply in answers if reply is not None and reply.ok]
    some = recorded[:: -(-len(recorded) // RESENT) or 1]
    for request, before in some:
        now = llm.ask_again(request, stage="probe")
        if now.outcome == ExchangeOutcome.UNREACHABLE:
            return
        if now.outcome in RETRIED:
            raise FairlabError(
                f"{llm.name} gave no answer ({now.outcome}: {now.reason}), so it is unknown whether it is still the "
                f"model of {llm.ledger.path}; run again when it answers"
            )
        if now.ok and not is_same(before.text, now.text):
            raise FairlabError(
                f"{llm.name} answers differently from {llm.ledger.path}, so another model may have its name; give "
                "another llm.ledger"
            )
