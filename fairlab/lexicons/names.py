"""First names with the gender and race of nearly all who bear them, from published counts; and names of no person."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fairlab.lexicons import FOLDER, NAMES, load_lexicon
from fairlab.text.folding import fold
from fairlab.types import FairlabError

COLUMNS = ["name", "gender", "race", "other_sense", "source"]
GENDERS = ("man", "woman", "both")
# What a word is more often than a first name: a surname (*Scott*), a word or a brand (*Will*), a place (*Paris*), or
# nearly always something else (*Soon*).
SENSES = ("", "surname", "word", "place", "rarely")


@dataclass(frozen=True)
class Name:
    """A first name.

    Attributes:
        name: the first name as written.
        gender: gender of the name's bearers: ``man``, ``woman`` or ``both``.
        race: an attribute of the race lexicon, or empty where its bearers share none or it is not known.
        other_sense: what the word is more often, one of :data:`SENSES`; empty where it is a name.
        source: where the counts come from; or the list that holds it, without counts.
    """

    name: str
    gender: str
    race: str
    other_sense: str
    source: str

    @property
    def is_counted(self) -> bool:
        """Whether its bearers were counted, or it was chosen by hand; other names are found, but stand for none."""
        return self.source.startswith(("census", "by hand"))


def find_name(word: str) -> Name | None:
    """Return the first name that a word is, whatever its case and accents; None where it is none."""
    return load_names().get(fold(word))


@cache
def load_names() -> dict[str, Name]:
    """First names by folded form, most frequent first; the file is made by ``experiments/lexicons/build.py``."""
    return read_names(NAMES)


def read_names(path: Path) -> dict[str, Name]:
    """First names of a file by folded form, in file order.

    Raises:
        FairlabError: a column is missing, a row has more or fewer, a name stands twice, or a gender, race or other
            sense is not known.
    """
    with path.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        if list(table.fieldnames or []) != COLUMNS:
            raise FairlabError(f"{path} is no list of names; its columns must be {', '.join(COLUMNS)}")
        known = {"gender": GENDERS, "race": ("", *load_lexicon("race").attributes), "other_sense": SENSES}
        names: dict[str, Name] = {}
        for row in table:
            if None in row or None in row.values():
                raise FairlabError(f"{path}, line {table.line_num} does not hold {len(COLUMNS)} columns; mend it")
            for column, values in known.items():
                if row[column] not in values:
                    raise FairlabError(
                        f"{path}, line {table.line_num}: the {column} '{row[column]}' of {row['name']} is not known; "
                        f"give one of {', '.join(filter(None, values))}"
                    )
            if not row["name"] or fold(row["name"]) in names:
                raise FairlabError(
                    f"{path}, line {table.line_num}: the name '{row['name']}' is empty or stands twice; "
                    "keep one line of it"
                )
            names[fold(row["name"])] = Name(**row)
    return names


@cache
def load_not_people() -> frozenset[str]:
    """Names of firms, brands, places, storms, works and beings that hold a first name or a word for people."""
    lines = (FOLDER / "not_people.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))
