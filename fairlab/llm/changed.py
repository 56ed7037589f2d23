"""Check that a served model still gives the answers that its ledger holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlab.llm.client import LLM
from fairlab.llm.exchange import ExchangeOutcome, Request
from fairlab.llm.pending import RETRIED
from fairlab.types import FairlabError

RESENT = 20  # maximum number of requests that are sent again


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
