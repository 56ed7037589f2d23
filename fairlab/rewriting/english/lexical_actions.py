"""Actions for words that are recognised by their form alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fairlab.rewriting.english.edits import BETWEEN_ALTERNATIVES
from fairlab.rewriting.english.everybody import ALTERNATIVE
from fairlab.rewriting.english.vocabulary import Sense, Vocabulary
from fairlab.text.folding import unaccented
from fairlab.text.words import match_case


class Action(NamedTuple):
    """Action for one surface form when rewriting to a target."""

    kind: str  # plain, ambiguous, subject, word, name, title, longer, same
    new: str
    sense: Sense
    neutral: bool = False  # a neutral form of one word that is converted back to an attribute


class WithAccents:
    """Table that also finds accented words by their plain letters."""

    def __init__(self, table: Mapping[str, Action]) -> None:
        self.table = table

    def __contains__(self, word: str) -> bool:
        return word in self.table or (not word.isascii() and unaccented(word) in self.table)

    def __getitem__(self, word: str) -> Action:
        return self.table[word] if word in self.table else self.table[unaccented(word)]


def surfaces(form: str) -> set[str]:
    """Return the spellings of a form: as listed, in lower case, capitalised, in capitals."""
    return {form, form.lower(), form[:1].upper() + form[1:], form.upper()}


def listed_form(vocabulary: Vocabulary, sense: Sense, term: str) -> str:
    """Return the listed spelling of a case-folded term in a sense."""
    if sense.entry is None:
        return vocabulary.names[term].name
    column = vocabulary.column(sense.attribute)
    form = sense.entry.forms[column]
    return form if form.casefold() == term else term


def say_alternatives_once(pieces: list[str], hits: list[int]) -> None:
    """Empty the second one of two alternatives that are the same word now, and the separator: *mom/dad*.

    Args:
        pieces: Words and separators of the rewritten text.
        hits: Indices of its listed words.
    """
    for hit in hits:
        for first, last in ((hit - step, hit) for step in (2, 4, 6)):
            _say_once(pieces, first, last)
        for first, last in ((hit, hit + step) for step in (2, 4, 6)):
            _say_once(pieces, first, last)


def _say_once(pieces: list[str], first: int, last: int) -> None:
    if first < 0 or last >= len(pieces) or not pieces[last] or pieces[first].casefold() != pieces[last].casefold():
        return
    if BETWEEN_ALTERNATIVES.fullmatch("".join(pieces[first + 1 : last])):
        pieces[first + 1 : last + 1] = [""] * (last - first)


def join_alternatives(
    pieces: list[str], spans: list[tuple[int, int]], hits: list[int], table: Mapping[str, Action] | WithAccents
) -> list[int]:
    """Keep only the second pronoun of *he or she* and *his/her*; return the indices of the remaining hits."""
    places: list[int] = []
    joined = set[int]()
    removed = 0
    for hit in hits:
        place = hit - removed
        first = places[-1] if places else place
        senses = [table[pieces[place]].sense for place in (first, place)]
        alike = all(sense.pos == "pronoun" for sense in senses) or senses[0].entry is senses[1].entry
        between = "".join(pieces[first + 1 : place]).lower()
        differ = senses[0].attribute != senses[1].attribute and first not in joined
        if alike and differ and between in ALTERNATIVE:
            joined.add(first)
            pieces[first] = match_case(pieces[first], pieces[place])
            if spans:
                spans[first] = (spans[first][0], spans[place][1])
            del pieces[first + 1 : place + 1], spans[first + 1 : place + 1]
            removed += place - first
        else:
            places.append(place)
    return places
