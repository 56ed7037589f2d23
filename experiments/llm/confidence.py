"""Whether a small model's confidence tells its right versions from its wrong ones, on texts with known answers.

    python -m experiments.llm.confidence power
    python -m experiments.llm.confidence measure http://127.0.0.1:8080/v1 LEDGER OUT.json   # a killed run resumes

The server is llama-cpp-python's with ``--logits_all true`` and Qwen2.5-Coder-1.5B-Instruct. Texts and known answers are
those of :mod:`experiments.llm.human`; an answer is right if every version that people wrote equals theirs, letter by
letter. Three confidences are compared with a random order: the probability of the answer's tokens, the share of samples
that agree, and the model's own word. No text is written.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.llm.human import ATTRIBUTES, Human, sentences
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.llm.client import LLM
from fairlab.llm.ledger import Ledger
from fairlab.llm.server import Server
from fairlab.metrics.polarity import Polarity
from fairlab.metrics.risk_coverage import area_under_risk_coverage, gain_over_random
from fairlab.rewriting.by_llm.agreement import with_agreement
from fairlab.rewriting.by_llm.llm_rewriter import CONFIDENCE, TOKENS, LLMRewriter, Versions

MODEL = "Qwen2.5-Coder-1.5B-Instruct-Q4_K_M"
TEXTS, SAMPLES, SEED = 100, 2, 0  # number of texts by ``power``
ASKED = {"axis": "gender", "attributes": ATTRIBUTES}
CONFIDENCES = ("tokens", "samples", "stated")


def drawn() -> list[Human]:
    """Return the texts, drawn once."""
    return random.Random(SEED).sample(list(sentences()), TEXTS)


def measure(url: str, ledger: Path, out: Path) -> None:
    """Ask for versions and samples of every text, and write what is right and how confident the model is."""
    llm = LLM(Server(url, MODEL, concurrency=1, total_timeout=600.0), MODEL, Ledger(ledger))
    polarity = Polarity(load_lexicon("gender"))
    rewriter = LLMRewriter(llm, group_prompt="counterfactual_marked", polarity=polarity)
    texts = drawn()
    asked = [one.text for one in texts]
    replies = llm.ask(rewriter.group_requests(asked, **ASKED), stage="groups")
    made = [rewriter.read(text, reply, ATTRIBUTES) for text, reply in zip(asked, replies, strict=True)]
    usable = [k for k, one in enumerate(made) if isinstance(one, Versions) and one.confidence_by == TOKENS]
    groups = [(asked[k], one) for k in usable if isinstance(one := made[k], Versions)]
    agreed = with_agreement(rewriter, groups, SAMPLES, stage="samples", **ASKED)
    items = [
        {
            "id": texts[k].id,
            "right": all(one.versions[name] == text for name, text in texts[k].references.items()),
            "tokens": one.confidence,
            "samples": agreement.confidence,
            "stated": float(replies[k].value[CONFIDENCE]),
        }
        for k, (_, one), agreement in zip(usable, groups, agreed, strict=True)
    ]
    spent = {stage: {"calls": one.calls, "seconds": round(one.seconds, 1)} for stage, one in llm.ledger.stages().items()}
    content = {"model": MODEL, "prompt": "counterfactual_marked", "texts": TEXTS, "drawn_samples": SAMPLES, "spent": spent}
    write_whole(out, json.dumps(content | {"items": items}, indent=1) + "\n")


def results(items: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return, per confidence, the area under the risk-coverage curve and the gain over a random order."""
    wrong = [not one["right"] for one in items]
    found = {}
    for name in CONFIDENCES:
        values = [one[name] for one in items]
        gain, low, high = gain_over_random(values, wrong)
        found[name] = {"area": area_under_risk_coverage(values, wrong), "gain": gain, "low": low, "high": high}
    return found


def power(texts: int, shift: float, error: float = 0.5, trials: int = 100) -> float:
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
        for number in (60, TEXTS, 160):
            print(number, {shift: power(number, shift) for shift in (0.54, 0.74)})
    else:
        measure(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
