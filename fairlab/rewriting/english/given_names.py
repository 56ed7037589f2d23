"""Telling first names from surnames and other words by their neighbours."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fairlab.lexicons.names import find_name

# A name after one of these is a surname ("Mr. James"), unless another follows ("Mr. James Smith").
BEFORE_SURNAMES = frozenset(
    "mr mrs ms miss mx dr prof professor president senator justice judge mayor governor captain colonel general major "
    "sergeant lieutenant officer detective inspector coach congressman congresswoman st saint mt mount lake fort port "
    "van von de da do dos das del della di du la le al bin ibn".split()
)
# A name after one of these is a first name even where none follows: "Uncle James", "King James".
BEFORE_FIRST_NAMES = frozenset(
    "uncle aunt auntie brother sister father mother grandpa grandma granny king queen prince princess sir dame lady "
    "lord saint cousin little young old poor dear pope emperor empress nurse".split()
)
# Capitalised words at the start of sentences and titles that are no part of a name.
_NO_NAMES = frozenset(
    """
    the a an this that these those my your his her its our their and or but nor so yet for in on at of by with from to
    as if when while where who what why how after before since because although though then now here there once until
    he she it they we you i is are was were did does do has have had can will would could should may might must not no
    yes oh ah hi hello dear hey well thanks thank both all every each some any one two three like said says asked told
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december poor little young old meet meanwhile later today yesterday tomorrow also even only just
    """.split()
)

_PARTICLES = frozenset("de del della di du van von der bin ibn al el".split())
# A capitalised word before one of these, capitalised too, is part of a place's name: "Charlotte Street".
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
# A name after one of these belongs to a place, a storm or a church; after an article, to a thing ("the Oscar").
_BEFORE_THINGS = frozenset(
    "san santa santo los las hurricane cyclone typhoon storm cape isle fort ft mount mt lake st port".split()
)
_STORMS = frozenset("hurricane cyclone typhoon storm".split())
_ARTICLES = frozenset(("the", "a", "an"))
_NAME_PAIR = re.compile(r"\b([^\W\d_a-z]\w+)(?: [A-Z]\.)?(?= ([^\W\d_a-z]\w+))")
_JOINED_BEFORE = re.compile(r"(?<![\w-])([^\W\d_a-z]\w*)-$")
_JOINED_AFTER = re.compile(r"-([^\W\d_a-z]\w*)(?![\w-])")


@dataclass(frozen=True)
class Neighbours:
    """The words beside a word, with what stands between; empty at the ends of the text."""

    before: str
    gap_before: str
    after: str
    gap_after: str

    @property
    def follows_title(self) -> bool:
        """Whether a title that goes with surnames stands before it."""
        return self.gap_before in (" ", ". ") and self.before.casefold() in BEFORE_SURNAMES

    @property
    def follows_name(self) -> bool:
        """Whether a capitalised word that can be part of the same name stands before it."""
        initial = len(self.before) == 1 and self.before != "I" and self.gap_before in (". ", ".")
        return initial or (
            self.gap_before == " " and _capitalised(self.before) and self.before.casefold() not in _NO_NAMES
        )

    @property
    def precedes_name(self) -> bool:
        """Whether a capitalised word that can be its surname stands after it."""
        surname = _capitalised(self.after) and self.after.casefold() not in _NO_NAMES
        return self.gap_after == " " and (surname or self.after in _PARTICLES)

    @property
    def follows_first_name(self) -> bool:
        """Whether a word that goes before first names stands before it: *Uncle James*."""
        return (
            self.gap_before in (" ", ". ")
            and _capitalised(self.before)
            and (self.before.casefold() in BEFORE_FIRST_NAMES)
        )

    @property
    def follows_thing(self) -> bool:
        """Whether the word before it makes both the name of a place or thing: *San Juan*, *the Oscar*."""
        return self.gap_before in (" ", ". ") and (
            self.before.casefold() in _ARTICLES
            or self.before in _STORMS
            or (_capitalised(self.before) and self.before.casefold() in _BEFORE_THINGS)
        )

    @property
    def precedes_place(self) -> bool:
        """Whether the word after it makes both the name of a place."""
        return self.gap_after == " " and _capitalised(self.after) and self.after.casefold() in PLACES


def _capitalised(word: str) -> bool:
    return word[:1].isupper()


def is_first_name(beside: Neighbours, *, other_sense: bool, before_is_first: bool) -> bool:
    """Whether a capitalised word that is listed as a first name stands as one.

    Args:
        beside: the word's neighbours in the text.
        other_sense: whether the word is more often something else; then a surname or a title must show it.
        before_is_first: whether the word before it is listed as a first name too.
    """
    title = beside.gap_before in (" ", ". ") and beside.before.casefold() in BEFORE_FIRST_NAMES
    if beside.follows_thing:
        return False
    if beside.follows_title:
        return beside.precedes_name
    if title:
        return True
    if beside.follows_name:
        return beside.precedes_name and before_is_first and not other_sense
    return beside.precedes_name or not other_sense


def whole_name(text: str, start: int, end: int) -> tuple[int, int]:
    """Return start and end of a first name with the one that a hyphen joins to it, if any: *Jean-Luc*.

    Args:
        text: the text.
        start: offset of a listed first name.
        end: offset after it.
    """
    before = _JOINED_BEFORE.search(text, max(0, start - 30), start)
    after = _JOINED_AFTER.match(text, end)
    start = before.start() if before and find_name(before[1]) else start
    return start, after.end() if after and find_name(after[1]) else end


def last_names(text: str, *, whole: bool = False) -> set[str]:
    """Return the words that stand after a first name somewhere in a text: alone, they are no first names either.

    Args:
        text: the text.
        whole: whether the words must end their name, so that they are no first names before another word either, as in
            *Jackson Arrives*.
    """
    return {
        pair[2]
        for pair in _NAME_PAIR.finditer(text)
        if pair[1].casefold() not in BEFORE_FIRST_NAMES
        and find_name(pair[1])
        and not (whole and text[pair.end(2) + 1 : pair.end(2) + 2].isupper() and text[pair.end(2)] == " ")
    }


def is_demonym(word: str) -> bool:
    """Return whether a capitalised word tells whence somebody is: *Spaniard Juan Carlos*."""
    folded = word.casefold()
    return len(word) > 5 and folded.endswith(("ian", "iard", "ese", "german", "mexican")) and find_name(word) is None
