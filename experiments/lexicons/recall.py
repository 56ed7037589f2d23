"""Measure how many first names are listed with their gender, by group and list of names; write recall.json.

    FAIRLAB_DATA=... python -m experiments.lexicons.recall

Only a listed name changes together with its pronoun. The lists are births in New York City by the mother's ethnicity,
weighted by number, and the names of BBQ, each counted once. Neither is a source of ``names.csv.xz``, except that some
names of BBQ come from Tzioumis 2018. Names by country are from the list of gender-guesser 0.4.0 (GPL, Jörg Michael),
which must be installed. It is used only for counting; no name is taken from it. Its names are weighted by their
frequency in the country, which it gives as powers of two.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

from experiments.lexicons.build import DATA
from fairlab.files import write_whole
from fairlab.lexicons.names import find_name

RECORD = Path(__file__).parent / "recall.json"
GENDERS = {"FEMALE": "woman", "MALE": "man", "F": "woman", "M": "man"}


def births() -> dict[str, Counter[tuple[str, str]]]:
    """Return the number of births of every name and gender, by ethnicity."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    with (DATA / "names/Popular_Baby_Names.csv").open(encoding="utf-8", newline="") as file:
        for row in {tuple(row.items()) for row in csv.DictReader(file)}:
            cells = dict(row)
            group = cells["Ethnicity"].title().split()[0]  # every ethnicity is spelt in two ways
            key = (cells["Child's First Name"].title(), GENDERS[cells["Gender"]])
            found.setdefault(f"New York births, {group}", Counter())[key] += int(cells["Count"])
    return found


def of_bbq() -> dict[str, Counter[tuple[str, str]]]:
    """Return the first names of BBQ by ethnicity, each counted once."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    with (DATA / "bbq/vocabulary_proper_names.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["First_last"] == "first":
                found.setdefault(f"BBQ, {row['ethnicity']}", Counter())[row["Name"], GENDERS[row["gender"]]] = 1
    return found


COUNTRIES = {
    "Irish": "ireland",
    "French": "france",
    "Vietnamese": "vietnam",
    "Arabic and Persian": "arabia",
    "Spanish": "spain",
    "Portuguese": "portugal",
    "German": "germany",
    "Polish": "poland",
    "Norwegian": "norway",
    "Turkish": "turkey",
    "Indian": "india",
    "British": "great_britain",
}
FIRST_COLUMN = 30  # column in gender-guesser's list of the frequency in the first country, a hexadecimal digit


def of_countries() -> dict[str, Counter[tuple[str, str]]]:
    """Return gender-guesser's names by country, weighted by frequency.

    Only names whose bearers are mostly men or mostly women are included.
    """
    from gender_guesser import detector  # type: ignore[import-not-found]

    columns = {group: FIRST_COLUMN + detector.Detector.COUNTRIES.index(name) for group, name in COUNTRIES.items()}
    found: dict[str, Counter[tuple[str, str]]] = {f"country, {group}": Counter() for group in columns}
    listed = (Path(detector.__file__).parent / "data/nam_dict.txt").read_text(encoding="utf-8")
    for line in filter(None, listed.split("\n")):
        gender = None if line[:1] in "#=" else GENDERS.get(line.split()[0].strip("1?"))
        name = "" if gender is None else line.split()[1].replace("+", "-")
        for group, column in columns.items() if gender and "<" not in name else ():
            if line[column : column + 1].strip(" $\r"):
                found[f"country, {group}"][name, gender] = 2 ** int(line[column], 16)
    return found


def known(name: str, gender: str, *, counted: bool = False) -> bool:
    """Return whether a name is listed as a first name of its gender.

    With ``counted``, names without counts, which come from packages such as Faker, are ignored.
    """
    found = find_name(name)
    if found is None or (counted and not found.is_counted):
        return False
    return found.other_sense != "rarely" and found.gender in (gender, "both")


def main() -> None:
    """Measure the recall of every group, and write the record."""
    record = {}
    for group, names in sorted({**births(), **of_bbq(), **of_countries()}.items()):
        held, before = (
            sum(count for (name, gender), count in names.items() if known(name, gender, counted=counted))
            for counted in (False, True)
        )
        total = names.total()
        record[group] = {
            "names": len(names),
            "bearers": total,
            "recall": round(held / total, 6),
            "without Faker": round(before / total, 6),
        }
    write_whole(RECORD, json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
