"""Estimated calls, tokens and cost of an augmentation's language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from fairlab.llm.budget import SHARE
from fairlab.llm.exchange import estimated_tokens
from fairlab.llm.loading import as_price

EXAMPLES = 60  # tokens of the prompt's examples: our estimate
REPLY = 100  # tokens of a reply: our estimate


@dataclass(frozen=True)
class Calls:
    """Estimated use of an augmentation's language model.

    Attributes:
        model: Name of the language model.
        calls: Maximum number of calls.
        of: Description of how the calls were counted.
        prompt_tokens, completion_tokens: Number of tokens in all calls, estimated from text lengths.
        dollars: Cost in dollars, or None if the price is unknown.
        free: Whether the model runs on the user's own machine.
    """

    model: str
    calls: int
    of: str
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    free: bool


def calls_of(config: Mapping[str, Any], texts: int | None) -> Calls | None:
    """Estimate the language model calls of a configured augmentation, or return None without a language model.

    If the number of texts is unknown (None), calls are counted per 1,000 texts.
    """
    llm = config.get("llm") or {}
    if not llm:
        return None
    augmentation, search = config.get("augmentation") or {}, config.get("search") or {}
    counted, of = (texts, f"{texts:,} texts") if texts is not None else (1000, "every 1,000 texts")
    if str(augmentation.get("_target_", "")).endswith(".Razor"):
        rewrites = augmentation["k"] * augmentation["candidates"] * augmentation["rounds"]
        calls, of = 2 * rewrites, f"{rewrites:,} rewrites at most, each checked once"
    else:
        calls = counted * (1 + int(search.get("rounds", 0)))
        of += f", in {search['rounds']} rounds of search at most, and once afterwards" if search else ""
    prompt = estimated_tokens(_prompt(str((config.get("rewriter") or {}).get("prompt", "")))) + EXAMPLES
    price = as_price(llm.get("price"), str(llm.get("base_url", "")), str(llm.get("model", "")))
    share = SHARE if llm.get("batch") else 1.0
    dollars = None if price is None else share * price.dollars(calls * prompt, calls * REPLY)
    free = price is None and not llm.get("api_key_env")
    name = str(llm.get("model") or llm.get("name") or "a recorded ledger")
    return Calls(name, calls, of, calls * prompt, calls * REPLY, dollars, free)


def _prompt(name: str) -> str:
    file = files("fairlab.rewriting.by_llm") / "prompts" / f"{name}.yaml"
    return file.read_text(encoding="utf-8") if file.is_file() else ""
