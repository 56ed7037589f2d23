"""Ages in figures or words: finding them, reading them, and writing another age in the same style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fairlab.rewriting.english.people import is_person
from fairlab.rewriting.english.syntax import SUBJECTS

_SMALL = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORD = rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_SMALL[:9])}))?|{'|'.join(reversed(_SMALL))})"
_NUMBER = rf"(?:1[0-1]\d|\d{{1,2}}|{_WORD})"
_DECADES = {"teens": 15, **{tens.replace("y", "ies"): 10 * place + 25 for place, tens in enumerate(_TENS)}}
# "13 years old", "a 29-year-old", "16 years of age"; "aged 30", "at the age of 30"; "Mary Jones, 40,"; "in her 30s".
AGE = re.compile(
    rf"(?<![\w.,$£€-])({_NUMBER})(?=[- ]years?[- ]olds?\b|[- ]years? of age\b)"
    rf"|(?<=\baged )({_NUMBER})\b(?! months| weeks| days| hours| (?:to|and) \d|[-–]\d)"
    rf"|(?:(?<=\bage of )|(?<=\bat age )|(?<=\bby age ))({_NUMBER})\b"
    rf"|(?<=[a-z], )(\d\d)(?=[,.])"
    rf"|\bin (?:his|her|their|my|your) (?:(?:early|mid|late)[- ])?({'|'.join(_DECADES)}|[2-9]0s)\b",
    re.IGNORECASE,
)
_ENDING = re.compile(r"\byears?[- ]old $", re.IGNORECASE)
_GROUPS = frozenset("team crew squad staff band choir orchestra jury cast company".split())
_PERSONAL = frozenset("i you he she we they who someone everyone anyone him her me them us himself herself".split())


def find_ages(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of every number that may be the age of a person or a thing."""
    if not any(sign in text for sign in ("year", "age", "Age", "AGE", "YEAR", "Year", ", ", "ties", "0s", "teens")):
        return
    for match in AGE.finditer(text):
        yield match.span(match.lastindex or 0)


def age_in_years(found: str) -> int:
    """Convert an age in figures or words to a number of years. A decade counts as its middle.

    Example:
        >>> [age_in_years(found) for found in ("13", "eleven", "Forty-seven", "sixties", "30s")]
        [13, 11, 47, 65, 35]
    """
    if found.endswith("s"):
        return _DECADES[found.lower()] if found[0].isalpha() else int(found[:2]) + 5
    if found.isdigit():
        return int(found)
    tens, _, rest = found.lower().replace(" ", "-").partition("-")
    if tens in _SMALL:
        return _SMALL.index(tens) + 1
    return 10 * (_TENS.index(tens) + 2) + (_SMALL.index(rest) + 1 if rest else 0)


def follows_age(text: str, start: int) -> bool:
    """Return whether an age ends right before an offset, as in *a 9-year-old boy*."""
    return _ENDING.search(text, max(0, start - 12), start) is not None


def written_like(found: str, age: int) -> str:
    """Write an age below 100 in figures or words, in the style of another written age.

    Example:
        >>> written_like("13", 70), written_like("eleven", 18), written_like("Eleven", 72), written_like("60s", 44)
        ('70', 'eighteen', 'Seventy-two', '30s')
    """
    if found.endswith("s"):  # the last decade whose middle is not above the age
        if age < 18:
            return "teens"
        tens = min(max(2, (age - 5) // 10), 9)
        return f"{tens}0s" if found[0].isdigit() else _TENS[tens - 2].replace("y", "ies")
    if found.isdigit():
        return str(age)
    word = _SMALL[age - 1] if age < 20 else _TENS[age // 10 - 2] + (f"-{_SMALL[age % 10 - 1]}" if age % 10 else "")
    return word.capitalize() if found[:1].isupper() else word


def whose_age(token: Any) -> Any:
    """Return the token of the person whose age a number states, given the first token of the number.

    Returns:
        Token of the person, or None if the age is a thing's or its owner is not found.
    """
    if token.dep_ == "appos" or (token.head.tag_ in ("NNP", "NN") and token.nbor(-1).text == "," if token.i else False):
        name = token.head
        return name if name.tag_ == "NNP" or (_is_person(name) and name.lower_ not in _GROUPS) else None
    for _ in range(7):
        head = token.head
        if token.lower_ in ("old", "olds", "olds.") and token.dep_ not in (
            "amod",
            "acomp",
            "attr",
            "npadvmod",
            "advmod",
        ):
            return token  # used as a noun: the 19-year-old
        if head is token:
            return None
        if head.tag_.startswith("VB") or head.tag_ == "MD":
            if token.dep_ in SUBJECTS:
                return _person(token)
            if head.dep_ in ("acl", "relcl", "amod") and not _subject(head):
                return _person(head.head)
            subject = _subject(head)
            if subject is not None:
                return _person(subject)
        elif head.tag_.startswith(("NN", "PRP")) and head.lower_ not in ("year", "years", "age", "olds"):
            return _person(head)
        token = head
    return None


def _subject(verb: Any) -> Any:
    """Return the subject of a verb, of the verb it is coordinated with, or of its governing verb."""
    for _ in range(3):
        subject = next((child for child in verb.children if child.dep_ in SUBJECTS), None)
        if subject is not None:
            return subject
        if verb.dep_ not in ("conj", "xcomp", "ccomp", "advcl"):
            return None
        verb = verb.head
    return None


def _person(token: Any) -> Any:
    if token.lower_ in ("who", "that") and token.head.dep_ == "relcl":
        token = token.head.head
    return token if _is_person(token) else None


def _is_person(token: Any) -> bool:
    if token.lower_ in _PERSONAL:
        return True
    if token.tag_ == "NNP":
        return not any(child.lower_ in ("the", "a", "an") for child in token.children)
    return token.tag_ in ("NN", "NNS", "JJ") and is_person(token.lower_)
