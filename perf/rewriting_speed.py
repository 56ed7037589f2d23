"""Speed of rule-based rewriting with syntax, compared with a plain way that parses every sentence with spaCy.

The plain way uses spaCy in its default configuration, including entity recognition, without fairlab's optimisations.
Sentences are sampled from sixteen published sources, the same number from each. They are rewritten to one attribute of
an axis, either as a whole or for one person. Time is CPU time on one thread, as the median of interleaved repeats. Both
ways must give the same texts. The lexical mode does not parse, so only its own speed is reported.

    FAIRLAB_DATA=... python perf/rewriting_speed.py [--each 60] [--repeats 3] [--write]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import spacy

from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.edits import fitted_edits
from fairlab.rewriting.english.everybody import WholeText
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.syntax import Syntax
from fairlab.rewriting.perturbable_words import PerturbableWords
from fairlab.text.folding import unaccented
from fairlab.text.pipeline import MODELS, load_pipeline
from harness import machine, results

sys.path.insert(0, str(Path(__file__).parents[1]))
from experiments.rewriting.natural import SOURCES, sentences

RESULTS = results("rewriting_speed")
TARGETS = {"gender": "woman", "race": "black", "age": "senior"}


@cache
def load_plain_spacy() -> Any:
    """Load spaCy's model with the components that the rules need, without fairlab's optimisations."""
    name = next(name for name in MODELS if spacy.util.is_package(name))
    return spacy.load(name, exclude=["lemmatizer", "attribute_ruler", "senter"])


def rewrite_plainly(rewriter: RuleRewriter, texts: Sequence[str], target: str) -> list[str]:
    """Rewrite texts in the plain way, by parsing all of them."""
    choice, made = WholeText(target), []
    views = [read_cased(text) for text in texts]
    docs = load_plain_spacy().pipe((unaccented(view.text) for view in views), batch_size=64)
    for view, doc in zip(views, docs, strict=True):
        text, syntax = view.text, Syntax(doc)
        turned = choice(rewriter.finder.find(text, syntax), text, syntax)
        made.append(view.write(fitted_edits(text, rewriter.edits(text, syntax, turned))))
    return made


def ways(texts: Sequence[str]) -> dict[str, tuple[int, Callable[[], list[str]], Callable[[], list[str]]]]:
    """Return, for each task, the number of texts, the plain way and fairlab's way."""
    found: dict[str, tuple[int, Callable[[], list[str]], Callable[[], list[str]]]] = {}
    for axis, target in TARGETS.items():
        rewriter = RuleRewriter(load_lexicon(axis))
        goals = [target] * len(texts)
        found[f"{axis}, whole text to {target}"] = (
            len(texts),
            lambda one=rewriter, to=target: rewrite_plainly(one, texts, to),
            lambda one=rewriter, to=goals: one.rewrite_all(texts, to),
        )
    rewriter = RuleRewriter(load_lexicon("gender"))
    drawn = zip(texts, PerturbableWords([load_lexicon("gender")]).selections(texts), strict=True)
    chosen = [(text, [(some[0].start, some[0].target)]) for text, some in drawn if some]
    own, selections = [text for text, _ in chosen], [some for _, some in chosen]
    found["gender, one person, texts with a word alone"] = (
        len(own),
        lambda: rewriter.rewrite_entities(
            own, selections, list(load_plain_spacy().pipe((read_cased(text).text for text in own), batch_size=64))
        ),
        lambda: rewriter.rewrite_entities(own, selections),
    )
    return found


def lexical_ways(texts: Sequence[str]) -> dict[str, Callable[[], list[str]]]:
    """Return, for each task, a function that rewrites in the lexical mode."""
    rewriters = {axis: RuleRewriter(load_lexicon(axis), mode="lexical") for axis in TARGETS}
    return {
        f"lexical, {axis}, whole text to {target}": partial(rewriters[axis].rewrite_all, texts, [target] * len(texts))
        for axis, target in TARGETS.items()
    }


def measure(each: int, repeats: int) -> dict[str, Any]:
    """Measure the texts per second of CPU time for both ways, and check whether the results are equal."""
    texts = [text for source in SOURCES for _, text in random.Random(source).sample(sentences(source), each)]
    load_pipeline()
    found = {}
    for name, (number, plain, ours) in ways(texts).items():
        equal = plain() == ours()  # this is also the warm-up
        seconds: dict[str, list[float]] = {"plain": [], "ours": []}
        for _ in range(repeats):
            for way, run in (("plain", plain), ("ours", ours)):
                started = time.process_time()
                run()
                seconds[way].append(time.process_time() - started)
        ratios = [one / other for one, other in zip(seconds["plain"], seconds["ours"], strict=True)]
        found[name] = {
            "texts": number,
            "plain": number / statistics.median(seconds["plain"]),
            "ours": number / statistics.median(seconds["ours"]),
            "ratio": statistics.median(ratios),
            "ratios": [min(ratios), max(ratios)],
            "equal": equal,
        }
    lexical = {}
    for name, run in lexical_ways(texts).items():
        run()  # warm-up, which builds lookup tables
        times = []
        for _ in range(max(repeats, 5)):
            started = time.process_time()
            run()
            times.append(time.process_time() - started)
        lexical[name] = {"texts": len(texts), "ours": len(texts) / statistics.median(times)}
    return {"machine": machine(), "repeats": repeats, "ways": found, "lexical": lexical}


def table(record: dict[str, Any]) -> str:
    """Format the figures as Markdown."""
    rows = [["rewriting", "texts", "plain, texts/s", "ours, texts/s", "speedup", "equal results"], ["---"] * 6]
    for name, one in record["ways"].items():
        low, high = one["ratios"]
        ratio = f"{one['ratio']:.1f} ({low:.1f} to {high:.1f})"
        same = "yes" if one["equal"] else "no"
        rows.append([name, str(one["texts"]), f"{one['plain']:,.0f}", f"{one['ours']:,.0f}", ratio, same])
    for name, one in record.get("lexical", {}).items():
        rows.append([name, str(one["texts"]), "", f"{one['ours']:,.0f}", "", ""])
    where = f"{record['machine']['processor']}, one thread, medians of {record['repeats']} interleaved repeats."
    return "\n".join([where, "", *(f"| {' | '.join(row)} |" for row in rows)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=60, help="number of sentences per source")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    record = measure(given.each, given.repeats)
    print(table(record))
    if given.write:
        write_whole(RESULTS, json.dumps(record, indent=2) + "\n")
