"""First names with the usual gender and race of their bearers, from published counts, and names of things."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fairlab.lexicons import FOLDER, NAMES, load_lexicon
from fairlab.text.folding import fold
from fairlab.text.reading import decompressed, text_stream
from fairlab.types import FairlabError

COLUMNS = ["name", "gender", "race", "other_sense", "source"]
GENDERS = ("man", "woman", "both")
# More frequent sense of a word that is also a first name: a surname (*Scott*), a word or a brand (*Will*), a place
# (*Paris*), or nearly always another sense (*Soon*).
SENSES = ("", "surname", "word", "place", "rarely")


@dataclass(frozen=True)
class Name:
    """First name, with the usual gender and race of its bearers.

    Attributes:
        name: First name as written.
        gender: Gender of the name's bearers: ``man``, ``woman`` or ``both``.
        race: Attribute of the race lexicon; empty if it is mixed or unknown.
        other_sense: More frequent sense of the word, one of :data:`SENSES`; empty if it is mainly a name.
        source: Source of the counts, or the list that contains the name without counts.
    """

    name: str
    gender: str
    race: str
    other_sense: str
    source: str

    @property
    def is_counted(self) -> bool:
        """Return whether the name was counted or chosen by hand.

        Other names are found in texts, but never inserted.
        """
        return self.source.startswith(("census", "by hand"))


def find_name(word: str) -> Name | None:
    """Return the entry of a first name, ignoring case and accents, or None if the word is not a first name."""
    return load_names().get(fold(word))


@cache
def load_names() -> dict[str, Name]:
    """Load the first names, keyed by folded form, most frequent first.

    The file is made by ``experiments/lexicons/build.py``.
    """
    return read_names(NAMES)


def read_names(path: Path) -> dict[str, Name]:
    """Read first names from a file, keyed by folded form (lower case, without accents), in file order.

    A row may contain several names, separated by blanks.

    Raises:
        FairlabError: A column is missing, a row has too many or too few columns, a name is listed twice, or a gender,
            race or other sense is unknown.
    """
    with decompressed(path) as content, text_stream(content, newline="") as file:
        table = csv.DictReader(file)
        if list(table.fieldnames or []) != COLUMNS:
            raise FairlabError(f"{path} is not a list of names; its columns must be {', '.join(COLUMNS)}")
        known = {"gender": GENDERS, "race": ("", *load_lexicon("race").attributes), "other_sense": SENSES}
        names: dict[str, Name] = {}
        for row in table:
            if None in row or None in row.values():
                raise FairlabError(f"{path}, line {table.line_num} does not have {len(COLUMNS)} columns; fix it")
            for column, values in known.items():
                if row[column] not in values:
                    raise FairlabError(
                        f"{path}, line {table.line_num}: the {column} '{row[column]}' of {row['name']} is unknown; "
                        f"give one of {', '.join(filter(None, values))}"
                    )
            for name in row["name"].split() or [""]:
                if not name or fold(name) in names:
                    raise FairlabError(
                        f"{path}, line {table.line_num}: the name '{name}' is empty or listed twice; "
                        "fill it in, or keep one of the two"
                    )
                names[fold(name)] = Name(**{**row, "name": name})
    return names


@cache
def load_not_people() -> frozenset[str]:
    """Load names that contain a first name or a word for people but do not refer to people.

    They name companies, brands, places, storms, creative works and fictional beings.
    """
    lines = (FOLDER / "not_people.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))
