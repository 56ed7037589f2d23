"""Texts all in capitals, or all in small letters, read as they would be written otherwise."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from fairlab.lexicons.names import load_names
from fairlab.rewriting.english.given_names import BEFORE_SURNAMES
from fairlab.text.view import View, read

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
    view = read(text)
    upper, lower = view.text.isupper(), view.text.islower()
    if not (upper or lower) or len(_WORD.findall(view.text)) < FEWEST:
        return view
    cased = _sentence_case(view.text.lower())
    if cased == view.text or len(cased) != len(view.text):
        return view
    places = range(len(cased))
    starts, ends = (view.starts or places), (view.ends or range(1, len(cased) + 1))
    return replace(view, text=cased, starts=starts, ends=ends, cased=str.upper if upper else str.lower)


def _sentence_case(text: str) -> str:
    """A text in small letters with the capitals that can be told."""
    letters = list(text)
    for match in _STARTS.finditer(text):
        letters[match.start(1)] = letters[match.start(1)].upper()
    names = load_names()
    for match in _WORD.finditer(text):
        word = match[0]
        known = names.get(word)
        if word == "i" or word in _TITLES or (known is not None and not known.other_sense):
            letters[match.start()] = letters[match.start()].upper()
    return "".join(letters)
