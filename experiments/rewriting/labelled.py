"""Hand-labelled sentences about race, age and gender, and how well rewriters perturb one person in each.

A line is ``target: text`` with slots ``[found|right/also right]``; the first slot contains the selected word. A line
``trap: text`` mentions nobody with an attribute of the axis and must stay unchanged. A line ``trap target: text`` may
stay unchanged or be rewritten as in its slots. Further correct texts follow ``||``. The data card in
``labelled/README.md`` explains the words in capitals.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from fairlab.files import write_whole
from fairlab.lexicons import load_lexicon
from fairlab.lexicons.names import load_names
from fairlab.metrics.significance import wilson_interval
from fairlab.rewriting.english.agreement import article
from fairlab.rewriting.group_rewriters import RuleGroups
from fairlab.rewriting.perturbable_words import PerturbableWords
from fairlab.rewriting.word_rewriters import Selection
from fairlab.types import NEUTRAL

FOLDER = Path(__file__).parent / "labelled"
AXES = ("race", "age", "gender")
HALVES = ("development", "test")
MODES: tuple[Literal["syntax", "lexical"], ...] = ("syntax", "lexical")
_SLOT = re.compile(r"\[([^|\]]+)\|([^\]]+)\]")
_MACRO = re.compile(r"\b(ADJ|ONE|MANY|MAN|MEN|WOMAN|WOMEN|FIGW|FIG)\b")
_ARTICLE = re.compile(r"\b([Aa])n? $")


@dataclass(frozen=True)
class Labelled:
    """Sentence with its correct rewrites.

    Attributes:
        text: Text of the sentence.
        trap: Whether the sentence must, or may, stay unchanged.
        target: Attribute to rewrite to; empty for a trap without a correct rewrite.
        selected: Start and end of the first slot, which contains the selected word.
        right: Patterns of the correct rewrites.
    """

    text: str
    trap: bool
    target: str
    selected: tuple[int, int]
    right: tuple[str, ...]

    @property
    def half(self) -> str:
        """Return ``development`` or ``test``, depending on a hash of the sentence."""
        return HALVES[int(hashlib.sha256(self.text.encode()).hexdigest()[:8], 16) % 2]


def read_labelled(axis: str) -> list[Labelled]:
    """Read all labelled sentences of an axis, in file order."""
    lines = (FOLDER / f"{axis}.txt").read_text(encoding="utf-8").splitlines()
    return [_parse_line(axis, line) for line in lines if line and not line.startswith("#")]


def _parse_line(axis: str, line: str) -> Labelled:
    head, _, body = line.partition(": ")
    *trap, target = head.split(" ") if head != "trap" else ("trap", "")
    versions = body.split(" || ")
    slots = _SLOT.search(versions[0])
    text, *others = (_SLOT.sub(r"\1", version) for version in versions)
    if any(other != text for other in others):
        raise ValueError(f"the versions of one line are of different sentences: {line}")
    selected = (slots.start(), slots.start() + len(slots[1])) if slots else (0, 0)
    right = tuple(_pattern(axis, target, version) for version in versions) if slots else ()
    return Labelled(text, bool(trap), target, selected, right)


def _pattern(axis: str, target: str, slotted: str) -> str:
    """Return a pattern that matches a text whose slots are filled in any correct way, with fitting articles."""
    pattern, position, names = "", 0, 0
    for slot in _SLOT.finditer(slotted):
        before = slotted[position : slot.start()]
        starts = slot.start() == 0 or slotted[: slot.start()].endswith((". ", '"'))
        options = [filled for option in slot[2].split("/") for filled in _fill(axis, target, option)]
        fitted = _ARTICLE.search(before)
        if fitted:
            before = before[: fitted.start()]
            options = [f"{fitted[1]}{article(_first(option))[1:]} {option}" for option in options]
        elif starts and slot[1][:1].isupper():
            options = [option[:1].upper() + option[1:] for option in options]
        pattern += re.escape(before)
        names += sum("NAME" in option for option in options)
        name = _name_pattern(axis, target)
        if names > 1:
            name = "(?P=name)" if "(?P<name>" in pattern else name.replace("?P<name>", "?:")
        pattern += f"(?:{'|'.join(re.escape(option).replace('NAME', name) for option in options)})"
        position = slot.end()
    return pattern + re.escape(slotted[position:])


def _fill(axis: str, target: str, option: str) -> list[str]:
    """Return the forms of an option, with its macro and article filled in."""
    found = _MACRO.search(option)
    words = [option]
    if found:
        words = [option.replace(found[0], word, 1) for word in _macro(axis, target, found[0])]
    if option.startswith("A~"):
        words = [f"{article(_first(word[2:]))} {word[2:]}" for word in words]
    return words


def _first(words: str) -> str:
    return words.split(" ")[0]


@cache
def _macro(axis: str, target: str, name: str) -> list[str]:
    """Return the words that a macro stands for, given the target."""
    content = yaml.safe_load((FOLDER / "macros.yaml").read_text(encoding="utf-8"))
    if name in ("FIG", "FIGW"):
        low, high = content["figures"][target]
        return [str(age) if name == "FIG" else in_words(age) for age in range(low, high + 1)]
    words = [str(word) for word in content[axis][target][name]]
    return [*words, *(word.lower() for word in words if word[:5] in ("Black", "White"))]


def in_words(age: int) -> str:
    """Write an age below 100 in words: ``forty-seven``."""
    small = """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()
    if age < 20:
        return small[age - 1]
    return tens[age // 10 - 2] + (f"-{small[age % 10 - 1]}" if age % 10 else "")


@cache
def _name_pattern(axis: str, target: str) -> str:
    """Return a pattern that matches any listed first name of a target.

    For *neutral*, it matches the names that both men and women bear.
    """
    if target == NEUTRAL:
        names = {name.name for name in load_names().values() if name.gender == "both"}
        names |= {entry.forms[0] for entry in load_lexicon(axis).entries if entry.pos == "name"}
    else:
        names = {name.name for name in load_names().values() if target in (name.gender, name.race)}
    return f"(?P<name>{'|'.join(sorted(names))})"


def outcomes(
    axis: str, rows: Sequence[Labelled], mode: Literal["syntax", "lexical"] = "syntax"
) -> list[tuple[str, str]]:
    """Return the outcome for every sentence, and the text that shows it.

    A trap is ``left`` unchanged or ``sprung``: some word of it can be selected with some target, and the text changes
    but is not correct. In any other sentence, the selected person is rewritten to the target. The outcome is ``right``,
    ``wrong`` (also if a person is rewritten only in part), or ``missed`` if the word cannot be selected or nothing
    changes.
    """
    lexicon = load_lexicon(axis)
    words, rewriter = PerturbableWords([lexicon], mode), RuleGroups(lexicon=lexicon, mode=mode)
    asked: list[tuple[int, Selection]] = []
    for number, (row, found) in enumerate(zip(rows, words.selections([row.text for row in rows]), strict=True)):
        fits = [one for one in found if _is_meant(row, one)]
        asked += [(number, one) for one in (fits if row.trap else fits[:1])]
    made = rewriter.rewrite_words([rows[number].text for number, _ in asked], [one for _, one in asked])
    results = [("left" if row.trap else "missed", row.text) for row in rows]
    for (number, one), text in zip(asked, made, strict=True):
        row, text = rows[number], str(text)
        right = row.target == one.target and any(re.fullmatch(pattern, text) for pattern in row.right)
        if text != row.text and not (row.trap and right):
            results[number] = ("sprung" if row.trap else "right" if right else "wrong", text)
    return results


def _is_meant(row: Labelled, one: Selection) -> bool:
    """Return whether a selection is the labelled one. For a trap, any selection is."""
    start, end = row.selected
    return row.trap or (one.target == row.target and start <= one.start < end)


def share(hits: int, number: int) -> dict[str, Any]:
    """Return the number of hits, the total, and the proportion with its 95 % Wilson interval."""
    values = zip(("share", "low", "high"), (hits / number, *wilson_interval(hits, number)), strict=True)
    return {"count": hits, "n": number, **{name: round(value, 5) for name, value in values}}


def scores(results: Sequence[str]) -> dict[str, Any]:
    """Return the proportions of sprung traps, of people rewritten correctly, and of changed texts that are correct."""
    count = {name: results.count(name) for name in ("left", "sprung", "right", "wrong", "missed")}
    turned = count["right"] + count["wrong"]
    return {
        "trap errors": share(count["sprung"], count["left"] + count["sprung"]),
        "recall": share(count["right"], turned + count["missed"]),
        "right": share(count["right"], turned + count["sprung"]),
    }


def measure() -> dict[str, Any]:
    """Return the scores by axis, mode and half."""
    found: dict[str, Any] = {}
    for axis in AXES:
        rows = read_labelled(axis)
        for mode in MODES:
            results = [result for result, _ in outcomes(axis, rows, mode)]
            halves = {half: [r for r, row in zip(results, rows, strict=True) if row.half == half] for half in HALVES}
            found.setdefault(axis, {})[mode] = {half: scores(some) for half, some in {**halves, "all": results}.items()}
    return found


if __name__ == "__main__":  # python -m experiments.rewriting.labelled NAME
    write_whole(FOLDER / f"{sys.argv[1]}.json", json.dumps(measure()) + "\n")
