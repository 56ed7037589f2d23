"""Compare the current rewriter with a former one: count the texts that they rewrite differently.

    FAIRLAB_DATA=... python -m experiments.rewriting.former made FILE       # in each checkout
    python -m experiments.rewriting.former compare FORMER_FILE PRESENT_FILE   # writes former.json

Texts are counted by axis, target and way of rewriting.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

from experiments.perturbation.pairs import corpus
from experiments.rewriting.natural import SOURCES, sentences
from fairlab.augmentation.perturbation import Perturbation
from fairlab.augmentation.rules import Rules
from fairlab.data.groups import read_groups
from fairlab.data.perturbation_pairs import silver_pairs
from fairlab.data.published.task_files import read_task
from fairlab.data.stream.choices import perturb_examples
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.biasers import BiaserRewriter
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.word_swap import WordSwap

RECORD = Path(__file__).parent / "former.json"
GOALS = {
    "gender": ("neutral", "man", "woman"),
    "race": ("black",),
    "age": ("senior", "adult"),
    "religion": ("muslim",),
    "nationality": ("french",),
}
EACH, SEED = 150, 3  # sentences per source, and seed
EXAMPLES, CORPUS = 400, 1500  # examples per task, and sentences for a perturber's pairs
Made = list[tuple[str, str]]  # texts with their rewrites


def made() -> dict[str, Made]:
    """Rewrite the texts in each way, and return the texts with their rewrites."""
    return of_uses() | of_sentences()


def of_sentences() -> dict[str, Made]:
    """Rewrite sentences sampled from the sources with each rewriter."""
    texts = [text for source in SOURCES for _, text in random.Random(SEED).sample(sentences(source), EACH)]
    found = {}
    for axis, targets in GOALS.items():
        lexicon = load_lexicon(axis)
        swap = WordSwap(lexicon)
        for target in targets:
            goals = [target] * len(texts)
            found[f"rules, {axis} to {target}"] = RuleRewriter(lexicon).rewrite_all(texts, goals)
            lexical = RuleRewriter(lexicon, mode="lexical")
            found[f"rules by neighbours, {axis} to {target}"] = lexical.rewrite_all(texts, goals)
            found[f"word swap, {axis} to {target}"] = [swap(text, target) for text in texts]
    copies = BiaserRewriter(lexicon=load_lexicon("ethnicity")).copies(texts, mentions="first")
    found["copies of biasers"] = [
        "\n".join(copy.text for copy in some) if isinstance(some, list) else "" for some in copies
    ]
    return {way: list(zip(texts, made, strict=True)) for way, made in found.items()}


def of_uses() -> dict[str, Made]:
    """Make groups for CCD, copies for fairscore, and training pairs for a perturber."""
    groups = [group for name in ("people", "short") for group in read_groups(f"embedded/{name}")]
    rebuilt = {group.id: "\n".join(group.versions.values()) for group in Rules().groups(groups)}
    found = {"groups of CCD": [(group.versions[group.source], rebuilt.get(group.id, "")) for group in groups]}
    for task, split in (("sst2", "dev"), ("rte", "dev")):
        examples = read_task(task, split, None)[:EXAMPLES]
        copies = perturb_examples(examples, Perturbation(axes=["gender", "race", "age"], sampling="uniform")).examples
        fields = [["\n".join(one.fields) for one in some] for some in (examples, copies)]
        found[f"copies of fairscore, {task}"] = list(zip(*fields, strict=True))
    for axis in ("gender", "race", "age"):
        texts = list(dict.fromkeys(corpus(axis)))[:CORPUS]
        pairs = {pair.original: pair.perturbed for pair in silver_pairs(texts, [axis], SEED)}
        found[f"pairs of the perturber, {axis}"] = [(text, pairs.get(text, text)) for text in texts]
    return found


def compared(former: dict[str, Made], present: dict[str, Made]) -> dict[str, Any]:
    """Count the texts by way of rewriting: all, those that either rewriter changes, and those changed differently."""
    found = {}
    for way, before in former.items():
        texts = [text for text, _ in before]
        assert texts == [text for text, _ in present[way]]
        pairs = [(text, old, new) for (text, old), (_, new) in zip(before, present[way], strict=True)]
        turned = sum({old, new} not in ({text}, {""}) for text, old, new in pairs)
        other = sum(old != new for _, old, new in pairs)
        found[way] = {"texts": len(texts), "turned": turned, "other": other, "share of turned": other / max(1, turned)}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("made", "compare"))
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    if given.action == "made":
        write_whole(given.files[0], json.dumps(made()))
    else:
        before, after = (json.loads(file.read_text(encoding="utf-8")) for file in given.files)
        write_whole(RECORD, json.dumps(compared(before, after), indent=2) + "\n")
