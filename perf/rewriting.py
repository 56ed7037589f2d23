"""Rule-based rewriting, compared with AugLy's gender swap and a plain swap of 57 word pairs on the same sentences.

Quality is measured against counterfactual sentences written by people, with the metrics of table 2 of Qian et al. 2022
("Perturbation Augmentation for Fairer NLP"): exact match, BLEU (sacrebleu), mean ROUGE-2 F-score and word-level
Levenshtein distance. Speed is sentences per second on one core, as the best of the repeats. Repeats are interleaved
over the systems that run in this process. The sentences are the held-out groups of Winogender, from man to woman and
from woman to man, and 112 pairs from CrowS-Pairs in both directions. AugLy needs a separate environment:

    python -m venv DIR && DIR/bin/pip install augly==1.0.0 nlpaug==1.1.11
    python perf/rewriting.py --augly DIR/bin/python [--repeats 5] [--write]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import sacrebleu
from rapidfuzz.distance import Levenshtein
from rouge_score import rouge_scorer

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.rules import RuleRewriter
from harness import machine, results

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments" / "rewriting"))
from sets import TOKEN, Rewriting, bias_words, crows, winogender

RESULTS = results("rewriting")
# Script for AugLy's environment: reads sentences, and prints their rewrites and the best time.
AUGLY = """
import json, sys, time
import augly.text
request = json.load(sys.stdin)
swap = lambda: augly.text.swap_gendered_words(request["texts"], aug_word_p=1.0)
made, seconds = swap(), []
for _ in range(request["repeats"]):
    start = time.perf_counter()
    swap()
    seconds.append(time.perf_counter() - start)
print(json.dumps({"made": made, "seconds": min(seconds)}))
"""


def sentences() -> list[Rewriting]:
    """Return the sentences to rewrite, with the expected rewrites and the words selected for the entity mode."""
    items = []
    for group in winogender()["held out"]:
        for source, target in (("man", "woman"), ("woman", "man")):
            text, expected = group.versions[source], group.versions[target]
            pairs = zip(TOKEN.finditer(text), TOKEN.finditer(expected), strict=False)
            start = next(one.start() for one, two in pairs if one.group() != two.group())
            items.append(Rewriting(text, expected, ((start, target),)))
    return items + [item for part in crows().values() for item in part]


def plain_swap() -> Callable[[list[str]], list[str]]:
    """Return a function that swaps the two words of each word pair in bias-bench's list, preserving case.

    For a word in several pairs, the first pair is used.
    """
    partner: dict[str, str] = {}
    for man, woman in bias_words():
        partner.setdefault(man, woman)
        partner.setdefault(woman, man)
    word = re.compile(r"\b[\w']+\b")

    def swapped(match: re.Match[str]) -> str:
        found = match.group()
        new = partner.get(found.lower(), found)
        return new.capitalize() if found[0].isupper() and new != found else new

    return lambda texts: [word.sub(swapped, text) for text in texts]


def quality(made: list[str], items: list[Rewriting]) -> dict[str, float]:
    """Return the quality metrics of a system."""
    expected = [item.expected for item in items]
    scorer = rouge_scorer.RougeScorer(["rouge2"])
    pairs = list(zip(made, expected, strict=True))
    rouge = [scorer.score(reference, text)["rouge2"].fmeasure for text, reference in pairs]
    distances = [Levenshtein.distance(TOKEN.findall(text), TOKEN.findall(reference)) for text, reference in pairs]
    return {
        "exact": sum(text == reference for text, reference in pairs) / len(pairs),
        "bleu": sacrebleu.corpus_bleu(made, [expected]).score,
        "rouge_2": 100 * sum(rouge) / len(rouge),
        "levenshtein": sum(distances) / len(distances),
    }


def measure(augly: str, repeats: int) -> dict[str, object]:
    """Measure the quality and speed of all systems."""
    items = sentences()
    texts = [item.source for item in items]
    lexicon = load_lexicon("gender")
    syntax, lexical = (RuleRewriter(lexicon, mode=mode, names="keep") for mode in ("syntax", "lexical"))
    plain = plain_swap()
    systems: dict[str, Callable[[], list[str]]] = {
        "ours, person selected": lambda: syntax.rewrite_entities(texts, [item.selected for item in items]),
        "ours, to the target": lambda: syntax.rewrite_all(texts, [item.target for item in items]),
        "ours, exchanged": lambda: syntax.swap_all(texts),
        "ours, lexical, to the target": lambda: lexical.rewrite_all(texts, [item.target for item in items]),
        "ours, lexical, exchanged": lambda: lexical.swap_all(texts),
        "57 pairs": lambda: plain(texts),
    }
    made = {name: run() for name, run in systems.items()}
    best = dict.fromkeys(systems, float("inf"))
    foreign: list[float] = []
    for _ in range(repeats):
        for name, run in systems.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
        answer = subprocess.run(
            [augly, "-c", AUGLY],
            input=json.dumps({"texts": texts, "repeats": 3}),
            capture_output=True,
            text=True,
            check=True,
        )
        reply = json.loads(answer.stdout.splitlines()[-1])
        foreign.append(reply["seconds"])
    made["AugLy 1.0.0"], best["AugLy 1.0.0"] = reply["made"], min(foreign)
    return {
        "machine": machine(),
        "sentences": len(texts),
        "systems": {
            name: {**quality(made[name], items), "sentences_per_second": len(texts) / best[name]} for name in made
        },
    }


def table(result: dict[str, object]) -> str:
    """Format the figures as a Markdown table."""
    lines = [
        "| system | exact | BLEU | ROUGE-2 | Levenshtein | sentences/s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, row in result["systems"].items():
        lines.append(
            f"| {name} | {row['exact']:.1%} | {row['bleu']:.1f} | {row['rouge_2']:.1f} | {row['levenshtein']:.2f} | "
            f"{row['sentences_per_second']:,.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--augly", required=True, help="path of Python in an environment with AugLy")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="save the figures to perf/results")
    arguments = parser.parse_args()
    result = measure(arguments.augly, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
