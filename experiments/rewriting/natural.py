"""Natural sentences of published sources, and sheets that store what a reader found in them."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from experiments.rewriting.sets import published
from fairlab.files import replaced_when_written
from fairlab.text.sentences import sentence_spans

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


def short_hash(text: str) -> str:
    """Return the first 16 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_sheet(path: Path) -> list[dict[str, str]]:
    """Return the rows of a sheet, or an empty list if the file does not exist."""
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_table(path: Path, table: str) -> None:
    """Write a table to a compressed file, with the same bytes for the same table."""
    with replaced_when_written(path) as temporary:
        temporary.write_bytes(gzip.compress(table.encode(), mtime=0))
