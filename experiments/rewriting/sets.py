"""Datasets on which the rewriter is measured, split into development and held-out parts."""

from __future__ import annotations

import csv
import difflib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairlab.data.published.winogender import read_winogender
from fairlab.types import DataUnavailable, Group

# Third-person singular pronouns, in addition to the attribute words of bias-bench.
PRONOUNS = frozenset("he she him her his hers himself herself".split())
WORD = re.compile(r"[\w']+")
TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


def published(name: str) -> Path:
    """Return the path of a published data file under FAIRLAB_DATA."""
    path = Path(os.environ.get("FAIRLAB_DATA", "")) / name
    if not path.is_file():
        raise DataUnavailable(f"{path} is not there; set FAIRLAB_DATA to a folder that holds {name}")
    return path


def winogender() -> dict[str, list[Group]]:
    """Return the groups of Winogender by part.

    ``development`` consists of the groups of the even lines of templates.tsv (the header is line 1), ``held out`` of
    the others.
    """
    lines = published("winogender/templates.tsv").read_text(encoding="utf-8").splitlines()
    even = {(cells[0], cells[2]) for cells in (line.split("\t") for line in lines[1::2])}
    parts: dict[str, list[Group]] = {"development": [], "held out": []}
    for group in read_winogender(published("winogender/all_sentences.tsv")):
        occupation, _, answer = group.id.split(".")
        parts["development" if (occupation, answer) in even else "held out"].append(group)
    return parts


def bias_words() -> list[tuple[str, str]]:
    """Return the 57 pairs (man, woman) of bias-bench's attribute words, with titles without their full stop."""
    content = json.loads(published("word_lists/bias-bench/bias_attribute_words.json").read_text(encoding="utf-8"))
    return [(man.strip("."), woman.strip(".")) for man, woman in content["gender"]]


def partners() -> dict[str, str]:
    """Return the counterpart of each word in :func:`bias_words`, the first one for a word in several pairs."""
    found: dict[str, str] = {}
    for man, woman in bias_words():
        found.setdefault(man, woman)
        found.setdefault(woman, man)
    return found


def exchanged(text: str, partner: Mapping[str, str]) -> str:
    """Replace every word of a text that has a counterpart by this counterpart, preserving case."""

    def other(match: re.Match[str]) -> str:
        new = partner.get(match[0].lower(), match[0])
        return new.capitalize() if match[0][0].isupper() and new != match[0] else new

    return WORD.sub(other, text)


@dataclass(frozen=True)
class Rewriting:
    """Side of a sentence pair that must be rewritten to the other side.

    Attributes:
        source: Sentence to rewrite.
        expected: Other side of the pair.
        selected: Offset and target of the first differing word of each attribute, which is the word to select.
    """

    source: str
    expected: str
    selected: tuple[tuple[int, str], ...]

    @property
    def target(self) -> str:
        """Return the attribute to which the first differing word changes."""
        return self.selected[0][1]


def crows() -> dict[str, list[Rewriting]]:
    """Return the gender pairs of CrowS-Pairs that differ only in bias-bench's words and pronouns, in both directions.

    ``development`` consists of the pairs at even indices among the 112, ``held out`` of those at odd ones.
    """
    men, women = ({pair[side] for pair in bias_words()} for side in (0, 1))
    women |= {"she", "her", "hers", "herself"}
    men |= {"he", "him", "his", "himself"}
    with published("crows_pairs/crows_pairs_anonymized.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["bias_type"] == "gender"]
    pairs = [(row["sent_more"], row["sent_less"]) for row in rows]
    chosen = [pair for pair in pairs if _differ_only_in(*pair, men | women)]
    parts: dict[str, list[Rewriting]] = {"development": [], "held out": []}
    for place, (first, second) in enumerate(chosen):
        part = parts["held out" if place % 2 else "development"]
        part += [_rewriting(first, second, women), _rewriting(second, first, women)]
    return parts


def _differences(first: str, second: str) -> list[tuple[list[re.Match[str]], list[re.Match[str]]]]:
    one, two = list(TOKEN.finditer(first)), list(TOKEN.finditer(second))
    matcher = difflib.SequenceMatcher(
        a=[match.group() for match in one], b=[match.group() for match in two], autojunk=False
    )
    return [(one[i:j], two[k:m]) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]


def _differ_only_in(first: str, second: str, words: set[str]) -> bool:
    differences = _differences(first, second)
    return bool(differences) and all(
        match.group().lower() in words for sides in differences for side in sides for match in side
    )


def _rewriting(source: str, expected: str, women: set[str]) -> Rewriting:
    selected: dict[str, int] = {}
    for side, _ in _differences(source, expected):
        for match in side:
            selected.setdefault("man" if match.group().lower() in women else "woman", match.start())
    return Rewriting(source, expected, tuple((start, target) for target, start in selected.items()))


@dataclass(frozen=True)
class Gap:
    """Text of GAP with its pronoun, the offsets of two names, and whether the pronoun refers to each of them."""

    id: str
    text: str
    pronoun: str
    offset: int
    names: tuple[int, int]
    meant: tuple[bool, bool]


def gap(part: str) -> list[Gap]:
    """Return the texts of GAP's ``development`` or ``validation`` file."""
    with published(f"gap/gap-{part}.tsv").open(encoding="utf-8", newline="") as file:
        return [
            Gap(
                row["ID"],
                row["Text"],
                row["Pronoun"],
                int(row["Pronoun-offset"]),
                (int(row["A-offset"]), int(row["B-offset"])),
                (row["A-coref"].upper() == "TRUE", row["B-coref"].upper() == "TRUE"),
            )
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]
