"""Coordinated titles and nouns, whose senses are decided together: *Mr. and Mrs. Smith*, *Lord/Lady*."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from fairlab.lexicons import Entry
from fairlab.rewriting.english.edits import BETWEEN_ALTERNATIVES
from fairlab.rewriting.english.pieces import piece
from fairlab.rewriting.english.vocabulary import ListedWord, Sense
from fairlab.text.folding import fold

COORDINATED = re.compile(rf"{BETWEEN_ALTERNATIVES.pattern}|\.?(?: and | & )(?:an? )?")


def shared_by(senses: Iterable[Sense], others: Sequence[Sense]) -> list[Entry]:
    """Return the entries that two words share as nouns or titles of different attributes."""
    found = []
    for one in senses:
        alike = [other for other in others if other.entry is one.entry and other.attribute != one.attribute]
        if one.entry and alike and one.pos in ("noun", "title"):
            found.append(one.entry)
    return found


def shared_entries(text: str, listed: Sequence[ListedWord]) -> dict[int, list[Entry]]:
    """Return, by the start of each word, the entries that it shares with the word it is coordinated with.

    In *lord and lady*, both words share an entry.
    """
    found: dict[int, list[Entry]] = {}
    for one, other in pairwise(listed):
        entries = shared_by(one.senses, other.senses)
        if entries and COORDINATED.fullmatch(text, one.end, other.start):
            for start in (one.start, other.start):
                found.setdefault(start, []).extend(entries)
    return found


def coordinated_words(
    text: str, listed: Sequence[ListedWord], known: Mapping[int, Sense]
) -> Iterator[tuple[ListedWord, Sense]]:
    """Yield words that are not mentions themselves but are coordinated with a mention, each with its sense.

    An example is *Mr.* in *Mr. and Mrs. Smith*. ``known`` holds the senses of the mentions by their start.
    """
    told = dict(known)
    pairs = list(pairwise(listed))
    for one, other in [*pairs[::-1], *((other, one) for one, other in pairs)]:
        sense = told.get(other.start) if one.start not in told else None
        between = text[min(one.end, other.end) : max(one.start, other.start)]
        if sense is not None and COORDINATED.fullmatch(between):
            same = [some for some in one.senses if some.entry is sense.entry]
            for alike in (same or [some for some in one.senses if some.pos == sense.pos == "title"])[:1]:
                told[one.start] = alike
                yield one, alike


class CoordinatedPieces:
    """Coordinated nouns and titles in a text that is split into pieces and rewritten in place, from left to right.

    ``pieces`` holds words at even indices, and the separators between them at odd ones.
    """

    def __init__(self, known: Mapping[str, Sequence[Sense]], pieces: Sequence[str]) -> None:
        self.known, self.pieces = known, pieces
        # Entries that a word shares with the word it is coordinated with, and the index of the second of them.
        self.shared: dict[int, tuple[list[Entry], int]] = {}

    def last(self, place: int, attribute: str) -> int:
        """Return the index of the second of two coordinated words, or of the word itself if it is not coordinated."""
        for step in (2, 4, -2, -4) if place not in self.shared else ():
            others = self.known.get(fold(piece(self.pieces, place + step)))
            if others is None:
                continue
            first, last = sorted((place, place + step))
            entries = shared_by(self._senses(place, attribute), others)
            if entries and COORDINATED.fullmatch("".join(self.pieces[first + 1 : last])):
                self.shared[first] = self.shared[last] = entries, last
        return self.shared.get(place, ([], place))[1]

    def sense(self, place: int, attribute: str, *, titled: bool) -> Sense | None:
        """Return the sense of a coordinated word, or of a title before a name.

        Args:
            place: Index of the word, for which :meth:`last` has been called.
            attribute: Attribute that the word marks.
            titled: Whether a name follows the last coordinated word.

        Returns:
            Sense of the word, or None if its neighbours do not show it.
        """
        senses, (entries, _) = self._senses(place, attribute), self.shared.get(place, ([], place))
        nouns = [one for one in senses if one.pos == "noun" and one.entry in entries]
        if self.pieces[place][:1].isupper() and (titled or (entries and not nouns)):
            titles = [one for one in senses if one.pos == "title"]
            return next((one for one in titles if not entries or one.entry in entries), None)
        return nouns[0] if nouns else None

    def _senses(self, place: int, attribute: str) -> list[Sense]:
        """Return the possible senses in which a word marks the given attribute."""
        return [one for one in self.known[fold(self.pieces[place])] if one.attribute == attribute]
