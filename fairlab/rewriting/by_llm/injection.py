"""Counterfactual injection by a language model: rewriting to another subgroup, correction, and flagging.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", section 4 and
appendix A.2.2.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairlab.llm.client import LLM
from fairlab.llm.exchange import Request, chat, estimated_tokens, object_schema
from fairlab.rewriting.by_llm.prompt import Prompt, load_prompt

ROOM, WHY = 2, 60  # tokens of a reply: multiple of the text's estimated tokens, plus tokens for a verdict
TEXT: dict[str, Any] = {"text": {"type": "string", "minLength": 1}}
VERDICT: dict[str, Any] = {"flagged": {"type": "boolean"}, "why": {"type": "string"}}


@dataclass(frozen=True)
class Version:
    """Text that is being rewritten to another subgroup.

    Attributes:
        original: Text of the seed example.
        category: Identity category of the seed example, such as ``gender``.
        source, target: Subgroup of the seed example, and subgroup of the version.
        text: Current text; empty before the first step.
        corrected: Whether the first pass changed the text.
        flagged: Reason why the second pass would exclude the text, or empty if it would not.
        failed: Reason why there is no text or no verdict; empty if both are available.
    """

    original: str
    category: str
    source: str
    target: str
    text: str = ""
    corrected: bool = False
    flagged: str = ""
    failed: str = ""


class Injection:
    """Counterfactual injection with a language model, whose ledger answers repeated requests."""

    def __init__(self, llm: LLM) -> None:
        self.llm = llm
        names = ("identity_injection", "identity_correction", "identity_flag")
        self.injection, self.correction, self.flag = map(load_prompt, names)

    def injected(self, asked: Sequence[Version]) -> list[Version]:
        """Return every version with its text, or with the reason for failure."""
        requests = [_request(self.injection, _injection_fields(one), TEXT, one.original) for one in asked]
        replies = self.llm.ask(requests, stage="injection")
        return [
            replace(one, text=reply.value["text"]) if reply.ok else replace(one, failed=str(reply.outcome))
            for one, reply in zip(asked, replies, strict=True)
        ]

    def judged(self, versions: Sequence[Version]) -> list[Version]:
        """Correct the texts in a first pass, and flag faulty texts in a second pass.

        A text without a verdict counts as failed.
        """
        replies = self.llm.ask(
            [_request(self.correction, _correction_fields(one), TEXT, one.text) for one in versions], stage="correction"
        )
        mended = [
            replace(one, text=reply.value["text"], corrected=reply.value["text"] != one.text)
            if reply.ok
            else replace(one, failed=str(reply.outcome))
            for one, reply in zip(versions, replies, strict=True)
        ]
        left = [k for k, one in enumerate(mended) if not one.failed]
        verdicts = self.llm.ask(
            [_request(self.flag, _correction_fields(mended[k]), VERDICT, "") for k in left], stage="flagging"
        )
        for k, reply in zip(left, verdicts, strict=True):
            if not reply.ok:
                mended[k] = replace(mended[k], failed=str(reply.outcome))
            elif reply.value["flagged"]:
                mended[k] = replace(mended[k], flagged=reply.value["why"] or "no reason given")
        return mended


def _injection_fields(one: Version) -> dict[str, str]:
    return {"text": one.original, "category": one.category, "from": one.source, "to": one.target}


def _correction_fields(one: Version) -> dict[str, str]:
    return {"original": one.original, "text": one.text, "category": one.category, "to": one.target}


def _request(prompt: Prompt, asked: dict[str, str], properties: dict[str, Any], text: str) -> Request:
    """Build a request from the task, the examples as earlier turns, and the question."""
    examples = [
        (_dumps({key: example[key] for key in asked}), _dumps({"text": example["rewritten"]}))
        for example in prompt.examples
    ]
    return Request(
        chat(prompt.task, _dumps(asked), examples),
        schema=object_schema(properties),
        max_tokens=ROOM * estimated_tokens(text) + WHY,
    )


def _dumps(value: dict[str, str]) -> str:
    return json.dumps(value, ensure_ascii=False)
