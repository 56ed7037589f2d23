"""Search for listed words and terms in running text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, TypeVar

from fairlab.text.folding import fold
from fairlab.text.view import read_view

RECENT = 512  # number of texts whose words are cached, because each text is searched several times
LONG, RECENT_LONG = 5_000, 16  # number of characters above which a text is long, and of long texts that are cached
RECENT_WORDS = 20_000  # number of words whose grammar is cached
Value = TypeVar("Value")
WORD = re.compile(r"\w+")
WORD_OR_SIGN = re.compile(r"[^\W_]+|_|[^\w\s]")  # text after an apostrophe is a separate word, as in listed terms
# A listed word is not a mention if a hyphen joins it to another ("man-made"), except after or before these.
JOINED_AFTER = frozenset("ex half step great grand non anti pro co mid all year".split())
JOINED_BEFORE = frozenset("owned led only dominated run like in turned to of born and or".split())
UNITS_OF_AGE = frozenset("year years month months week weeks day days".split())
_UNIT_OF_AGE = re.compile(rf"\b(?:{'|'.join(sorted(UNITS_OF_AGE))})[\s-]+$", re.IGNORECASE)
_BEFORE = re.compile(r"(\w+)(\W*)$")
_AFTER = re.compile(r"(\W*)(\w+)")


@dataclass(frozen=True)
class Span:
    """Listed term found in a text at ``text[start:end]``, with the term as listed (case-folded)."""

    start: int
    end: int
    term: str


def word_pieces(term: str) -> tuple[str, ...]:
    """Split a term into its folded runs of word characters: ``father-in-law`` has three, ``he's`` has two."""
    return tuple(WORD.findall(fold(term)))


class TermFinder:
    """Finder of listed terms in texts. It ignores case and accents, matches whole words, and prefers longer terms.

    Multi-word and hyphenated terms count as units, so ``mother-in-law`` is one occurrence and does not contain
    ``mother``. A possessive or a contraction counts as its word: ``father's`` and ``he'll`` contain ``father`` and
    ``he``.

    Args:
        terms: Terms to find; case, punctuation and duplicates do not matter (``Mr.`` is ``Mr``).
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self.terms = {word_pieces(term): term.casefold() for term in sorted(terms)}
        self.longest: dict[str, int] = {}
        for pieces in self.terms:
            self.longest[pieces[0]] = max(len(pieces), self.longest.get(pieces[0], 0))

    def find(self, text: str) -> Iterator[Span]:
        """Yield the non-overlapping occurrences of the terms in an original text, from left to right."""
        view = read_view(text)
        for span in self.find_read(view.text):
            yield span if view.is_plain else Span(*view.span(span.start, span.end), span.term)

    def find_read(self, text: str) -> Iterator[Span]:
        """Yield the occurrences of the terms in the text of a view; see :func:`fairlab.text.view.read_view`."""
        folded, spans = _folded_words(text)
        if self.longest.keys().isdisjoint(folded):
            return
        end = 0
        for place in (place for place, word in enumerate(folded) if word in self.longest):
            for length in range(self.longest[folded[place]] if place >= end else 0, 0, -1):
                pieces = folded[place : place + length]
                if pieces in self.terms:
                    end = place + len(pieces)
                    yield Span(spans[place][0], spans[end - 1][1], self.terms[pieces])
                    break


def cached_for_recent_texts(read: Callable[..., Value]) -> Callable[..., Value]:
    """Cache a function of a text for the texts read last: many short ones, but few long ones, to bound memory."""
    short, long = lru_cache(maxsize=RECENT)(read), lru_cache(maxsize=RECENT_LONG)(read)

    @wraps(read)
    def cached(text: str, **settings: Any) -> Value:
        return (short if len(text) <= LONG else long)(text, **settings)

    return cached


def cached_for_recent_words(read: Callable[..., Value]) -> Callable[..., Value]:
    """Cache a function of a word for the words read last."""
    return lru_cache(maxsize=RECENT_WORDS)(read)


@cached_for_recent_texts
def _folded_words(text: str) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
    """Return the folded words of a text and their spans. They are cached, because each text is searched repeatedly."""
    found = list(WORD.finditer(text))
    folded = str.casefold if text.isascii() else fold
    return tuple(folded(match.group()) for match in found), [match.span() for match in found]


def in_compound(text: str, span: Span) -> bool:
    """Return whether a hyphen, or the ending of *don't*, joins a word to another one and changes its meaning."""
    if text[span.end + 1 : span.end + 2] in ("t", "T") and text[span.end : span.end + 1] in ("'", "’"):
        return True
    if text[span.start - 1 : span.start] == "'" and text[span.start - 2 : span.start - 1].isalpha():  # D'Angelo
        return True
    if text[span.start - 1 : span.start] == "-" and span.start > 1 and text[span.start - 2].isalnum():
        before = _BEFORE.search(text[max(0, span.start - 30) : span.start - 1])
        if before and before[1].casefold() not in JOINED_AFTER:
            return True
    if text[span.end : span.end + 1] == "-" and text[span.end + 1 : span.end + 2].isalnum():
        after = _AFTER.match(text[span.end + 1 : span.end + 30])
        return after is not None and after[2].casefold() not in JOINED_BEFORE
    return False


def is_part_of_age(word: str, before: str) -> bool:
    """Return whether a word in any case is the *old* of an age, such as *9-year-old*, judged by the text before it."""
    return word.casefold() == "old" and _UNIT_OF_AGE.search(before) is not None


def match_case(original: str, replacement: str) -> str:
    """Return ``replacement`` in the capitalisation of ``original``: CAPITALS, Capitalised or as listed."""
    if original.islower():
        return replacement
    letters = [character for character in original if character.isalpha()]
    if len(letters) > 1 and all(character.isupper() for character in letters):
        return replacement.upper()
    if letters and letters[0].isupper():
        return replacement[:1].upper() + replacement[1:]
    return replacement
