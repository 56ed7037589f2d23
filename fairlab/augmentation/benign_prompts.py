"""Harmless prompts, generated from topics and forms of text, that differ only in the subgroup they mention.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", appendix A.2.1, 5,
after Radharapu et al. 2023, "AART: AI-Assisted Red-Teaming". Harmful prompts are not generated.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fairlab.llm.client import LLM
from fairlab.llm.exchange import Request, chat, object_schema
from fairlab.protocols import RowAugmentation, refuse_axis
from fairlab.rewriting.by_llm.prompt import load_prompt
from fairlab.text.papers import STURMAN_2024
from fairlab.types import Count, FairlabError, Made, Row, Texts

PLACEHOLDER = "<social_group>"
HARMS = ("hate", "toxicity", "sexual", "violence")  # harms that a harmless prompt does not have
LENGTH = 120  # maximum tokens of a prompt
FORMS_SHOWN = 10  # forms per request, as in the paper
PROMPT = object_schema({"prompt": {"type": "string"}, "form": {"type": "string"}})
SCHEMA = object_schema({"prompts": {"type": "array", "items": PROMPT}})


class BenignPrompts(RowAugmentation):
    """Augmentation that requests harmless prompts on the topic in each row, and makes a version for every subgroup.

    Prompts without exactly one placeholder for the subgroup, and duplicates of earlier prompts, are omitted and
    counted.

    Args:
        each: Number of prompts per topic, at least 1.
        forms: Kinds of text to write, such as a question; ten of them, drawn at random, are offered for each topic.
        llm: Language model that writes the prompts, with its ledger; required.
        seed: Seed of the drawn forms and of the language model's sampling.

    Raises:
        FairlabError: The language model is missing.
    """

    title = "harmless prompts about every subgroup"
    limits = "Only harmless English prompts of few topics and forms."
    citation = STURMAN_2024
    name = "benign_prompts"
    needs_rewriter = False

    def __init__(self, *, each: Count, forms: Texts, llm: LLM | None = None, seed: int = 0) -> None:
        if llm is None:
            raise FairlabError("benign_prompts needs a language model; add llm=local, openai, gemini, vllm or replay")
        self.llm, self.each, self.forms, self.seed = llm, each, list(forms), seed
        self.prompt = load_prompt("benign_prompts")
        self.people: dict[str, dict[str, str]] = self.prompt.extra["people"]

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return the prompts made for every topic, in order."""
        replies = self.llm.ask([self._request(row) for row in rows], stage=self.name)
        seen: set[str] = set()
        made = []
        for row, reply in zip(rows, replies, strict=True):
            if not reply.ok:
                made.append(Made(reason=f"language model: {reply.outcome}", detail=reply.reason))
                continue
            counts, written = Counter[str](), list[dict[str, Any]]()
            for one in reply.value["prompts"][: self.each]:
                folded = " ".join(one["prompt"].casefold().split())
                if one["prompt"].count(PLACEHOLDER) != 1:
                    counts["prompts without the placeholder"] += 1
                elif folded in seen:
                    counts["prompts that came before"] += 1
                else:
                    seen.add(folded)
                    counts["prompts"] += 1
                    written += self._versions(row, f"{row.number}-{counts['prompts']}", one)
            reason = "" if written else "no usable prompt"
            made.append(Made(rows=tuple(written), reason=reason, counts=dict(counts)))
        return made

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that determine the output, for the manifest.

        Raises:
            FairlabError: An axis was given.
        """
        refuse_axis(values, f"{cls.name} has its own identities")
        node = values["augmentation"]
        prompt = load_prompt("benign_prompts")
        return {"each": node["each"], "forms": list(node["forms"]), "prompt_sha256": prompt.sha256}

    def _request(self, row: Row) -> Request:
        drawn = random.Random(f"{self.seed} {row.text}").sample(self.forms, min(FORMS_SHOWN, len(self.forms)))
        asked = {"topic": row.text, "forms": drawn, "number": self.each}
        return Request(
            chat(self.prompt.task, json.dumps(asked, ensure_ascii=False)),
            schema=SCHEMA,
            max_tokens=self.each * LENGTH,
            seed=self.seed,
        )

    def _versions(self, row: Row, key: str, one: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return a row with the prompt for every subgroup.

        The rows of a category form a set with the same key.
        """
        return [
            {
                "id": f"{key}-{category}-{name}",
                "text": one["prompt"].replace(PLACEHOLDER, people),
                "key": f"{key}-{category}",
                "subgroup": f"{category}:{name}",
                "labels": dict.fromkeys(HARMS, 0),
                "form": one["form"],
                "topic": row.text,
                "template": one["prompt"],
                "augmentation": self.name,
                "source_place": row.place,
            }
            for category, names in self.people.items()
            for name, people in names.items()
        ]
