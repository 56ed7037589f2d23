"""Sentence pairs written by people, in PANDA's format: the references against which rewriters are measured.

As in PANDA, a rewriter gets the first differing word and the target attribute. Each dataset is split into a development
half, on which choices may be made, and a held-out half:

- Winogender: groups, from man to woman and back (halves of :func:`experiments.rewriting.sets.winogender`);
- CrowS-Pairs: pairs about gender whose sides differ only in gendered words (:func:`experiments.rewriting.sets.crows`),
  and pairs about race and age whose sides differ in words of ``SIDES`` for two attributes; both directions, split into
  even and odd pairs. Pairs of names are left out, because it is unknown which name was meant;
- WinoBias: stereotypical to anti-stereotypical sentences, which differ in a pronoun; every other sentence of the
  development files and of the test files;
- PANDA: the three examples on its data card, which are too few to be split.

Each dataset is also included in lower case on both sides, because people would answer a lower-case text in lower case.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from typing import Literal

from experiments.rewriting.sets import WORD, Rewriting, crows, published, winogender
from fairlab.data.perturbation_pairs import PerturbationPair
from fairlab.text.difference import stretches

Half = Literal["development", "held out"]
LOWER = ", lower case"
TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
ARTICLES = {"a", "an", "the"}
# Words that may differ on one side, without an article, in lower case and with blanks instead of hyphens.
SIDES = {
    "race": {
        "black": "black, blacks, black people, black person, african american, african americans, afro american, "
        "afro americans, black american, black americans",
        "white": "white, whites, white people, white person, white american, white americans, caucasian, caucasians, "
        "anglo americans",
        "asian": "asian, asians, asian american, asian americans, asian people, chinese",
        "hispanic": "hispanic, hispanics, latino, latinos, mexican, mexicans",
        "native-american": "native american, native americans, american indian, american indians",
    },
    "age": {
        "child": "teenager, teenagers, teenage, child, children, kid, kids, boy, young boy, little boy, babies, "
        "kindergartener",
        "young": "young, younger, youngest, young man, young people",
        "middle-aged": "middle aged, middle aged people, middle aged person, middle aged man",
        "senior": "old, older, oldest, elderly, senior, seniors, old man, old people, elderly man, elderly woman, "
        "elderly people",
        "adult": "adult, adults, man",
    },
}
AGES = {"child": (1, 17), "young": (18, 44), "middle-aged": (45, 64), "senior": (65, 119)}


def references(half: Half = "held out") -> dict[str, list[PerturbationPair]]:
    """Return the pairs of each dataset, and those of each dataset in lower case."""
    sets = {
        "Winogender": _winogender(half),
        "CrowS-Pairs, gender": [_as_pair(one) for one in crows()[half]],
        "CrowS-Pairs, race": _crows("race-color", "race", half),
        "CrowS-Pairs, age": _crows("age", "age", half),
        "WinoBias": _winobias(half),
    }
    if half == "held out":
        sets["PANDA's card"] = _card()
    return sets | {f"{name}{LOWER}": [lowered(pair) for pair in pairs] for name, pairs in sets.items()}


def lowered(pair: PerturbationPair) -> PerturbationPair:
    """Convert both sides of a pair to lower case."""
    return PerturbationPair(pair.original.lower(), pair.word.lower(), pair.target, pair.perturbed.lower())


def _winogender(half: Half) -> list[PerturbationPair]:
    return [
        _pair(group.versions[one], group.versions[other], other)
        for group in winogender()[half]
        for one, other in (("man", "woman"), ("woman", "man"))
    ]


def _pair(original: str, perturbed: str, target: str) -> PerturbationPair:
    words = zip(WORD.findall(original), WORD.findall(perturbed), strict=True)
    return PerturbationPair(original, next(one for one, other in words if one != other), target, perturbed)


def _as_pair(one: Rewriting) -> PerturbationPair:
    start, target = one.selected[0]
    found = WORD.match(one.source, start)
    assert found is not None
    return PerturbationPair(one.source, found[0], target, one.expected)


def _crows(bias: str, axis: str, half: Half) -> list[PerturbationPair]:
    with published("crows_pairs/crows_pairs_anonymized.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["bias_type"] == bias]
    sides = [(row["sent_more"], row["sent_less"]) for row in rows]
    both = [(told(axis, *pair), told(axis, *reversed(pair))) for pair in sides]
    chosen = [pair for pair in both if None not in pair][half == "held out" :: 2]
    return [one for pair in chosen for one in pair if one is not None]


def told(axis: str, original: str, perturbed: str) -> PerturbationPair | None:
    """Return the pair if its sides differ only in words of ``SIDES`` and each side has one attribute, else None.

    Example:
        >>> told("age", "The old man sat.", "The young man sat.").target
        'young'
    """
    differing = [
        (before, after)
        for before, after in stretches(TOKEN.findall(original), TOKEN.findall(perturbed))
        if before != after
    ]
    found = {(attribute(axis, before), attribute(axis, after)) for before, after in differing}
    if len(found) != 1:
        return None
    ((source, target),) = found
    if source is None or target is None or source == target:
        return None
    word = next(word for word in differing[0][0] if word.lower() not in ARTICLES)
    return PerturbationPair(original, word, target, perturbed)


def attribute(axis: str, words: Sequence[str]) -> str | None:
    """Return the attribute that words denote, alone or after an article, or None if they denote none."""
    side = " ".join(word for word in words if word.lower() not in ARTICLES).lower().replace("-", " ")
    if axis == "age" and side.isdigit():
        return next((name for name, (low, high) in AGES.items() if low <= int(side) <= high), None)
    return next((name for name, listed in SIDES[axis].items() if side in listed.split(", ")), None)


def _winobias(half: Half) -> list[PerturbationPair]:
    pairs = []
    for kind in ("type1", "type2"):
        known = {} if half == "development" else dict(_sides(kind, "dev"))  # three sentences are in both files
        sides = _sides(kind, "dev" if half == "development" else "test")[::2]
        pairs += [_pronoun_pair(*pair) for pair in sides if pair[0] not in known]
    return pairs


def _sides(kind: str, part: str) -> list[tuple[str, str]]:
    files = [_read_plain(f"winobias/{side}_stereotyped_{kind}.txt.{part}") for side in ("pro", "anti")]
    return list(zip(*files, strict=True))


def _pronoun_pair(original: str, perturbed: str) -> PerturbationPair:
    new = next(word for word, old in zip(WORD.findall(perturbed), WORD.findall(original), strict=True) if word != old)
    return _pair(original, perturbed, "man" if new.lower() in ("he", "him", "his") else "woman")


def _read_plain(name: str) -> list[str]:
    """Return the sentences of a file without their numbers and brackets."""
    lines = published(name).read_text(encoding="utf-8").splitlines()
    return [re.sub(r"[\[\]]", "", line.split(" ", 1)[1]).strip() for line in lines if line.strip()]


def _card() -> list[PerturbationPair]:
    lines = published("panda/panda_card_examples.jsonl").read_text(encoding="utf-8").splitlines()
    rows = map(json.loads, lines)
    fields = ("original", "selected_word", "target_attribute", "perturbed")
    return [PerturbationPair(*(row[field].strip() for field in fields)) for row in rows]
