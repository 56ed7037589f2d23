"""First calls of a large job, which test whether the model answers and give the expected cost of the rest."""

from __future__ import annotations

from collections.abc import Mapping

from fairlab.llm.budget import SHARE, Forecast, Price
from fairlab.llm.exchange import Reply
from fairlab.types import FairlabError

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
