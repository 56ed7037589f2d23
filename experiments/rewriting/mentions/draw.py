"""Sample mentions in natural sentences, to be labelled one by one before any rewriter has seen them.

    FAIRLAB_DATA=... python -m experiments.rewriting.mentions.draw --seed 5703 --axis religion --rows 250

Sentences of five words or more come from 32 published sources. Each source contributes its first sixty sentences with a
word of ``candidates.yaml``, in random order. One mention is sampled from a sentence, and up to four from a passage
(``--passages``). Mentions are then taken from the sources in turn, at most a few of the same word. ``labels.csv.xz``
contains the locations of mentions, not their text.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from experiments.rewriting import natural
from experiments.rewriting.sets import published
from experiments.shared.compressed_sheets import rows_of
from fairlab.text.sentences import sentence_spans

FOLDER = Path(__file__).parent
NAMES = "gender names"  # capitalised words that are on New York City's list of first names
SAME_WORD = {"gender pronouns": 30, NAMES: 2}  # maximum number of mentions of one word, if not 14
DRAWN_AS = {"gender nouns": "genderN", "gender pronouns": "genderP", NAMES: "genderM"}  # names used in the seeds
LONGEST, PER_SOURCE = 45, 60  # maximum blanks in a sentence, and sentences or mentions per source
SHORTEST, LONGEST_PASSAGE, PER_PASSAGE = 40, 120, 4  # blanks in a passage, and mentions per passage
NOVELS = "Jane-Eyre_1260 Little-Women_514 Pride-and-Prejudice_1342 The-Adventures-of-Sherlock-Holmes_1661"
NOVELS += " The-Age-of-Innocence_541 The-Souls-of-Black-Folk_408"
Placed = tuple[int, str]  # number of a record in its source, and one of its sentences


class Found(NamedTuple):
    """Mention in a text: its axis, source, record and sentence, and its position in the sentence."""

    axis: str
    source: str
    record: int
    sentence: str
    start: int
    end: int


def in_sentences(records: Iterable[str]) -> list[Placed]:
    """Return the sentences of records that have five words or more, but at most :data:`LONGEST` blanks."""
    found = []
    for number, text in enumerate(records):
        sentences = [text[start:end] for start, end in sentence_spans(text)]
        found += [(number, one) for one in sentences if 4 <= one.count(" ") <= LONGEST]
    return found


def in_passages(records: Iterable[str]) -> list[Placed]:
    """Return consecutive passages of records, of two or more sentences each.

    A passage ends as soon as it has :data:`SHORTEST` blanks. It is dropped if it has more than :data:`LONGEST_PASSAGE`.
    """
    found = []
    for number, text in enumerate(records):
        first, held = None, 0
        for start, end in sentence_spans(text):
            first, held = start if first is None else first, held + 1
            passage = text[first:end]
            if held > 1 and passage.count(" ") >= SHORTEST:
                if passage.count(" ") <= LONGEST_PASSAGE:
                    found.append((number, passage))
                first, held = None, 0
    return found


def table(path: str, column: str) -> list[str]:
    """Return a column of a published CSV file."""
    with published(path).open(encoding="utf-8", errors="replace", newline="") as file:
        return [row[column] or "" for row in csv.DictReader(file)]


def files(folder: str, pattern: str) -> list[Path]:
    """Return the files in a folder of the published data, sorted by name."""
    return sorted((Path(os.environ.get("FAIRLAB_DATA", "")) / folder).glob(pattern))


def lines_of(folder: str, pattern: str) -> Iterator[Any]:
    """Yield the objects in JSON Lines files."""
    for path in files(folder, pattern):
        yield from (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def _moderation() -> Iterator[str]:
    with gzip.open(published("openai_moderation/samples-1680.jsonl.gz"), "rt", encoding="utf-8") as lines:
        yield from (json.loads(line)["prompt"] for line in lines if '"S3"' not in line)


def _adversarial() -> Iterator[str]:
    sets = json.loads(published("adv_glue/dev_ann.json").read_text(encoding="utf-8"))
    for row in (row for rows in sets.values() for row in rows):
        yield row.get("sentence") or row.get("premise") or row.get("question1") or ""


def _religions() -> Iterator[str]:
    groups = json.loads(published("corpora/bold_wikipedia/religious_ideology_wiki.json").read_text(encoding="utf-8"))
    yield from (text for group in groups.values() for texts in group.values() for text in texts)


def _olid() -> list[str]:
    lines = published("olid/olid-training-v1.0.tsv").read_text(encoding="utf-8", errors="replace").split("\n")[1:]
    return [line.split("\t")[1] for line in lines if line.count("\t") > 1]


def _records(source: str) -> list[str]:
    """Return the records of a source that :mod:`experiments.rewriting.natural` does not read.

    Line breaks are replaced by blanks.
    """
    if source.startswith("corpora/novels"):
        parts: Iterable[str] = re.split(r"\n\s*\n", published(source).read_text(encoding="utf-8", errors="replace"))
    else:
        parts = OTHERS[source]()
    return [re.sub(r"\s+", " ", re.sub(r"<br ?/?>", " ", part)).strip() for part in parts]


OTHERS: dict[str, Any] = {
    "corpora/state_union": lambda: (
        line
        for path in files("corpora/state_union", "*.txt")
        for line in path.read_bytes().decode("utf-8", "replace").split("\n")
    ),
    "bias_in_bios": lambda: (
        text for path in files("bias_in_bios", "*.csv") for text in table(f"bias_in_bios/{path.name}", "hard_text")
    ),
    "gap/gap-validation.tsv": lambda: (
        line.split("\t")[1] for line in published("gap/gap-validation.tsv").read_text(encoding="utf-8").splitlines()[1:]
    ),
    "openai_moderation": _moderation,
    "olid": _olid,
    "hate_speech_offensive": lambda: table("hate_speech_offensive/labeled_data.csv", "tweet"),
    "vitaminc": lambda: (row["evidence"] for row in lines_of("vitaminc", "*.jsonl")),
    "fool_me_twice": lambda: (
        one["text"] for row in lines_of("fool_me_twice", "*.jsonl") for one in row["gold_evidence"]
    ),
    "corpora/bold_wikipedia/religious_ideology_wiki.json": _religions,
    "adv_glue": _adversarial,
}
SOURCES = (*natural.SOURCES, *(f"corpora/novels/{name}.txt" for name in NOVELS.split()), *OTHERS)


@cache
def sentences(source: str) -> list[Placed]:
    """Return the sentences of a source, each with the number of its record."""
    if source in natural.SOURCES:
        return [one for one in natural.sentences(source) if one[1].count(" ") <= LONGEST]
    return in_sentences(_records(source))


@cache
def passages(source: str) -> list[Placed]:
    """Return the passages of a source, each with the number of its record."""
    return in_passages(natural.records(source) if source in natural.SOURCES else _records(source))


def mentions(axis: str, sentence: str) -> list[tuple[int, int]]:
    """Return the spans of words in a sentence that may refer to people of an axis."""
    if axis == NAMES:
        found = re.finditer(r"(?<![\w.'’-])[A-Z][a-zé]+(?![\w])", sentence)
        return [match.span() for match in found if match.start() and match[0] in _first_names()]
    return [match.span() for match in _pattern(axis).finditer(sentence)]


@cache
def _pattern(axis: str) -> re.Pattern[str]:
    words = yaml.safe_load((FOLDER / "candidates.yaml").read_text(encoding="utf-8"))[axis]
    return re.compile(rf"(?<![\w])(?:{'|'.join(words)})(?![\w])", re.I)


@cache
def _first_names() -> frozenset[str]:
    return frozenset(name.title() for name in table("names/Popular_Baby_Names.csv", "Child's First Name"))


def draw(
    seed: int, rows: dict[str, int], known: frozenset[tuple[str, int]] = frozenset(), *, in_passages: bool = False
) -> list[Found]:
    """Sample new mentions.

    Args:
        seed: Random seed.
        rows: Number of mentions to sample, by axis.
        known: Text hash and start of each mention that was sampled before.
        in_passages: Whether to sample from passages, up to :data:`PER_PASSAGE` mentions from each, instead of
            sentences.
    """
    texts = passages if in_passages else sentences
    pools: dict[str, dict[str, list[Found]]] = {axis: {} for axis in rows}
    for source in SOURCES:
        rng = random.Random(f"{seed} {source}")
        some = list(texts(source))
        rng.shuffle(some)
        for record, text in some:
            for axis, pool in pools.items():
                held = pool.setdefault(source, [])
                if len(held) >= PER_SOURCE:
                    continue
                spans = [span for span in mentions(axis, text) if (digest(text), span[0]) not in known]
                if spans:
                    chosen = rng.sample(spans, min(PER_PASSAGE, len(spans))) if in_passages else [rng.choice(spans)]
                    held += [Found(axis, source, record, text, *span) for span in chosen]
    return [one for axis in rows for one in _take_in_turn(seed, axis, rows[axis], pools[axis])]


def _take_in_turn(seed: int, axis: str, rows: int, pool: dict[str, list[Found]]) -> list[Found]:
    """Take up to ``rows`` mentions of an axis from the sources in turn."""
    queues, seen, found = [list(held) for held in pool.values()], Counter[str](), list[Found]()
    name = DRAWN_AS.get(axis, axis)
    random.Random(f"{seed} {name}").shuffle(queues)
    while len(found) < rows and any(queues):
        for queue in queues:
            while queue:
                one = queue.pop()
                word = one.sentence[one.start : one.end].lower()
                if seen[word] < SAME_WORD.get(axis, 14):
                    seen[word] += 1
                    found.append(one)
                    break
            if len(found) >= rows:
                break
    random.Random(f"{seed} order {name}").shuffle(found)
    return found


def digest(sentence: str) -> str:
    """Return the hash that identifies a labelled sentence."""
    return hashlib.sha256(sentence.encode()).hexdigest()[:8]


def drawn_before() -> frozenset[tuple[str, int]]:
    """Return the text hash and the start of every labelled mention."""
    return frozenset((row["sha256"], int(row["start"])) for row in rows_of(FOLDER / "labels.csv.xz"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--axis", required=True)
    parser.add_argument("--rows", type=int, default=250)
    parser.add_argument("--passages", action="store_true")
    given = parser.parse_args()
    for one in draw(given.seed, {given.axis: given.rows}, drawn_before(), in_passages=given.passages):
        around = f"{one.sentence[: one.start]}[{one.sentence[one.start : one.end]}]{one.sentence[one.end :]}"
        print(f"{one.source}\t{one.record}\t{digest(one.sentence)}\t{one.start}\t{one.end}\t{around}")
