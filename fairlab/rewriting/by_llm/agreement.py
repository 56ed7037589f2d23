"""Confidence of a language model in its versions: the proportion of additional answers that agree with them.

Sources: Wang et al. 2023, "Self-Consistency Improves Chain of Thought Reasoning in Language Models"; Manakul, Liusie
and Gales 2023, "SelfCheckGPT".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairlab.rewriting.by_llm.llm_rewriter import SAMPLES, LLMRewriter, Versions

TEMPERATURE = 0.7  # temperature of the additional answers


def with_agreement(
    rewriter: LLMRewriter, made: Sequence[tuple[str, Versions]], samples: int, *, stage: str, **asked: Any
) -> list[Versions]:
    """Sample additional answers, and return the versions with a confidence.

    The confidence is the proportion of additional answers that are identical to the versions. An unreadable answer
    counts as disagreement. Each additional answer has its own seed. ``asked`` holds the arguments of
    :meth:`LLMRewriter.group_requests`.

    Raises:
        FairlabError: See :meth:`fairlab.llm.client.LLM.ask`.
    """
    requests = rewriter.group_requests([text for text, _ in made], **asked)
    drawn = [
        replace(request, temperature=TEMPERATURE, seed=seed, log_probabilities=False)
        for request in requests
        for seed in range(1, samples + 1)
    ]
    replies = iter(rewriter.llm.ask(drawn, stage=stage))
    found = []
    for text, versions in made:
        others = [rewriter.read(text, next(replies), asked["attributes"]) for _ in range(samples)]
        agreeing = sum(_texts(one) == versions.versions for one in others)
        found.append(replace(versions, confidence=agreeing / samples, confidence_by=SAMPLES))
    return found


def _texts(answer: object) -> Mapping[str, str] | None:
    return answer.versions if isinstance(answer, Versions) else None
