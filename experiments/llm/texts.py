"""Sample sentences with gendered words from published corpora for the language model, in disjoint parts.

    FAIRLAB_DATA=... python -m experiments.llm.texts OUT      # writes OUT/PART.jsonl for every part

Every part takes the same number of sentences from every source. A sentence has 6 to 30 words, and repeated sentences
are used once.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from experiments.rewriting.sets import published
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.metrics.polarity import Polarity
from fairlab.text.sentences import sentence_spans

SEED = 22
SHORTEST, LONGEST = 6, 30  # minimum and maximum number of words
PARTS = {"search": 8, "validation": 8, "test": 90, "more": 304}  # number of sentences per source, in sampling order
SOURCES = {
    "corpora/newstest/newstest2012.en": "lines",
    "corpora/newstest/newstest2013.en": "lines",
    "corpora/abc_news/rural.txt": "lines",
    "corpora/state_union": "folder",
    "corpora/novels": "folder",
    "corpora/bold_wikipedia/gender_wiki.json": "nested",
    "corpora/bold_wikipedia/race_wiki.json": "nested",
    "corpora/imdb_sample/imdb_test_sample.jsonl": "reviews",
}


def paragraphs(source: str, kind: str) -> Iterator[str]:
    """Yield the running text of a source, one paragraph, line or review at a time."""
    path = folder(source) if kind == "folder" else published(source)
    if kind == "folder":
        for file in sorted(path.glob("*.txt")):
            yield from file.read_text(encoding="utf-8", errors="replace").replace("\r", "").split("\n\n")
    elif kind == "lines":
        yield from path.read_text(encoding="utf-8", errors="replace").splitlines()
    elif kind == "reviews":
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)["text"].replace("<br />", " ")
    else:
        content = json.loads(path.read_text(encoding="utf-8"))
        yield from (one for group in content.values() for texts in group.values() for one in texts)


def folder(name: str) -> Path:
    """Return a folder of published data under FAIRLAB_DATA."""
    return Path(os.environ.get("FAIRLAB_DATA", "")) / name


def sentences(source: str, kind: str) -> Iterator[str]:
    """Yield the sentences of suitable length, without the publisher's notes around novels."""
    for paragraph in paragraphs(source, kind):
        text = re.sub(r"\s+", " ", paragraph).strip()
        if "Gutenberg" in text:
            continue
        for start, end in sentence_spans(text):
            if SHORTEST <= len(text[start:end].split()) <= LONGEST:
                yield text[start:end]


def draw() -> dict[str, list[dict[str, str]]]:
    """Return the rows of every part, each with ``text`` and ``source``, alternating between sources."""
    polarity = Polarity(load_lexicon("gender"))
    parts: dict[str, list[dict[str, str]]] = {name: [] for name in PARTS}
    seen = set[str]()
    chosen = dict[str, list[str]]()
    for source, kind in SOURCES.items():
        pool = sorted(set(sentences(source, kind)))
        random.Random(f"{SEED} {source}").shuffle(pool)
        chosen[source] = []
        for text in pool:
            if text.casefold() not in seen and any(polarity.counts(text).values()):
                seen.add(text.casefold())
                chosen[source].append(text)
            if len(chosen[source]) == sum(PARTS.values()):
                break
    for name, number in PARTS.items():
        for _ in range(number):
            parts[name] += [{"text": texts.pop(0), "source": source} for source, texts in chosen.items() if texts]
    return parts


def main(out: Path) -> None:
    """Write every part as a file of JSON lines."""
    for name, rows in draw().items():
        write_whole(out / f"{name}.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        print(name, len(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
