"""Agreement of verbs with a pronoun whose number changes, based on neighbouring words.

A text is a list of words (even indices) and separators (odd indices), and is changed in place.
"""

from __future__ import annotations

from fairlab.rewriting.english.agreement import (
    PLURAL,
    SINGULAR,
    is_third_person,
    plural_verb,
    singular_verb,
    takes_have,
)
from fairlab.rewriting.english.pieces import piece
from fairlab.rewriting.english.pronouns import NOT_POSSESSED
from fairlab.text.words import cached_for_recent_words, match_case

MODALS = frozenset("can could will would shall should may might must cannot".split())
ADVERBS = frozenset(
    "not never ever also just still then often always sometimes only even already now soon both".split()
)
_OPENERS = frozenset("what where why how when who whom which or and but so if that than as".split()) | {""}
# Words that leave the verb of a question bare: *do they walk*, *can't he walk*.
_ASKING = MODALS | frozenset("do did don didn won couldn wouldn shouldn".split())
_AFTER_VERBS = NOT_POSSESSED | frozenset("one two three more most much many his her".split())


def agree(pieces: list[str], place: int, *, third_person: bool) -> None:
    """Make the verbs of a subject pronoun agree with its replacement.

    ``third_person`` means that the verbs are in the third person singular before the change.
    """
    verb = _verb_after(pieces, place, third_person)
    if verb is None:
        _agree_inverted(pieces, place, third_person)
    elif third_person:
        _agree_coordinated(pieces, verb)


def _verb_after(pieces: list[str], place: int, third_person: bool) -> int | None:
    gap = piece(pieces, place + 1)
    if gap in ("'", "’"):
        ending = piece(pieces, place + 2)
        if third_person and ending == "s":
            then = place + 6 if piece(pieces, place + 4).lower() in ADVERBS else place + 4
            perfect = takes_have(piece(pieces, then).lower(), piece(pieces, then + 2).lower())
            pieces[place + 2] = "ve" if perfect else "re"
        elif not third_person and ending in ("re", "ve"):
            pieces[place + 2] = "s"
        else:
            return None
        return place + 2
    for verb in range(place + 2, min(place + 8, len(pieces)), 2):
        if not pieces[verb - 1].isspace():
            return None
        word = pieces[verb].lower()
        if word in MODALS:
            return None
        forms = PLURAL if third_person else SINGULAR
        if word in forms:
            pieces[verb] = match_case(pieces[verb], forms[word])
            return verb
        if word in ADVERBS or (word.endswith("ly") and word not in ("apply", "rely", "fly", "supply", "reply")):
            continue
        if third_person and is_third_person(word):
            pieces[verb] = plural_verb(pieces[verb])
            return verb
        asked = _asking(pieces, place)
        if not third_person and _is_base(word) and (asked is None or pieces[asked].lower() not in _ASKING):
            pieces[verb] = singular_verb(pieces[verb])
            return verb
        return None
    return None


def _asking(pieces: list[str], place: int) -> int | None:
    """Return the index of the word before a pronoun, without *n't*, if it may be the verb of a question."""
    verb = place - 2
    if verb < 0 or pieces[place - 1] != " ":
        return None
    if pieces[verb] == "t" and piece(pieces, verb - 1) in ("'", "’"):
        return verb - 2
    opener = piece(pieces, verb - 2).lower() if piece(pieces, verb - 1).isspace() else ""
    return verb if opener in _OPENERS else None


def _agree_inverted(pieces: list[str], place: int, third_person: bool) -> None:
    """Rewrite the verb before the pronoun in a question, if there is one: *is he*, *doesn't she*."""
    forms = PLURAL if third_person else SINGULAR
    verb = _asking(pieces, place)
    if verb is None:
        return
    if third_person and pieces[verb] == "s" and piece(pieces, verb - 1) in ("'", "’"):  # where's he
        pieces[verb] = "re"
    elif pieces[verb].lower() in forms:
        pieces[verb] = match_case(pieces[verb], forms[pieces[verb].lower()])


def _agree_coordinated(pieces: list[str], verb: int) -> None:
    """Rewrite the verbs after *and*, *but* or *or* in the same clause if the next word shows that they are verbs."""
    for place in range(verb + 2, min(verb + 26, len(pieces) - 2), 2):
        if not pieces[place - 1].isspace() and pieces[place - 1] != ", ":
            return
        if pieces[place] not in ("and", "but", "or") or pieces[place + 1] != " ":
            continue
        candidate = place + 2
        if pieces[candidate] in ADVERBS and candidate + 2 < len(pieces):
            candidate += 2
        word = pieces[candidate].lower()
        following = piece(pieces, candidate + 2).lower()
        shown = place == verb + 2 or following in _AFTER_VERBS
        if word in PLURAL or (shown and is_third_person(word)):
            pieces[candidate] = plural_verb(pieces[candidate])


@cached_for_recent_words
def _is_base(word: str) -> bool:
    """Return whether a word is a present-tense verb without an ending and not a past form: *fall*, but not *fell*."""
    from lemminflect import getAllLemmas

    return getAllLemmas(word, upos="VERB").get("VERB", ()) == (word,)
