"""Sample natural sentences that the rules perturb, to be read one by one; a sheet stores the verdicts.

    FAIRLAB_DATA=... python -m experiments.rewriting.natural                 # sample, and keep earlier verdicts
    FAIRLAB_DATA=... python -m experiments.rewriting.natural --show race     # print the rows of an axis for reading

The same number of sentences is sampled from every source. Of those with a word of the axis, a hundred are kept. A word
and a target are sampled uniformly for each, as in algorithm 1 of Qian et al. 2022. Because not all sources may be
stored, the sheet contains the location of a sentence and hashes instead of its text. A verdict is valid for the rewrite
whose hash is in the same row.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.rewriting.labelled import AXES, share
from experiments.rewriting.sets import published
from fairlab.files import replaced_when_written
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.group_rewriters import RuleGroups
from fairlab.rewriting.perturbable_words import PerturbableWords
from fairlab.text.sentences import sentence_spans

SHEET = Path(__file__).parent / "natural.csv.gz"
EARLIER = Path(__file__).parent / "earlier_sheets"  # AXIS_SEED.csv.gz, read before the last change of the rules
SEEDS = {"race": 5011, "age": 5002, "gender": 7401}  # other seeds were used to improve the rules
ROWS, PER_SOURCE = 100, 900
COLUMNS = ["axis", "source", "line", "sha256", "word", "target", "made_sha256", "verdict", "reason"]
# For each file, where its sentences are.
SOURCES = {
    "glue/CoLA/dev.tsv": "column 3",
    "sst2/dev.tsv": "column 0",
    "glue/RTE/dev.tsv": "column 1",
    "glue/MRPC/dev.tsv": "column 3",
    "glue/QNLI/dev.tsv": "column 2",
    "glue/STS-B/dev.tsv": "column 7",
    "glue/SNLI/validation.tsv": "column 0",
    "glue/MNLI/dev.json": "text_a",
    "glue/QQP/dev.json": "text_a",
    "corpora/newstest/newstest2012.en": "column 0",
    "corpora/abc_news/rural.txt": "column 0",
    "corpora/rt_polarity/rt-polarity.pos": "column 0",
    "corpora/imdb_sample/imdb_test_sample.jsonl": "text",
    "fever/paper_dev.jsonl": "claim",
    "corpora/bold_wikipedia/race_wiki.json": "nested",
    "corpora/bold_wikipedia/gender_wiki.json": "nested",
}


def sentences(source: str) -> list[tuple[int, str]]:
    """Return every sentence of five words or more, with the number of its record."""
    return [
        (number, record[start:end])
        for number, record in enumerate(records(source))
        for start, end in sentence_spans(record)
        if record[start:end].count(" ") >= 4
    ]


def records(source: str) -> list[str]:
    """Return the records of a source, with line breaks replaced by blanks."""
    kind, path = SOURCES[source], published(source)
    text = path.read_text(encoding="utf-8", errors="replace")
    return [re.sub(r"\s+", " ", one.replace("<br />", " ")).strip() for one in _records(kind, text, path.suffix)]


def _records(kind: str, text: str, suffix: str) -> Iterator[str]:
    if kind.startswith("column"):
        cells = (line.split("\t") for line in text.splitlines())
        yield from (row[int(kind[-1])] for row in cells if len(row) > int(kind[-1]))
    elif suffix == ".jsonl":
        yield from (json.loads(line)[kind] for line in text.splitlines() if line)
    elif kind == "nested":
        yield from (one for group in json.loads(text).values() for texts in group.values() for one in texts)
    else:
        yield from (row[kind] for row in json.loads(text).values())


def draw(axis: str, seed: int | None = None) -> list[dict[str, str]]:
    """Sample the rows of an axis, with their texts and rewrites but without verdicts."""
    seed = SEEDS[axis] if seed is None else seed
    pool = []
    for source in SOURCES:
        found = sentences(source)
        chosen = random.Random(f"{seed} {source}").sample(found, min(PER_SOURCE, len(found)))
        pool += [(source, number, text) for number, text in chosen]
    lexicon = load_lexicon(axis)
    words, rewriter = PerturbableWords([lexicon]), RuleGroups(lexicon=lexicon)
    generator = random.Random(f"{seed} {axis}")
    generator.shuffle(pool)
    rows, selections, texts = [], [], []
    for start in range(0, len(pool), 500):
        part = pool[start : start + 500]
        for (source, number, text), found in zip(part, words.selections([one[2] for one in part]), strict=True):
            if found and len(rows) < ROWS:
                one = generator.choice(found)
                selections.append(one)
                texts.append(text)
                rows.append(
                    {"axis": axis, "source": source, "line": str(number), "word": one.word, "target": one.target}
                )
        if len(rows) == ROWS:
            break
    for row, text, made in zip(rows, texts, rewriter.rewrite_words(texts, selections), strict=True):
        row |= {"sha256": short_hash(text), "made_sha256": short_hash(str(made)), "text": text, "made": str(made)}
    return rows


def short_hash(text: str) -> str:
    """Return the first 16 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_sheet(path: Path = SHEET) -> list[dict[str, str]]:
    """Return the rows of a sheet, or an empty list if the file does not exist."""
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_table(path: Path, table: str) -> None:
    """Write a table to a compressed file, with the same bytes for the same table."""
    with replaced_when_written(path) as temporary:
        temporary.write_bytes(gzip.compress(table.encode(), mtime=0))


def write_sheet(rows: Sequence[dict[str, str]]) -> None:
    """Write the sheet, and keep earlier verdicts on the same rewrites."""
    known = {(row["axis"], row["sha256"], row["made_sha256"]): row for row in read_sheet()}
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for row in rows:
        given = known.get((row["axis"], row["sha256"], row["made_sha256"]), {})
        table.writerow({**row, "verdict": given.get("verdict", ""), "reason": given.get("reason", "")})
    write_table(SHEET, text.getvalue())


def verdicts() -> dict[str, Any]:
    """Return the proportion of read rewrites that are wrong, by axis."""
    rows = [row for row in read_sheet() if row["verdict"]]
    return {
        axis: share(sum(row["verdict"] == "wrong" for row in rows if row["axis"] == axis), number)
        for axis in AXES
        if (number := sum(row["axis"] == axis for row in rows))
    }


def all_verdicts() -> list[tuple[str, str, dict[str, Any]]]:
    """Return the axis, the seed and the proportion of wrong rewrites of every stored sheet, oldest first per axis."""
    found = []
    for axis in AXES:
        for path in sorted(EARLIER.glob(f"{axis}_*.csv.gz")):
            rows = read_sheet(path)
            wrong = sum(row["verdict"] == "wrong" for row in rows)
            found.append((axis, path.name.removesuffix(".csv.gz").removeprefix(f"{axis}_"), share(wrong, len(rows))))
        found.append((axis, str(SEEDS[axis]), verdicts()[axis]))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", metavar="AXIS", choices=AXES)
    parser.add_argument("--seed", type=int, help="show rows of another seed, for developing rules")
    arguments = parser.parse_args()
    if arguments.show:
        for place, row in enumerate(draw(arguments.show, arguments.seed), start=1):
            print(f"{place}. [{row['word']} > {row['target']}] {row['text']}\n   => {row['made']}")
    else:
        write_sheet([row for axis in AXES for row in draw(axis)])
