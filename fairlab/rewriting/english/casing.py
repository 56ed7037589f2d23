"""Texts all in capitals, or all in small letters, read as they would be written otherwise."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, lru_cache

from fairlab.lexicons.names import find_name, load_names
from fairlab.rewriting.english.agreement import is_known
from fairlab.rewriting.english.given_names import BEFORE_SURNAMES
from fairlab.rewriting.english.pronouns import NOT_POSSESSED
from fairlab.text.folding import unaccented
from fairlab.text.view import View, read_view

FEWEST = 3  # words of a text whose case may be taken away: fewer are an acronym or a label
_WORD = re.compile(r"[^\W\d_]+")
_STARTS = re.compile(r"(?:^|[.!?…]['\")\]]* |\u2029)[\"'(\[]*([^\W\d_])")
_TITLES = BEFORE_SURNAMES - frozenset("major general von van de da do dos das del della di du la le al bin ibn".split())


@lru_cache(maxsize=64)
def read_cased(text: str) -> View:
    """Return the view of a text, with sentence case where all of it is in capitals or all in small letters.

    First names, titles, *I* and the first words of sentences have capitals then; other names cannot be told.

    Example:
        >>> read_cased("MARY SAID THAT SHE WAS LATE.").text
        'Mary said that she was late.'
    """
    view = read_view.__wrapped__(text)  # remembered here, and need not be twice
    upper, lower = view.text.isupper(), view.text.islower()
    if not (upper or lower):
        return view
    words = _WORD.findall(unaccented(view.text))
    if len(words) < FEWEST or (lower and capitalised().isdisjoint(words)):
        return view
    cased = _sentence_case(view.text.lower())
    write = str.upper if upper else str.lower
    if cased == view.text or len(cased) != len(view.text) or write(cased) != view.text:
        return view
    return replace(view, text=cased, cased=write)


def _sentence_case(text: str) -> str:
    """Return a text in small letters with the capitals that can be told."""
    letters, known = list(text), capitalised()
    places = [match.start(1) for match in _STARTS.finditer(text)]
    named = -1
    for match in _WORD.finditer(text):
        start, word = match.start(), match[0]
        follows = named == start - 1 and text[named] == " "
        if not (follows or word in known or not word.isascii()):
            continue
        title = word in _TITLES
        name = _is_name(word, text, match.end()) or (follows and _may_be_surname(word))
        if name or title or word == "i":
            places.append(start)
        if name or title:
            named = match.end()
    for place in places:
        letters[place] = letters[place].upper()
    return "".join(letters)


@cache
def capitalised() -> frozenset[str]:
    """Return the words that may have a capital in a text of small letters."""
    return frozenset(load_names()) | _TITLES | {"i"}


def _is_name(word: str, text: str, end: int) -> bool:
    """Whether a word in small letters is a first name; one that is a word too must stand before a surname."""
    known = find_name(word)
    if known is None or not known.other_sense:
        return known is not None
    following = _WORD.match(text, end + 1)
    return following is not None and text[end] == " " and len(following[0]) > 3 and _may_be_surname(following[0])


def _may_be_surname(word: str) -> bool:
    """Whether a word in small letters may end a name: one listed for that, or one that no dictionary holds."""
    known = find_name(word)
    if known is not None:
        return known.other_sense in ("", "surname", "rarely")
    return word not in NOT_POSSESSED and not is_known(word)
