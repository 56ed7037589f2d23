"""Request of a set of biasers from a language model.

The paper used 20 ethnicities from ChatGPT.

Source: Mondal and Lipizzi 2024, section 4.
"""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.lexicons.biasers import FORMS
from fairlab.llm.client import LLM
from fairlab.llm.exchange import Request, chat, object_schema
from fairlab.rewriting.by_llm.prompt import load_prompt
from fairlab.types import FairlabError

NAME = "biasers.yaml"
LENGTH = 40  # maximum tokens of a member


class AskedSet:
    """Set of the members that a biaser can name, requested from a language model.

    Args:
        llm: Language model to prompt; required. Because of its ledger, the same set is never requested twice.
        size: Number of members in the set, |b|, at least 2.
        seed: Seed of the language model's sampling; the temperature is 0.

    Raises:
        FairlabError: The language model is missing, or the size is below 2.
    """

    def __init__(self, *, llm: LLM | None, size: int = 20, seed: int = 0) -> None:
        if llm is None:
            raise FairlabError(
                "a set of biasers by prompt needs a language model; add llm=local, openai, gemini, vllm or replay"
            )
        if size < 2:
            raise FairlabError(f"biaser_set.size must be at least 2, not {size}")
        self.llm, self.size, self.seed = llm, size, seed
        self.prompt = load_prompt("biasers")

    def __call__(self, axis: str, folder: Path) -> Path:
        """Return the path of the axis's set in a folder; request and write the set if the file does not exist.

        Raises:
            FairlabError: The model returned no set, or a set with too few different members.
        """
        path = folder / NAME
        if not path.exists():
            content = {
                "axis": axis,
                "source": f"{self.llm.name}, prompt biasers version {self.prompt.version}, {self.prompt.sha256}",
                "licence": "unknown",
                "biasers": self._asked(axis),
            }
            write_whole(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
        load_lexicon(str(path))  # reports a set that contradicts itself
        return path

    def _asked(self, axis: str) -> list[list[str]]:
        member = object_schema({key: {"type": "string", "minLength": 1} for key in FORMS})
        request = Request(
            chat(self.prompt.task, json.dumps({"category": axis, "number": self.size})),
            schema=object_schema({"biasers": {"type": "array", "items": member}}),
            max_tokens=self.size * LENGTH,
            seed=self.seed,
        )
        (reply,) = self.llm.ask([request], stage="biasers")
        if not reply.ok:
            raise FairlabError(
                f"{self.llm.name} returned no set of biasers ({reply.outcome}: {reply.reason}); ask another model"
            )
        found: dict[str, list[str]] = {}
        for one in reply.value["biasers"]:
            found.setdefault(one["adjective"].casefold(), [one[name].strip() for name in FORMS])
        if len(found) < self.size:
            raise FairlabError(
                f"{self.llm.name} returned {len(found)} different biasers of '{axis}', not {self.size}; ask for fewer "
                "with biaser_set.size, or another model"
            )
        return list(found.values())[: self.size]
