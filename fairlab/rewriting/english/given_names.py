"""Distinction of first names from surnames and other words by neighbouring words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fairlab.lexicons.names import find_name
from fairlab.rewriting.english.people import is_role
from fairlab.text.folding import fold
from fairlab.text.words import cached_for_recent_texts, cached_for_recent_words

# A name after one of these is a surname ("Mr. James"), unless another follows ("Mr. James Smith").
BEFORE_SURNAMES = frozenset(
    "mr mrs ms miss mx dr prof professor president senator justice judge mayor governor captain colonel general major "
    "sergeant lieutenant officer detective inspector coach congressman congresswoman rev reverend sen gov madam madame "
    "monsieur herr frau st saint mt mount lake fort port "
    "van von de da do dos das del della di du la le al bin ibn".split()
)
# A name after one of these is a first name, even if no surname follows: "Uncle James", "King James".
BEFORE_FIRST_NAMES = frozenset(
    "uncle aunt auntie brother sister father mother grandpa grandma granny king queen prince princess sir dame lady "
    "lord saint cousin little young old poor dear pope emperor empress nurse".split()
)
DATES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december".split()
)
# Capitalised words, as at the start of sentences and in titles, that are not part of a name.
_NO_NAMES = DATES | frozenset(
    """
    the a an this that these those my your his her its our their and or but nor so yet for in on at of by with from to
    as if when while where who what why how after before since because although though then now here there once until
    he she it they we you i is are was were did does do has have had can will would could should may might must not no
    yes oh ah hi hello dear hey well thanks thank both all every each some any one two three like said says asked told
    poor little young old meet meanwhile later today yesterday tomorrow also even only just
    """.split()
)

PARTICLES = frozenset("de del della di du van von der bin ibn al el".split())
# A capitalised word before one of these, if it is also capitalised, is part of a place name: "Charlotte Street".
PLACES = frozenset(
    "street road avenue square county island islands college university hospital airport cathedral stadium theatre "
    "theater museum library river valley township city park beach bay bridge tower hall center centre hotel inn lake "
    "mountain mountains hills falls creek canyon district province state station line prize award awards cup trophy "
    "medal school institute foundation company corporation corp inc ltd plc bank brothers bros group holdings airlines "
    "airways motors press books records pictures studios act bill amendment day mission railway railroad canal "
    "homestead professorship scholarship fellowship memorial garden gardens designs productions entertainment "
    "springs way drive lane boulevard plaza highway parkway freeway court terrace "
    "enterprises industries associates collection archive archives".split()
)
# A name after one of these is part of the name of a place, storm, church or saint; after an article, a thing ("Oscar").
_BEFORE_THINGS = frozenset(
    "san santa santo los las hurricane cyclone typhoon storm cape isle fort ft mount mt lake st port virgin".split()
)
_STORMS = frozenset("hurricane cyclone typhoon storm".split())
_ARTICLES = frozenset(("the", "a", "an"))
# Second parts of English double names, which are not surnames: *Mary Ann*, *Billy Joe*.
_SECOND_NAMES = frozenset(
    "ann anne anna jane lou kate beth ellen jo mae sue louise margaret elizabeth marie bob joe jim".split()
)
_SPANISH_SECOND_NAMES = frozenset(
    """
    alberto alejandra alejandro andres angel antonio carlos carmen cristina eduardo elena enrique fernanda fernando
    francisco guadalupe ignacio isabel javier jesus jose laura lucia luis luisa manuel maria miguel pablo paula rafael
    ramon ricardo roberto teresa
    """.split()
)
# Words that show that the word before them, which usually has another sense, is a first name.
SAYING = frozenset("said was is had has s would says asked".split())
# Lower-case words that show what the name after them refers to.
_TELLING = _ARTICLES | _STORMS | BEFORE_SURNAMES | BEFORE_FIRST_NAMES
_NOT_BEFORE_SURNAMES = _TELLING | _NO_NAMES | _BEFORE_THINGS
_NAME_PAIR = re.compile(r"\b([^\W\d_a-z]\w+)(?: [A-Z]\.)?(?= ([^\W\d_a-z]\w+))")
_JOINED_BEFORE = re.compile(r"(?<![\w-])([^\W\d_a-z]\w*)-$")
_SECOND = re.compile(r" ([^\W\d_a-z]\w+)(?![\w-])")
_JOINED_AFTER = re.compile(r"-([^\W\d_a-z]\w*)(?![\w-])")
_BEFORE = re.compile(r"(\w+)(\W*)$")
_AFTER = re.compile(r"(\W*)(\w+)")


class Neighbours(NamedTuple):
    """Words before and after a word, with the text between them; empty at the ends of the text."""

    before: str
    gap_before: str
    after: str
    gap_after: str

    @property
    def follows_title(self) -> bool:
        """Return whether the preceding word is a title that is used with surnames."""
        return self.gap_before in (" ", ". ") and self.before.casefold() in BEFORE_SURNAMES

    @property
    def follows_name(self) -> bool:
        """Return whether the preceding word is capitalised and can be part of the same name."""
        initial = len(self.before) == 1 and self.before != "I" and self.gap_before in (". ", ".")
        return initial or (
            self.gap_before == " " and _is_capitalised(self.before) and self.before.casefold() not in _NO_NAMES
        )

    @property
    def precedes_name(self) -> bool:
        """Return whether the following word is capitalised and can be the surname."""
        surname = _is_capitalised(self.after) and self.after.casefold() not in _NO_NAMES
        return self.gap_after == " " and (surname or self.after in PARTICLES)

    @property
    def follows_first_name(self) -> bool:
        """Return whether the preceding word is used with first names: *Uncle James*."""
        return (
            self.gap_before in (" ", ". ")
            and _is_capitalised(self.before)
            and (self.before.casefold() in BEFORE_FIRST_NAMES)
        )

    @property
    def follows_thing(self) -> bool:
        """Return whether the preceding word shows that the name is a place's or a thing's: *San Juan*, *the Oscar*."""
        return self.gap_before in (" ", ". ") and (
            self.before.casefold() in _ARTICLES
            or self.before in _STORMS
            or (_is_capitalised(self.before) and self.before.casefold() in _BEFORE_THINGS)
        )

    @property
    def precedes_place(self) -> bool:
        """Return whether the following word shows that the name is part of a place's: *Charlotte Street*."""
        return self.gap_after == " " and _is_capitalised(self.after) and self.after.casefold() in PLACES


def neighbours(text: str, start: int, end: int) -> Neighbours:
    """Return the words before and after ``text[start:end]``, up to forty characters away."""
    before, after = _BEFORE.search(text[max(0, start - 40) : start]), _AFTER.match(text[end : end + 40])
    following, gap = (after[2], after[1]) if after else ("", "")
    if len(following) > 2 and following.isupper() and not text[start:end].isupper():
        following = following.lower()  # an acronym is not a surname: *Franklin ISBN*
    return Neighbours(before[1] if before else "", before[2] if before else "", following, gap)


def piece_neighbours(pieces: Sequence[str], place: int) -> Neighbours:
    """Return the neighbours of a word in a text that is split into pieces, with words at even indices."""
    before, gap_before = pieces[place - 2 : place] if place else ("", "")
    if not gap_before and place > 3:  # empty: part of a name that was merged
        before, gap_before = pieces[place - 4 : place - 2]
    gap_after, after = pieces[place + 1 : place + 3] if place + 2 < len(pieces) else ("", "")
    if not gap_after and place + 4 < len(pieces):
        gap_after, after = pieces[place + 3 : place + 5]
    return Neighbours(before, gap_before, after, gap_after)


def _is_capitalised(word: str) -> bool:
    return word[:1].isupper()


def is_first_name(beside: Neighbours, *, other_sense: bool, before_is_first: bool) -> bool:
    """Return whether a capitalised word that is listed as a first name is used as one.

    Args:
        beside: Neighbours of the word in the text.
        other_sense: Whether the word usually has another sense; then a surname or a title is required as evidence.
        before_is_first: Whether the preceding word is also listed as a first name.
    """
    title = beside.gap_before in (" ", ". ") and beside.before.casefold() in BEFORE_FIRST_NAMES
    if beside.follows_thing:
        return False
    if beside.follows_title:
        return beside.precedes_name and beside.before not in PARTICLES  # Maria del Carmen García
    if title:
        return True
    if beside.follows_name:
        return beside.precedes_name and before_is_first and not other_sense
    return beside.precedes_name or not other_sense


def is_plainly_first_name(pieces: Sequence[str], place: int, *, other_sense: bool) -> bool | None:
    """Return the result of :func:`is_first_name` at little cost if a name has ordinary neighbours.

    Returns:
        Whether the word is used as a first name, or None if its neighbours are not ordinary.
    """
    before, gap_before = (pieces[place - 2], pieces[place - 1]) if place else ("", "")
    gap_after, after = (pieces[place + 1], pieces[place + 2]) if place + 2 < len(pieces) else ("", "")
    if (place and not gap_before) or (after and not gap_after):  # next to part of a name that was merged
        return None
    if gap_after in ("'", "’") and after.lower() == "t":  # Don't
        return False
    named = gap_after == " " and after[:1].isupper()
    if before and gap_before in (" ", ". ", "."):
        if before[:1].isupper():  # perhaps a surname
            special = gap_before != " " or named or after in PARTICLES or before.casefold() in _NOT_BEFORE_SURNAMES
            return None if special or _is_role_or_origin(before) else False
        if before in _TELLING or len(before) == 1:
            return None
    if named:
        after = after.casefold()
        return after not in PLACES and (not other_sense or after not in _NO_NAMES)
    if not other_sense:
        return True
    return None if after.lower() in SAYING or after in PARTICLES else False


def whole_name(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of a listed first name, including a hyphenated part, *Jean-Luc*, or a Spanish second name."""
    before = _JOINED_BEFORE.search(text, max(0, start - 30), start)
    after = _JOINED_AFTER.match(text, end)
    start = before.start() if before and find_name(before[1]) else start
    if after and find_name(after[1]):
        return start, after.end()
    second = _SECOND.match(text, end)
    return start, second.end() if second and is_double_name(text[start:end], second[1]) else end


@cached_for_recent_words
def is_double_name(first: str, second: str) -> bool:
    """Return whether two consecutive listed names form one first name: *José Luis*, *Ana María*, *Mary Ann*."""
    one, other = find_name(first), find_name(second)
    if one is None or other is None or one.other_sense in ("place", "rarely"):
        return False
    if fold(second) in _SECOND_NAMES:
        return one.gender == other.gender
    return fold(second) in _SPANISH_SECOND_NAMES and (one.race == "hispanic" or not one.other_sense)


@cached_for_recent_texts
def last_names(text: str, *, whole: bool = False) -> frozenset[str]:
    """Return the words that follow a first name anywhere in a text. They are surnames in the rest of the text, too.

    With ``whole``, return only words that end a name: they are surnames even before another capitalised word, as in
    *Jackson Arrives*.
    """
    return frozenset(
        pair[2]
        for pair in _NAME_PAIR.finditer(text)
        if pair[1].casefold() not in BEFORE_FIRST_NAMES
        and find_name(pair[1])
        and not (whole and text[pair.end(2) + 1 : pair.end(2) + 2].isupper() and text[pair.end(2)] == " ")
    )


def is_demonym(word: str) -> bool:
    """Return whether a capitalised word names a person's origin: *Spaniard Juan Carlos*."""
    folded = word.casefold()
    return len(word) > 5 and folded.endswith(("ian", "iard", "ese", "german", "mexican")) and find_name(word) is None


@cached_for_recent_words
def _is_role_or_origin(word: str) -> bool:
    return is_role(word.casefold()) or is_demonym(word)


def without_role(beside: Neighbours) -> Neighbours:
    """Return the neighbours of a name, ignoring a role or origin before it: *Deputy Hal Norton*, *Spaniard Juan*."""
    if not _is_role_or_origin(beside.before) or beside.follows_title or beside.follows_thing:
        return beside
    return beside._replace(before="", gap_before="")
