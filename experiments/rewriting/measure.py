"""Measure the rule-based rewriter against human counterfactual sentences; write record.json and the GAP sheet.

    FAIRLAB_DATA=... python experiments/rewriting/measure.py

The rules were developed on the even template lines of Winogender, every other of the 112 CrowS-Pairs, GAP's validation
file, and the bundled groups without a gold mark. Data called *held out* below was only used for measuring.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairlab.data.groups import read_groups
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.metrics.polarity import Polarity
from fairlab.metrics.significance import wilson_interval
from fairlab.rewriting.english.casing import read_cased
from fairlab.rewriting.english.coreference import Coreference
from fairlab.rewriting.english.mentions import Unaligned
from fairlab.rewriting.english.pronouns import AMBIGUOUS, POSSESSIVE, case_by_neighbours
from fairlab.rewriting.english.rules import RuleRewriter
from fairlab.rewriting.english.syntax import Syntax, parse_views
from fairlab.run.environment import environment
from fairlab.types import NEUTRAL, Group
from sets import TOKEN, Gap, crows, gap, winogender

FOLDER = Path(__file__).parent
RECORD, SHEET, ADJUDICATED = FOLDER / "record.json", FOLDER / "gap_sheet.csv.gz", FOLDER / "gap_cases.csv"
MODES = ("syntax", "lexical")
SEED, SHEET_SIZE = 0, 100


def share(hits: Sequence[bool]) -> dict[str, Any]:
    """Return the number of hits, the total, and the proportion with its 95 % Wilson interval."""
    values = zip(("share", "low", "high"), (sum(hits) / len(hits), *wilson_interval(sum(hits), len(hits))), strict=True)
    return {"count": sum(hits), "n": len(hits), **{name: round(value, 5) for name, value in values}}


def winogender_matches(rewriter: RuleRewriter, groups: Sequence[Group]) -> dict[str, Any]:
    """Return the exact matches when every version is rewritten to every other one."""
    found = {}
    for source in ("man", "woman", NEUTRAL):
        for target in ("man", "woman", NEUTRAL):
            if source != target:
                made = rewriter.rewrite_all([group.versions[source] for group in groups], [target] * len(groups))
                hits = [text == group.versions[target] for text, group in zip(made, groups, strict=True)]
                found[f"{source} to {target}"] = share(hits)
    return found


def crows_matches(mode: str, part: str) -> dict[str, Any]:
    """Return the exact matches on CrowS-Pairs, with first names kept.

    One person is selected, the whole text is rewritten, or both attributes are swapped.
    """
    rewriter = RuleRewriter(load_lexicon("gender"), mode=mode, names="keep")  # type: ignore[arg-type]
    items = [item for name, items in crows().items() for item in items if part in (name, "all")]
    texts = [item.source for item in items]
    made = {"whole text": rewriter.rewrite_all(texts, [item.target for item in items])}
    made["exchanged"] = rewriter.swap_all(texts)
    if mode == "syntax":
        made["selected person"] = rewriter.rewrite_entities(texts, [item.selected for item in items])
    return {
        name: share([text == item.expected for text, item in zip(rewritten, items, strict=True)])
        for name, rewritten in made.items()
    }


def gold_case(item: Gap) -> str:
    """Return the case of ``her`` or ``his`` from the words after it, without a parse.

    If the parse gave another case, the text was read, and its case is listed in gap_cases.csv.
    """
    decided = adjudicated().get(item.id)
    if decided:
        return decided
    after = re.match(r"(\W*)(\w*)\W*(\w*)", item.text[item.offset + len(item.pronoun) :][:80])
    assert after is not None
    return case_by_neighbours(item.pronoun.lower(), after[1], after[2].lower(), after[3].lower())


def adjudicated() -> dict[str, str]:
    """Return the cases that were decided by reading the text, by text id."""
    with ADJUDICATED.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["case"] for row in csv.DictReader(file)}


def expected_form(item: Gap) -> str:
    """Return the correct form of the labelled pronoun after rewriting, in lower case."""
    folded = item.pronoun.lower()
    if folded not in AMBIGUOUS:
        return {"he": "she", "she": "he", "him": "her", "hers": "his"}[folded]
    if folded == "his":
        return "her" if gold_case(item) == POSSESSIVE else "hers"
    return "his" if gold_case(item) == POSSESSIVE else "him"


def form_after(item: Gap, rewritten: str) -> str:
    """Return the word that replaces the pronoun, found by aligning the two texts word by word."""
    before, after = list(TOKEN.finditer(item.text)), TOKEN.findall(rewritten)
    place = next(index for index, match in enumerate(before) if match.start() <= item.offset < match.end())
    matcher = difflib.SequenceMatcher(a=[match.group() for match in before], b=after, autojunk=False)
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        if start <= place < end and end - start == new_end - new_start:
            return re.split("['’]", after[new_start + place - start])[0].lower()
    return ""


def opposite(item: Gap) -> str:
    """Return the attribute to which the text is rewritten: the one that the pronoun does not have."""
    return "woman" if item.pronoun.lower() in ("he", "him", "his") else "man"


def gap_forms(mode: str, items: Sequence[Gap]) -> dict[str, Any]:
    """Return how often the labelled pronoun takes the correct form, in all texts and for ``her`` and ``his``."""
    rewriter = RuleRewriter(load_lexicon("gender"), mode=mode)  # type: ignore[arg-type]
    made = rewriter.rewrite_all([item.text for item in items], [opposite(item) for item in items])
    hits = {item.id: form_after(item, text) == expected_form(item) for item, text in zip(items, made, strict=True)}
    return {
        "all pronouns": share(list(hits.values())),
        "her": share([hits[item.id] for item in items if item.pronoun.lower() == "her"]),
        "his": share([hits[item.id] for item in items if item.pronoun.lower() == "his"]),
    }


def chains(rewriter: RuleRewriter, texts: Sequence[str], offsets: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Return, for every text, the spans of all words for the same person as the word at an offset.

    The list is empty for a text with a word that the parser does not separate from its neighbours.

    Args:
        rewriter: Rewriter whose words and coreference are used.
        texts: Texts to search.
        offsets: Offset of the first character of each text's word.
    """
    found: list[list[tuple[int, int]]] = []
    views = [read_cased(text) for text in texts]
    for view, doc, offset in zip(views, parse_views(views), offsets, strict=True):
        try:
            syntax = Syntax(doc, rewriter.vocabulary.lexicon.people)
            mentions = rewriter.finder.find(view.text, syntax)
        except Unaligned:
            found.append([])
            continue
        people = Coreference(syntax.doc, [(m.start, m.end, m.sense.attribute) for m in mentions])
        found.append([view.span(*span) for span in people.spans(people.at(view.place(offset)))])
    return found


def gap_choices(items: Sequence[Gap]) -> dict[str, Any]:
    """Return how often coreference assigns the pronoun to the right name, in texts labelled with one of the two."""
    rewriter = RuleRewriter(load_lexicon("gender"))
    labelled = [item for item in items if any(item.meant)]
    right, decided = [], []
    texts = [item.text for item in labelled]
    for item, chain in zip(labelled, chains(rewriter, texts, [item.offset for item in labelled]), strict=True):
        chosen = tuple(any(start <= name < end for start, end in chain) for name in item.names)
        right.append(chosen == item.meant)
        if sum(chosen) == 1:
            decided.append(chosen == item.meant)
    return {"all labelled texts": share(right), "texts where exactly one of A and B is chosen": share(decided)}


def embedded_accuracy(mode: str) -> dict[str, Any]:
    """Return the results of rebuilding gold groups from one of their texts.

    These are the union polarity accuracy, and the exact matches with the human versions.
    """
    lexicon = load_lexicon("gender")
    polarity, rewriter = Polarity(lexicon), RuleRewriter(lexicon, mode=mode)  # type: ignore[arg-type]
    gold = [group for group in read_groups("embedded/people") if group.extra["gold"]]
    found: dict[str, Any] = {}
    for source in ("man", "woman", NEUTRAL):
        texts = [group.versions[source] for group in gold]
        made = {name: rewriter.rewrite_all(texts, [name] * len(texts)) for name in (NEUTRAL, "man", "woman")}
        whole = [all(polarity(made[name][index]) == name for name in made) for index in range(len(gold))]
        found[f"union polarity accuracy, from {source}"] = share(whole)
        for target in made:
            if target != source:
                same = [text == group.versions[target] for text, group in zip(made[target], gold, strict=True)]
                found[f"exact, {source} to {target}"] = share(same)
    return found


def write_sheet(items: Sequence[Gap]) -> None:
    """Write a hundred rewrites to read. Earlier verdicts on the same rewrites are kept."""
    chosen = sorted(random.Random(SEED).sample(range(len(items)), SHEET_SIZE))
    picked = [items[index] for index in chosen]
    rewriter = RuleRewriter(load_lexicon("gender"))
    made = rewriter.rewrite_all([item.text for item in picked], [opposite(item) for item in picked])
    known = {}
    if SHEET.is_file():
        with gzip.open(SHEET, "rt", encoding="utf-8", newline="") as file:
            known = {(row["id"], row["rewritten"]): (row["verdict"], row["reason"]) for row in csv.DictReader(file)}
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["id", "target", "verdict", "reason", "original", "rewritten"])
    for item, rewritten in zip(picked, made, strict=True):
        verdict = known.get((item.id, rewritten), ("", ""))
        table.writerow([item.id, opposite(item), *verdict, item.text, rewritten])
    SHEET.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def sheet_verdicts() -> dict[str, Any]:
    """Return the proportion of correct rewrites among those that were read."""
    with gzip.open(SHEET, "rt", encoding="utf-8", newline="") as file:
        verdicts = [row["verdict"] for row in csv.DictReader(file)]
    read = [verdict for verdict in verdicts if verdict]
    return {"rewrites": len(verdicts), "read": len(read), **(share([v == "right" for v in read]) if read else {})}


def measure() -> dict[str, Any]:
    """Return all results, by dataset and mode."""
    development = gap("development")
    write_sheet(development)
    parts = winogender()
    rewriters = {mode: RuleRewriter(load_lexicon("gender"), mode=mode) for mode in MODES}  # type: ignore[arg-type]
    return {
        "environment": environment(),
        "winogender": {
            part: {mode: winogender_matches(rewriter, groups) for mode, rewriter in rewriters.items()}
            for part, groups in parts.items()
        },
        "crows": {
            part: {mode: crows_matches(mode, part) for mode in MODES} for part in ("held out", "development", "all")
        },
        "gap": {
            "forms": {mode: gap_forms(mode, development) for mode in MODES},
            "choices": {
                "development file": gap_choices(development),
                "validation file": gap_choices(gap("validation")),
            },
            "sheet": sheet_verdicts(),
        },
        "embedded": {mode: embedded_accuracy(mode) for mode in MODES},
    }


if __name__ == "__main__":
    write_whole(RECORD, json.dumps(measure()) + "\n")
