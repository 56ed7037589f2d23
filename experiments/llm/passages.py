"""Sample thirty passages of two or three sentences that name a nationality, to be morphed by a language model.

    FAIRLAB_DATA=... python -m experiments.llm.passages OUT.jsonl

The passages are taken from speeches, novels and reviews.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from experiments.llm.texts import SOURCES, paragraphs
from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.rewriting.biasers import BiaserRewriter
from fairlab.text.sentences import sentence_spans

SEED = 22
NUMBER = 30
WORDS = range(25, 61)
FROM = ("corpora/state_union", "corpora/novels", "corpora/imdb_sample/imdb_test_sample.jsonl")
LIKELY = re.compile(r"\b[A-Z][a-z]+(?:(?:an)s?|ese|ish|ench|man|men|iss|utch|eek)\b")  # cheap filter before parsing


def passages(source: str) -> Iterator[str]:
    """Yield the first two or three sentences of each paragraph if their length fits."""
    for paragraph in paragraphs(source, SOURCES[source]):
        text = re.sub(r"\s+", " ", paragraph).strip()
        ends = [end for _, end in sentence_spans(text)][1:3]
        fitting = [text[:end] for end in ends if len(text[:end].split()) in WORDS]
        if fitting and "Gutenberg" not in text and LIKELY.search(fitting[0]):
            yield fitting[0]


def draw() -> list[dict[str, str]]:
    """Sample the same number of passages from each source."""
    rewriter = BiaserRewriter(lexicon=load_lexicon("nationality"))
    rows: list[dict[str, str]] = []
    for source in FROM:
        pool = sorted(set(passages(source)))
        random.Random(f"{SEED} {source}").shuffle(pool)
        drawn = pool[: 10 * NUMBER]
        found = rewriter.copies(drawn, mentions="first")
        texts = [text for text, copies in zip(drawn, found, strict=True) if isinstance(copies, list) and copies][
            : NUMBER // len(FROM)
        ]
        rows += [{"text": text, "source": source} for text in texts]
    return rows


if __name__ == "__main__":
    write_whole(Path(sys.argv[1]), "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in draw()))
