"""Versions of sentences that people have written in every version: how many equal the human one.

    python -m experiments.llm.human write TEXTS.jsonl          # the sentences, to be given to fairlab.augment
    python -m experiments.llm.human score FOLDER... OUT.json   # output folders with augmentation.filter=keep

Winogender's held-out sentences, in its man's and its woman's version, and the CrowS-Pairs of
:func:`experiments.rewriting.sets.crows`, each from one side, men's and women's in turn. Only counts are written.
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
    """A sentence with its attribute, and what people wrote for other versions, by version."""

    id: str
    text: str
    attribute: str
    references: dict[str, str]


def sentences() -> Iterator[Human]:
    """All sentences; an id begins with the set they are of."""
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
    """How many versions equal the human one, of how many, by set, source and version."""
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
