"""First names with the gender and race of nearly all who bear them, from published counts."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from fairlab.lexicons import NAMES


@dataclass(frozen=True)
class Name:
    """A first name.

    Attributes:
        name: the first name as written.
        gender: gender of the name's bearers: ``man``, ``woman`` or ``both``.
        race: an attribute of the race lexicon, or empty where its bearers share none or it is not known.
        other_sense: whether the word is more often something else (``Will``, ``Paris``, ``Jackson``).
        source: where the counts come from.
    """

    name: str
    gender: str
    race: str
    other_sense: bool
    source: str


@cache
def load_names() -> dict[str, Name]:
    """First names by case-folded form, most frequent first; the file is made by ``experiments/lexicons/build.py``."""
    with NAMES.open(encoding="utf-8", newline="") as file:
        rows = [
            Name(row["name"], row["gender"], row["race"], row["other_sense"] == "yes", row["source"])
            for row in csv.DictReader(file)
        ]
    return {row.name.casefold(): row for row in rows}
