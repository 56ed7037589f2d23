"""Labelled mentions, with the sentences or passages that contain them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from experiments.rewriting.mentions.draw import SOURCES, digest, passages, sentences
from experiments.shared.compressed_sheets import rows_of
from fairlab.types import FairlabError

FILE = Path(__file__).parent / "labels.csv.xz"
PERSON, NOT, DOUBT = "person", "not", "doubt"
PASSAGES = 5801  # seed of the sample of passages
TEST_SEEDS = (5702, PASSAGES)  # samples on which no choice was based


class Labelled(NamedTuple):
    """Mention with its label, which says whether it refers to or describes people of the axis."""

    seed: int
    kind: str  # axis, and for gender the kind of word
    source: str
    sentence: str  # or passage
    start: int
    end: int
    label: str
    second: str  # label of the second reading
    reader: str  # second reader: "other model", "later" or "same", as described in the data card

    @property
    def axis(self) -> str:
        """Return the axis of the mention."""
        return self.kind.split()[0]


def read_labels() -> list[Labelled]:
    """Return all labelled mentions, in the order in which they were sampled.

    Raises:
        FairlabError: A source does not contain a labelled text.
    """
    held = {
        (source, record, digest(text)): text
        for source in SOURCES
        for texts in (sentences, passages)
        for record, text in texts(source)
    }
    found = []
    for row in rows_of(FILE):
        source = SOURCES[int(row["source"])]
        sentence = held.get((source, int(row["record"]), row["sha256"]))
        if sentence is None:
            raise FairlabError(f"{source} does not hold the text {row['sha256']} of record {row['record']}")
        span = int(row["start"]), int(row["end"])
        labels = row["label"], row["second"], row["reader"]
        found.append(Labelled(int(row["seed"]), row["axis"], source, sentence, *span, *labels))
    return found
