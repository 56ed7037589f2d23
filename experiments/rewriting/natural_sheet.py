"""Sample natural sentences and passages that the rules perturb, to be read one by one; a sheet stores the verdicts.

    FAIRLAB_DATA=... python -m experiments.rewriting.natural_sheet draw --seed 6106 --axis race   # a new sample
    FAIRLAB_DATA=... python -m experiments.rewriting.natural_sheet changed   # rewrites that differ from those read

The sources are those of the labelled mentions. They contribute in turn, so each has the same number of rows as long as
it has texts with a word of the axis. A word and a target are sampled uniformly for each text, as in algorithm 1 of Qian
et al. 2022. Texts that were labelled or read before are left out. Because not all sources may be stored, the sheet
contains the location of a text and hashes instead of its text.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.rewriting.mentions.draw import SOURCES, digest, drawn_before, passages, sentences
from experiments.shared.compressed_sheets import rows_of
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.group_rewriters import RuleGroups
from fairlab.rewriting.perturbable_words import PerturbableWords
from fairlab.text.sentences import sentence_spans
from fairlab.types import FairlabError

SHEET = Path(__file__).parent / "natural_sheet.csv.xz"
AXES = ("race", "age", "gender", "religion", "nationality", "disability")
SEEDS = {"sentences": 6101, "passages": 6102}  # rows that were drawn before the corrections
AFTER = {"sentences, corrected rules": 6103}  # rows that were drawn after them
SECOND = {"sentences, second draw": 6104, "passages, second draw": 6105}  # rows with all words and corrections
PER_SOURCE, BATCH = 3000, 8  # maximum number of texts searched per source, and number of texts rewritten together
ALL = {"disability"}  # axes with so few words that every text is searched
WRONG, DOUBT = "wrong", "doubt"
UNCHANGED, SAME = "unchanged", "same"  # what the former rules made of a text, if not a verdict on another rewrite
Row = dict[str, Any]


def draw(seed: int, axis: str, rows: int, known: frozenset[str], *, in_passages: bool = False) -> list[Row]:
    """Sample texts that the rules change, with a word and a target each.

    Args:
        seed: Random seed.
        axis: Axis of the words.
        rows: Number of texts.
        known: Hashes of sentences and passages that were read before.
        in_passages: Whether to sample passages instead of sentences.
    """
    lexicon = load_lexicon(axis)
    words, rewriter = PerturbableWords([lexicon]), RuleGroups(lexicon=lexicon)
    queues = []
    for source in SOURCES:
        generator = random.Random(f"{seed} {axis} {source}")
        texts = list((passages if in_passages else sentences)(source))
        generator.shuffle(texts)
        some = [one for one in (texts if axis in ALL else texts[:PER_SOURCE]) if not _is_known(one[1], known)]
        queues.append(_changed({"axis": axis, "source": source}, some, generator, words, rewriter))
    random.Random(f"{seed} {axis}").shuffle(queues)
    found: dict[str, Row] = {}
    while queues and len(found) < rows:
        for queue in list(queues):
            row = next((one for one in queue if one["text"] not in found), None)
            if row is None:
                queues.remove(queue)
            elif len(found) < rows:
                found[row["text"]] = row
    return list(found.values())


def _changed(
    place: Row,
    texts: list[tuple[int, str]],
    generator: random.Random,
    words: PerturbableWords,
    rewriter: RuleGroups,
) -> Iterator[Row]:
    """Yield the texts of a source that the rules change, each with its record, its word and its rewrite."""
    for start in range(0, len(texts), BATCH):
        part = texts[start : start + BATCH]
        drawn = [generator.choice(found) if found else None for found in words.selections([one[1] for one in part])]
        chosen = [(*one, choice) for one, choice in zip(part, drawn, strict=True) if choice is not None]
        made = rewriter.rewrite_words([text for _, text, _ in chosen], [choice for *_, choice in chosen])
        for (record, text, choice), new in zip(chosen, made, strict=True):
            if new != text:
                found = {"record": record, "start": choice.start, "word": choice.word, "target": choice.target}
                yield {**place, **found, "text": text, "made": str(new)}


def _is_known(text: str, known: frozenset[str]) -> bool:
    return digest(text) in known or any(digest(text[start:end]) in known for start, end in sentence_spans(text))


def read_before() -> frozenset[str]:
    """Return the hashes of the texts that were labelled, or whose rewrites were read."""
    return frozenset(sha256 for sha256, _ in drawn_before()) | {row["sha256"] for row in read_natural()}


def read_natural() -> list[dict[str, str]]:
    """Return the rows of the sheet.

    ``unit`` is a key of :data:`SEEDS`, :data:`AFTER` or :data:`SECOND`. ``verdict`` is *right*, *doubt* or *wrong*, and
    ``kind`` the kind of error. ``words`` is *new* if the rules left the text unchanged before words were added to the
    lexicons. ``former`` is *unchanged* or *same* if the former rules left the text unchanged or rewrote it alike, and
    otherwise the verdict on their rewrite; it is empty for other rows than those of :data:`SEEDS`.
    """
    return rows_of(SHEET)


def count(unit: str, axis: str) -> dict[str, Counter[str]]:
    """Return the number of rows by verdict: of all rows, of rows changed by new words, and with the former rules.

    Args:
        unit: Unit of the rows, as in :func:`read_natural`.
        axis: Axis of the rows.
    """
    rows = [row for row in read_natural() if row["unit"] == unit and row["axis"] == axis]
    former = [row["verdict"] if row["former"] == SAME else row["former"] for row in rows if row["former"]]
    return {
        "now": Counter(row["verdict"] for row in rows),
        "new words": Counter(row["verdict"] for row in rows if row["words"] == "new"),
        "former": Counter(verdict for verdict in former if verdict != UNCHANGED),
    }


def changed() -> Iterator[tuple[dict[str, str], str, str]]:
    """Yield the rows that the current rules rewrite differently, with the text and its rewrite.

    Raises:
        FairlabError: A source does not contain a text.
    """
    held = {
        (source, record, digest(text)): text
        for source in SOURCES
        for texts in (sentences, passages)
        for record, text in texts(source)
    }
    for axis in AXES:
        lexicon = load_lexicon(axis)
        words, rewriter = PerturbableWords([lexicon]), RuleGroups(lexicon=lexicon)
        for row in (row for row in read_natural() if row["axis"] == axis):
            source = SOURCES[int(row["source"])]
            text = held.get((source, int(row["record"]), row["sha256"]))
            if text is None:
                raise FairlabError(f"{source} does not hold the text {row['sha256']} of record {row['record']}")
            drawn = (int(row["start"]), row["target"])
            chosen = [one for one in words.selections([text])[0] if (one.start, one.target) == drawn]
            made = str(rewriter.rewrite_words([text], chosen)[0]) if chosen else text
            if digest(made)[:6] != row["made_sha256"]:
                yield row, text, made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("draw", "changed"))
    parser.add_argument("--seed", type=int, default=6106)
    parser.add_argument("--axis", choices=AXES)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--passages", action="store_true")
    given = parser.parse_args()
    if given.action == "draw":
        for one in draw(given.seed, given.axis, given.rows, read_before(), in_passages=given.passages):
            print(json.dumps(one, ensure_ascii=False))
    else:
        for row, text, made in changed():
            print(row["unit"], row["axis"], row["verdict"], row["kind"], f"> {row['target']}\n  {text}\n  {made}")
