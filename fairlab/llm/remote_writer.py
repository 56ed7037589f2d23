"""Texts written by a served model through its ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlab.backbones.writers import END, FAILED, LENGTH, REFUSED, Sampling, TextPrompt, Written
from fairlab.llm.client import LLM
from fairlab.llm.exchange import ExchangeOutcome, Reply, Request
from fairlab.types import CannotScore

AT_ONCE = 64  # number of requests after which finished texts are passed on
CONTINUE = "Continue this text. Write the continuation alone, without a comment:\n\n"
HOW = {
    ExchangeOutcome.OK: END,
    ExchangeOutcome.TRUNCATED: LENGTH,
    ExchangeOutcome.REFUSED: REFUSED,
    ExchangeOutcome.MALFORMED: END,  # an empty reply
}


class RemoteWriter:
    """Writer by a server's chat completions.

    A prompt to continue is sent as a request to continue it, because such servers only write answers. A call
    that fails after its retries results in an empty text that counts as failed; if all of the first ones fail, the
    model cannot be measured.

    Args:
        llm: Client of the server; its ledger keeps every answer.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    def requests(self, prompts: Sequence[TextPrompt], sampling: Sampling) -> list[Request]:
        """Return the request of each prompt, by which the price can be forecast."""
        return [
            Request(
                tuple(one.messages()) if one.chat else ({"role": "user", "content": CONTINUE + one.text},),
                max_tokens=sampling.max_tokens,
                temperature=sampling.temperature,
                top_p=None if sampling.top_p == 1 else sampling.top_p,
                seed=sampling.seed_of(one),
            )
            for one in prompts
        ]

    def write(
        self,
        prompts: Sequence[TextPrompt],
        sampling: Sampling,
        *,
        done: Callable[[int, Written], None] | None = None,
        progress: str = "",
    ) -> list[Written]:
        """Return a text for each prompt, as :class:`fairlab.backbones.writers.Writer` does.

        Raises:
            CannotScore: The server answers none of the first prompts.
            FairlabError: The server cannot be used at all, or the budget is spent.
        """
        del progress
        requests = self.requests(prompts, sampling)
        found: list[Written] = []
        for start in range(0, len(requests), AT_ONCE):
            replies = self.llm.ask(requests[start : start + AT_ONCE], stage="written")
            texts = [_written(reply) for reply in replies]
            if not found and all(one.ended == FAILED for one in texts):
                said = replies[0].reason or replies[0].outcome
                raise CannotScore(f"{self.llm.name} wrote no text: {said}; check its server, or lower max_tokens")
            for place, text in enumerate(texts, start=start):
                if done is not None and text.ended != FAILED:
                    done(place, text)
            found += texts
        return found


def _written(reply: Reply) -> Written:
    ended = HOW.get(reply.outcome, FAILED)
    return Written(reply.text if ended != FAILED else "", ended, reply.completion_tokens if ended != FAILED else 0)
