"""Measure whether a small model's confidence separates its correct versions from its wrong ones.

    FAIRLAB_DATA=... python -m experiments.llm.confidence power
    FAIRLAB_DATA=... python -m experiments.llm.confidence measure WORK.jsonl OUT.json    # a killed run resumes

The answers are the recorded ones of Qwen2.5-Coder-1.5B-Instruct to the first 160 test sentences of
:mod:`experiments.llm.texts` (``records/answers.jsonl.xz``). An answer is correct if neither verifier finds a fault:
polarity (CCD paper, equations 6 and 7) or the kinds of pronouns. Three confidences are compared with a random order:
the probability of the answer's texts (:func:`fairlab.llm.exchange.answer_log_probability`), the probability of all its
tokens, and the confidence that the model states. The 4-bit weights are converted to bfloat16 (``python -m
experiments.real_models.fetch qwen``). No text is written.
"""

from __future__ import annotations

import copy
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.llm.answers import restore
from experiments.llm.risk_coverage import gain_over_random
from experiments.llm.texts import draw
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.llm.client import LLM
from fairlab.llm.exchange import Request, answer_log_probability
from fairlab.llm.loading import load_replay
from fairlab.metrics.polarity import Polarity
from fairlab.rewriting.by_llm.llm_rewriter import CONFIDENCE, LLMRewriter, Versions
from fairlab.rewriting.verifiers import load_verifiers

ANSWERS = Path(__file__).parent / "records" / "answers.jsonl.xz"
TEXTS, SEED = 160, 0  # number of texts, chosen with ``power``, and seed
ASKED: dict[str, Any] = {"axis": "gender", "attributes": ("man", "woman")}
VERIFIERS = ("polarity", "kinds")


def rewriter_of(llm: LLM) -> LLMRewriter:
    """Return the rewriter whose answers are recorded."""
    polarity = Polarity(load_lexicon("gender"))
    return LLMRewriter(llm, group_prompt="counterfactual_marked", polarity=polarity)


class Scored:
    """Model that scores answers to prompts with the same beginning, which it processes once."""

    def __init__(self, requests: Sequence[Request]) -> None:
        import hydra

        from fairlab.run.config.build import build
        from fairlab.run.config.composing import composing

        with composing():
            backbone = build(hydra.compose(overrides=["+backbone=qwen"]).backbone)
        self.model, self.tokenizer = backbone.model.eval(), backbone.tokenizer
        prompts = [self._prompt(request) for request in requests]
        first = prompts[0]
        self.shared = next(k for k, ids in enumerate(zip(*prompts, strict=False)) if len(set(ids)) > 1)
        with torch.inference_mode():
            self.cache = self.model(torch.tensor([first[: self.shared]]), use_cache=True).past_key_values

    def _prompt(self, request: Request) -> list[int]:
        chat = self.tokenizer.apply_chat_template(list(request.messages), tokenize=False, add_generation_prompt=True)
        return list(self.tokenizer(chat, add_special_tokens=False)["input_ids"])

    @torch.inference_mode()
    def probabilities(self, request: Request, answer: str) -> tuple[float, float]:
        """Return the probability of an answer's texts, and the probability of all its tokens."""
        prompt, ids = self._prompt(request), self.tokenizer(answer, add_special_tokens=False)["input_ids"]
        rest = [*prompt[self.shared :], *ids]
        logits = self.model(torch.tensor([rest]), past_key_values=copy.deepcopy(self.cache), use_cache=True).logits[0]
        logs = logits[-len(ids) - 1 : -1].float().log_softmax(-1)
        values = logs.gather(1, torch.tensor(ids)[:, None])[:, 0].tolist()
        said = answer_log_probability([self.tokenizer.decode([one]) for one in ids], values)
        return math.exp(said or 0.0), math.exp(math.fsum(values))


def measure(work: Path, out: Path) -> None:
    """Score the recorded answers, and write whether each is correct and how confident the model is."""
    texts = [row["text"] for row in draw()["test"][:TEXTS]]
    with tempfile.TemporaryDirectory() as folder:
        restore(ANSWERS, Path(folder) / "ledger.sqlite")
        rewriter = rewriter_of(load_replay(ledger=f"{folder}/ledger.sqlite", model=None))
        requests = rewriter.group_requests(texts, **ASKED)
        replies = rewriter.llm.ask(requests, stage="groups")
    made = [rewriter.read(text, reply, ASKED["attributes"]) for text, reply in zip(texts, replies, strict=True)]
    usable = [k for k, one in enumerate(made) if isinstance(one, Versions)]
    done = dict(map(json.loads, work.read_text().splitlines())) if work.exists() else {}
    scored = None
    for k in usable:
        if k in done:
            continue
        scored = scored or Scored(requests)
        done[k] = scored.probabilities(requests[k], replies[k].text)
        with work.open("a") as opened:
            opened.write(json.dumps([k, done[k]]) + "\n")
    verifiers = load_verifiers(VERIFIERS, load_lexicon("gender"))
    items = [
        {
            "right": not any(one.fault(texts[k], made[k].versions) for one in verifiers),
            "tokens": done[k][0],
            "whole": done[k][1],
            "stated": float(replies[k].value[CONFIDENCE]),
        }
        for k in usable
    ]
    head = {"model": "qwen, bfloat16", "prompt": "counterfactual_marked"}
    write_whole(out, json.dumps({**head, "items": items}, separators=(",", ":")) + "\n")


def power(texts: int, shift: float, error: float = 0.45, trials: int = 100) -> float:
    """Return the proportion of simulated studies whose interval excludes a random order.

    Args:
        texts: Number of texts.
        shift: Mean confidence of correct answers minus that of wrong ones, in standard deviations; 0.74 corresponds to
            an area under the ROC curve of 0.70, and 0.54 to 0.65.
        error: Proportion of wrong answers.
        trials: Number of simulated studies.
    """
    rng = np.random.default_rng(SEED)
    found = 0
    for trial in range(trials):
        wrong = rng.random(texts) < error
        found += gain_over_random(rng.normal(size=texts) - shift * wrong, wrong, seed=trial)[1] > 0
    return found / trials


if __name__ == "__main__":
    if sys.argv[1] == "power":
        for number in (60, TEXTS):
            print(number, {shift: power(number, shift) for shift in (0.54, 0.74)})
    else:
        torch.set_num_threads(1)
        measure(Path(sys.argv[2]), Path(sys.argv[3]))
