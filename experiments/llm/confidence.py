"""Whether a small model's confidence tells its right versions from its wrong ones.

    FAIRLAB_DATA=... python -m experiments.llm.confidence power
    FAIRLAB_DATA=... python -m experiments.llm.confidence measure WORK.jsonl OUT.json    # a killed run resumes

The answers are the recorded ones of Qwen2.5-Coder-1.5B-Instruct to the first 160 test sentences of
:mod:`experiments.llm.texts` (``records/answers.jsonl.gz``). Right are those with which neither verifier finds a fault:
polarity (CCD paper, equations 6 and 7) and the kinds of pronouns. Three confidences are compared with a random order:
the probability of the answer's tokens, the share of sampled answers that agree, and the model's own word. The weights
are read back from 4 bits to bfloat16 (``python -m experiments.real_models.fetch qwen``). No text is written.
"""

from __future__ import annotations

import copy
import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.llm.answers import restore
from experiments.llm.texts import draw
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.llm.client import LLM
from fairlab.llm.exchange import Attempt, ExchangeOutcome, Reply, Request
from fairlab.llm.loading import load_replay
from fairlab.llm.structured import judged
from fairlab.metrics.polarity import Polarity
from fairlab.metrics.risk_coverage import gain_over_random
from fairlab.rewriting.by_llm.agreement import TEMPERATURE
from fairlab.rewriting.by_llm.llm_rewriter import CONFIDENCE, LLMRewriter, Versions
from fairlab.rewriting.verifiers import load_verifiers

ANSWERS = Path(__file__).parent / "records" / "answers.jsonl.gz"
TEXTS, SAMPLED, SAMPLES, SEED = 160, 32, 4, 0  # by ``power``; samples of the first texts alone, for want of time
SIDE_BY_SIDE = 8  # texts that are sampled at once
LONGER = 2  # a sample longer than so many times the longest recorded answer beside it is cut, and agrees with nothing
ASKED: dict[str, Any] = {"axis": "gender", "attributes": ("man", "woman")}
VERIFIERS = ("polarity", "kinds")
CONFIDENCES = ("tokens", "samples", "stated")


def rewriter_of(llm: LLM) -> LLMRewriter:
    """Return the rewriter whose answers are recorded."""
    polarity = Polarity(load_lexicon("gender"))
    return LLMRewriter(llm, group_prompt="counterfactual_marked", polarity=polarity)


class Scored:
    """Model that scores and samples answers to prompts with one beginning, which it reads once."""

    def __init__(self, requests: Sequence[Request]) -> None:
        import hydra

        from fairlab.run.config.build import build
        from fairlab.run.config.composing import composing

        with composing():
            backbone = build(hydra.compose(overrides=["+backbone=qwen"]).backbone)
        self.model, self.tokenizer = backbone.model.eval(), backbone.tokenizer
        self.ends = {self.tokenizer.eos_token_id, self.tokenizer.convert_tokens_to_ids("<|im_end|>")}
        prompts = [self._prompt(request) for request in requests]
        first = prompts[0]
        self.shared = next(k for k, ids in enumerate(zip(*prompts, strict=False)) if len(set(ids)) > 1)
        with torch.inference_mode():
            self.cache = self.model(torch.tensor([first[: self.shared]]), use_cache=True).past_key_values

    def _prompt(self, request: Request) -> list[int]:
        chat = self.tokenizer.apply_chat_template(list(request.messages), tokenize=False, add_generation_prompt=True)
        return list(self.tokenizer(chat, add_special_tokens=False)["input_ids"])

    def length(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    @torch.inference_mode()
    def log_probability(self, request: Request, answer: str) -> float:
        """Return the log-probability of an answer's tokens, in nats."""
        prompt, ids = self._prompt(request), self.tokenizer(answer, add_special_tokens=False)["input_ids"]
        rest = [*prompt[self.shared :], *ids]
        logits = self.model(torch.tensor([rest]), past_key_values=copy.deepcopy(self.cache), use_cache=True).logits[0]
        logs = logits[-len(ids) - 1 : -1].float().log_softmax(-1)
        return float(logs.gather(1, torch.tensor(ids)[:, None]).sum())

    @torch.inference_mode()
    def samples(self, requests: Sequence[Request], longest: int) -> list[list[str]]:
        """Return ``SAMPLES`` sampled answers per request, each of at most ``longest`` tokens, drawn side by side."""
        rows = [self._prompt(request)[self.shared :] for request in requests for _ in range(SAMPLES)]
        width = max(map(len, rows))
        following = torch.tensor([[0] * (width - len(row)) + row for row in rows])
        unpadded = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        mask = torch.cat([torch.ones(len(rows), self.shared, dtype=torch.long), unpadded], dim=1)
        places = self.shared + (unpadded.cumsum(1) - 1).clamp_min(0)
        cache = copy.deepcopy(self.cache)
        cache.batch_repeat_interleave(len(rows))
        generator, ids = torch.Generator().manual_seed(SEED), [list[int]() for _ in rows]
        ended = [False] * len(rows)
        for _ in range(longest):
            given = {"attention_mask": mask, "position_ids": places, "past_key_values": cache, "use_cache": True}
            logits = self.model(following, **given, logits_to_keep=1).logits[:, -1].float()
            following = torch.multinomial((logits / TEMPERATURE).softmax(-1), 1, generator=generator)
            for row, token in enumerate(following[:, 0].tolist()):
                ended[row] |= token in self.ends
                if not ended[row]:
                    ids[row].append(token)
            if all(ended):
                break
            mask = torch.cat([mask, torch.ones(len(rows), 1, dtype=torch.long)], dim=1)
            places = places[:, -1:] + 1
        texts = [str(self.tokenizer.decode(one)) for one in ids]
        return [texts[k : k + SAMPLES] for k in range(0, len(texts), SAMPLES)]


def measure(work: Path, out: Path) -> None:
    """Score the recorded answers, and write what is right and how confident the model is."""
    texts = [row["text"] for row in draw()["test"][:TEXTS]]
    with tempfile.TemporaryDirectory() as folder:
        restore(ANSWERS, Path(folder) / "ledger.sqlite")
        rewriter = rewriter_of(load_replay(ledger=f"{folder}/ledger.sqlite", model=None))
        requests = rewriter.group_requests(texts, **ASKED)
        replies = rewriter.llm.ask(requests, stage="groups")
    made = [rewriter.read(text, reply, ASKED["attributes"]) for text, reply in zip(texts, replies, strict=True)]
    usable = [k for k, one in enumerate(made) if isinstance(one, Versions)]
    done = [json.loads(line) for line in work.read_text().splitlines()] if work.exists() else []
    scored = None
    for stage, chosen, side_by_side in (("tokens", usable, 1), ("samples", usable[:SAMPLED], SIDE_BY_SIDE)):
        left = [k for k in chosen if not any((one["text"], one["stage"]) == (k, stage) for one in done)]
        for start in range(0, len(left), side_by_side):
            group = left[start : start + side_by_side]
            scored = scored or Scored(requests)
            started = time.process_time()
            values = _values(stage, scored, rewriter, [(texts[k], requests[k], replies[k], made[k]) for k in group])
            seconds = (time.process_time() - started) / len(group)
            done += [
                {"text": k, "stage": stage, "value": one, "seconds": seconds}
                for k, one in zip(group, values, strict=True)
            ]
            with work.open("a") as opened:
                opened.writelines(json.dumps(one) + "\n" for one in done[-len(group) :])
    write_whole(out, json.dumps(_content(texts, replies, made, usable, done), indent=1) + "\n")


def _values(
    stage: str, scored: Scored, rewriter: LLMRewriter, asked: Sequence[tuple[str, Request, Reply, Any]]
) -> list[float]:
    if stage == "tokens":
        return [math.exp(scored.log_probability(request, reply.text)) for _, request, reply, _ in asked]
    longest = max(LONGER * scored.length(reply.text) for _, _, reply, _ in asked)
    drawn = scored.samples([request for _, request, _, _ in asked], longest)
    found = []
    for (text, request, _, made), answers in zip(asked, drawn, strict=True):
        agreeing = 0
        for answer in answers:
            attempt = judged(Attempt(ExchangeOutcome.OK, answer), request.schema)
            other = rewriter.read(text, Reply(attempt.outcome, answer, "", 1, 0, 0, 0.0), ASKED["attributes"])
            agreeing += isinstance(other, Versions) and other.versions == made.versions
        found.append(agreeing / SAMPLES)
    return found


def _content(
    texts: Sequence[str], replies: Sequence[Reply], made: Sequence[Any], usable: Sequence[int], done: Sequence[Any]
) -> dict[str, Any]:
    verifiers = load_verifiers(VERIFIERS, load_lexicon("gender"))
    values = {(one["text"], one["stage"]): one["value"] for one in done}
    items = [
        {
            "right": not any(one.fault(texts[k], made[k].versions) for one in verifiers),
            "tokens": values[k, "tokens"],
            "samples": values.get((k, "samples")),
            "stated": float(replies[k].value[CONFIDENCE]),
        }
        for k in usable
    ]
    seconds = {stage: round(sum(one["seconds"] for one in done if one["stage"] == stage)) for stage in CONFIDENCES[:2]}
    return {
        "model": "qwen, bfloat16",
        "prompt": "counterfactual_marked",
        "drawn": SAMPLES,
        "processor_seconds": seconds,
    } | {"items": items}


def power(texts: int, shift: float, error: float = 0.45, trials: int = 100) -> float:
    """Return the share of simulated studies whose interval excludes a random order.

    Args:
        texts: Number of texts.
        shift: Mean confidence of right answers minus that of wrong ones, in standard deviations; 0.74 is an area under
            the ROC curve of 0.70, and 0.54 one of 0.65.
        error: Share of wrong answers.
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
        for number in (SAMPLED, TEXTS):
            print(number, {shift: power(number, shift) for shift in (0.54, 0.74)})
    else:
        torch.set_num_threads(1)
        measure(Path(sys.argv[2]), Path(sys.argv[3]))
