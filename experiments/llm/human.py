"""Count how many versions of sentences equal the versions that people wrote.

    python -m experiments.llm.human write TEXTS.jsonl          # the sentences, to be given to fairlab.augment
    python -m experiments.llm.human score FOLDER... OUT.json   # output folders with augmentation.filter=keep

The sentences are the held-out ones of Winogender, alternating between the man's and the woman's version, and the pairs
of :func:`experiments.rewriting.sets.crows`, alternating between the man's and the woman's side. Only counts are
written.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from experiments.llm.compare import versions
from experiments.rewriting.sets import crows, winogender
from fairlab.files import write_whole
from fairlab.types import NEUTRAL

ATTRIBUTES = ("man", "woman")


class Human(NamedTuple):
    """Sentence with its attribute, and its other versions as written by people."""

    id: str
    text: str
    attribute: str
    references: dict[str, str]


def sentences() -> Iterator[Human]:
    """Yield all sentences. An id begins with the name of the sentence's set."""
    for number, group in enumerate(winogender()["held out"]):
        source = ATTRIBUTES[number % 2]
        others = {name: group.versions[name] for name in (NEUTRAL, *ATTRIBUTES) if name != source}
        yield Human(f"winogender {number}", group.versions[source], source, others)
    both = [one for part in crows().values() for one in part]
    pairs = list(zip(both[::2], both[1::2], strict=True))
    for number, pair in enumerate(pairs):
        source = ATTRIBUTES[number % 2]
        (one,) = (side for side in pair if side.target != source)
        yield Human(f"crows {number}", one.source, source, {one.target: one.expected})


def scored(folder: Path) -> dict[str, list[int]]:
    """Count the versions that equal the human reference, and all versions, by set, source and version."""
    made = versions(folder)
    right, asked = Counter[str](), Counter[str]()
    for one in sentences():
        for name, reference in one.references.items():
            key = f"{one.id.split()[0]}: {one.attribute} to {name}"
            asked[key] += 1
            right[key] += made.get(one.id, {}).get(name) == reference
    return {key: [right[key], asked[key]] for key in asked}


if __name__ == "__main__":
    if sys.argv[1] == "write":
        lines = [json.dumps({"id": one.id, "text": one.text}, ensure_ascii=False) + "\n" for one in sentences()]
        write_whole(Path(sys.argv[2]), "".join(lines))
    else:
        *folders, out = map(Path, sys.argv[2:])
        write_whole(out, json.dumps({folder.name: scored(folder) for folder in folders}, indent=1) + "\n")
