"""Measure how often rewriting a text changes its labelled mentions of people, and other uses of the same words.

    FAIRLAB_DATA=... python -m experiments.rewriting.mentions.measure

A mention counts as changed if rewriting the whole text to either of two attributes (for gender, also to neutral)
changes a word of the mention. The rules and, on axes with a judge, the rules without the judge are measured on the same
rows.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.rewriting.mentions.labels import DOUBT, PASSAGES, PERSON, TEST_SEEDS, Labelled, read_labels
from fairlab.files import write_whole
from fairlab.lexicons import Lexicon, load_lexicon
from fairlab.rewriting.english.rules import RuleRewriter

RECORD = Path(__file__).parent / "record.json"
TARGETS = {
    "gender": ("man", "woman", "neutral"),
    "race": ("asian", "black"),
    "age": ("senior", "child"),
    "religion": ("muslim", "christian"),
    "nationality": ("brazilian", "french"),
    "disability": ("blind", "deaf"),
}
TOKEN = re.compile(r"\w+|[^\w\s]")


def is_turned(sentence: str, made: str, start: int, end: int) -> bool:
    """Return whether any word of a span is changed in the rewritten sentence."""
    tokens, others = list(TOKEN.finditer(sentence)), TOKEN.findall(made)
    blocks = difflib.SequenceMatcher(None, [one[0] for one in tokens], others, autojunk=False).get_matching_blocks()
    kept = {place for block in blocks for place in range(block.a, block.a + block.size)}
    return any(place not in kept for place, one in enumerate(tokens) if one.start() < end and one.end() > start)


def turned(mentions: Sequence[Labelled], rewriter: RuleRewriter) -> list[bool]:
    """Return whether a rewriter changes each mention for at least one target."""
    sentences = [one.sentence for one in mentions]
    found = [False] * len(mentions)
    for target in TARGETS[rewriter.vocabulary.lexicon.axis]:
        made = rewriter.rewrite_all(sentences, [target] * len(sentences))
        found = [
            held or is_turned(one.sentence, new, one.start, one.end)
            for held, one, new in zip(found, mentions, made, strict=True)
        ]
    return found


def rates(mentions: Sequence[Labelled], lexicon: Lexicon) -> dict[str, list[int]]:
    """Return the number of changed mentions and of all mentions, for people and for other uses."""
    hits = turned(mentions, RuleRewriter(lexicon))
    of = {name: [hit for hit, one in zip(hits, mentions, strict=True) if (one.label == PERSON) == wanted]
          for name, wanted in (("people", True), ("other", False))}  # fmt: skip
    return {name: [sum(own), len(own)] for name, own in of.items()}


def part_of(one: Labelled) -> str:
    """Return the part of the record to which a mention belongs."""
    if one.seed not in TEST_SEEDS:
        return "training draws"
    return "test passages" if one.seed == PASSAGES else "test sentences"


def measure() -> dict[str, Any]:
    """Return the rates by part of the record, kind of word and way of rewriting."""
    found: dict[str, Any] = {}
    mentions = [one for one in read_labels() if one.label != DOUBT]
    for part in ("training draws", "test sentences", "test passages"):
        rows = [one for one in mentions if part_of(one) == part]
        for kind in dict.fromkeys(one.kind for one in rows):
            some = [one for one in rows if one.kind == kind]
            lexicon = load_lexicon(some[0].axis)
            ways = {"now": lexicon, **({"rules": replace(lexicon, judged=())} if lexicon.judged else {})}
            found.setdefault(part, {})[kind] = {way: rates(some, words) for way, words in ways.items()}
    return found


if __name__ == "__main__":
    write_whole(RECORD, json.dumps(measure()) + "\n")
    print(RECORD.read_text(encoding="utf-8"))
