"""Actions that rewrite words by their form, without a parse."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from fairlab.rewriting.english.edits import BETWEEN_ALTERNATIVES, recase
from fairlab.rewriting.english.everybody import ALTERNATIVE
from fairlab.rewriting.english.given_names import whole_name
from fairlab.rewriting.english.pieces import split_words
from fairlab.rewriting.english.pronouns import AMBIGUOUS, SUBJECT
from fairlab.rewriting.english.vocabulary import Sense, Vocabulary
from fairlab.text.folding import fold, unaccented
from fairlab.text.words import match_case, word_pieces
from fairlab.types import NEUTRAL

_LISTING = (" and ", " & ", ", ", ", and ")  # text between coordinated adjectives


class Action(NamedTuple):
    """Action for one spelling of a word when rewriting to a target."""

    kind: str  # plain, ambiguous, subject, word, name, title, same; empty for a word that is not listed on its own
    new: str
    sense: Sense
    longer: bool  # whether it is also the first word of a longer term
    neutral: bool  # whether it is a neutral form that is converted back to an attribute
    other_sense: bool  # whether it is a first name that is more often another word
    noun: str  # the new form if an adjective is used as a noun: *a Muslim*


class ActionTable(NamedTuple):
    """Actions for a target by word, and the words that change alone, begin longer terms or are neutral forms.

    The words of the first two sets are also listed in lower case.
    """

    actions: dict[str, Action]
    changing: frozenset[str]
    longer: frozenset[str]
    folded: frozenset[str]
    neutral: frozenset[str]

    def is_idle(self, words: list[str], longer: Mapping[str, Iterable[tuple[tuple[str, ...], str]]]) -> bool:
        """Return whether no listed word changes, either alone or as the beginning of a longer term.

        ``longer`` holds the terms of :func:`longer_terms`.
        """
        if not self.changing.isdisjoint(words):
            return False
        if self.longer.isdisjoint(words):
            return True
        folded = set(map(fold, words))
        found = self.longer.intersection(words)
        return not any(folded.issuperset(term) for word in found for term, _ in longer[fold(word)])


class Actions:
    """Builder of action tables for the listed words of an axis.

    ``longer`` holds the first words of multi-word terms.
    """

    def __init__(self, vocabulary: Vocabulary, longer: Collection[str], *, swap_names: bool) -> None:
        self.vocabulary, self.longer, self.swap_names = vocabulary, longer, swap_names
        self.returning = {form.casefold() for form in vocabulary.lexicon.returning}
        # Nouns and titles in several entries; a neighbour shows which entry is meant.
        self.several = {
            surface
            for term, senses in vocabulary.senses.items()
            for attribute in vocabulary.lexicon.attributes
            if senses[0].pos in ("noun", "title") and len(_nouns(senses, attribute)) > 1
            for surface in surfaces(term)
        }

    def table(self, goal: Callable[[str], str]) -> ActionTable:
        """Build the table of actions for every spelling of a single word, and for the first words of longer terms."""
        table: dict[str, Action] = {}
        names: dict[Action, Action] = {}
        begins_term = Action("", "", Sense(NEUTRAL, None), longer=True, neutral=False, other_sense=False, noun="")
        for first in self.longer:
            table |= dict.fromkeys(surfaces(first), begins_term)
        for term, senses in self.vocabulary.senses.items():
            if len(word_pieces(term)) != 1:
                continue
            sense = senses[0]
            target = goal(sense.attribute)
            form = listed_form(self.vocabulary, sense, term)
            for surface in surfaces(form) | surfaces(unaccented(form)):
                made = self._action(surface, sense, target)
                if made is not None and (surface not in table or not table[surface].kind):
                    known = self.vocabulary.names.get(term) if sense.pos == "name" else None
                    other = bool(known and known.other_sense)
                    action = Action(
                        *made,
                        sense,
                        longer=term in self.longer,
                        neutral=sense.attribute == NEUTRAL,
                        other_sense=other,
                        noun=self._noun_form(surface, senses, target),
                    )
                    # Names share a few actions, so that the actions of frequent words stay in the processor's cache.
                    table[surface] = names.setdefault(action, action) if action.sense.entry is None else action
        changing = frozenset(word for word, action in table.items() if action.kind not in ("", "same"))
        longer = frozenset(word for word in table if fold(word) in self.longer)
        return ActionTable(
            table,
            changing=changing,
            longer=longer,
            folded=frozenset(map(str.casefold, changing | longer)),
            neutral=frozenset(word for word, action in table.items() if action.neutral),
        )

    def _action(self, surface: str, sense: Sense, target: str) -> tuple[str, str] | None:
        """Return the kind of the action on a word in a sense, and its new form, or None if it stays."""
        if sense.attribute == target:
            return ("same", "") if target != NEUTRAL and sense.pos != "name" else None
        if sense.pos == "pronoun":
            return self._pronoun_action(surface, sense, target)
        if sense.pos == "name":
            return ("name", "") if surface[:1].isupper() and self.swap_names else None
        if sense.entry is None or (sense.attribute == NEUTRAL and surface.casefold() not in self.returning):
            return None
        listed = sense.entry.forms[self.vocabulary.column(sense.attribute)]
        new = recase(surface, listed, self.vocabulary.form(sense.entry, target))
        if sense.pos == "title":
            return ("title", new) if surface[:1].isupper() else None
        return "word", new

    def _noun_form(self, surface: str, senses: Sequence[Sense], target: str) -> str:
        """Return the new form of an adjective that is used as a noun, or "" if it is not listed as both."""
        first = senses[0]
        nouns = _nouns(senses, first.attribute) if first.pos == "adjective" and first.attribute != target else []
        made = self._action(surface, nouns[0], target) if nouns else None
        return made[1] if made is not None else ""

    def _pronoun_action(self, surface: str, sense: Sense, target: str) -> tuple[str, str] | None:
        if surface == "US":
            return None
        if surface.casefold() in AMBIGUOUS:
            return "ambiguous", target
        column = self.vocabulary.column(sense.attribute)
        for case, row in self.vocabulary.pronouns.items():
            if row.forms[column].casefold() == surface.casefold() or (
                case == "reflexive" and surface.casefold() == "themselves"
            ):
                changes_number = case == SUBJECT and (sense.attribute == NEUTRAL) != (target == NEUTRAL)
                new = match_case(surface, self.vocabulary.form(row, target))
                return "subject" if changes_number else "plain", new
        return None


def _nouns(senses: Iterable[Sense], attribute: str) -> list[Sense]:
    """Return the senses in which a word is a noun or title of an attribute."""
    return [one for one in senses if one.attribute == attribute and one.pos in ("noun", "title")]


class WithAccents:
    """Action table that also finds accented words by their letters without accents."""

    def __init__(self, table: Mapping[str, Action]) -> None:
        self.table = table

    def __contains__(self, word: str) -> bool:
        return word in self.table or (not word.isascii() and unaccented(word) in self.table)

    def __getitem__(self, word: str) -> Action:
        return self.table[word] if word in self.table else self.table[unaccented(word)]


class TextWords:
    """Case-folded words of a text, for membership tests.

    The text is split into words only if it contains the searched word as a string.
    """

    def __init__(self, text: str) -> None:
        self.text = text.casefold()

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word in self.text and word in split_words(self.text)


def longer_terms(vocabulary: Vocabulary) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Return the multi-word terms with their pieces, longest first, by their first word."""
    longer: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for term in vocabulary.senses:
        pieces = word_pieces(term)
        if len(pieces) > 1:
            longer.setdefault(pieces[0], []).append((pieces, term))
    for terms in longer.values():
        terms.sort(key=lambda item: -len(item[0]))
    return longer


def surfaces(form: str) -> set[str]:
    """Return the spellings of a form: as listed, in lower case, capitalised, and in capitals."""
    return {form, form.lower(), form[:1].upper() + form[1:], form.upper()}


def listed_form(vocabulary: Vocabulary, sense: Sense, term: str) -> str:
    """Return the listed spelling of a case-folded term in a sense."""
    if sense.entry is None:
        return vocabulary.names[term].name
    column = vocabulary.column(sense.attribute)
    form = sense.entry.forms[column]
    return form if form.casefold() == term else term


def say_alternatives_once(pieces: list[str], hits: list[int]) -> None:
    """Remove the second of two alternatives that have become the same word, and their separator: *mom/dad*.

    Removed pieces become empty. ``hits`` are the indices of the listed words.
    """
    for hit in hits:
        for first, last in ((hit - step, hit) for step in (2, 4, 6)):
            _say_once(pieces, first, last)
        for first, last in ((hit, hit + step) for step in (2, 4, 6)):
            _say_once(pieces, first, last)


def without_repeated_adjectives(
    pieces: Sequence[str], hits: Sequence[int], table: Mapping[str, Action] | WithAccents
) -> list[int]:
    """Leave out coordinated adjectives that would become the same word: *the Christian and Hindu faiths*.

    Returns:
        Indices of the words to rewrite; left-out words stay unchanged.
    """
    repeated: set[int] = set()
    for first, last in pairwise(hits):
        one, other = table[pieces[first]], table[pieces[last]]
        if one.sense.pos == other.sense.pos == "adjective" and pieces[first].casefold() != pieces[last].casefold():
            same = (one.new or pieces[first]).casefold() == (other.new or pieces[last]).casefold()
            if same and "".join(pieces[first + 1 : last]) in _LISTING:
                repeated |= {first, last}
    return [hit for hit in hits if hit not in repeated]


def _say_once(pieces: list[str], first: int, last: int) -> None:
    if first < 0 or last >= len(pieces) or not pieces[last] or pieces[first].casefold() != pieces[last].casefold():
        return
    if BETWEEN_ALTERNATIVES.fullmatch("".join(pieces[first + 1 : last])):
        pieces[first + 1 : last + 1] = [""] * (last - first)


def join_name(pieces: list[str], place: int) -> bool:
    """Merge a hyphenated first name, such as *Mary-Jane*, into one word, and return whether there is one."""
    begin = max(0, place - 2)
    text = "".join(pieces[begin : place + 3])
    start = len("".join(pieces[begin:place]))
    first, last = whole_name(text, start, start + len(pieces[place]))
    before, after = first < start, last > start + len(pieces[place])
    if before:
        pieces[place] = "".join(pieces[place - 2 : place + 1])
        pieces[place - 2 : place] = ["", ""]
    if after:
        pieces[place] += "".join(pieces[place + 1 : place + 3])
        pieces[place + 1 : place + 3] = ["", ""]
    return before or after


def join_alternatives(
    pieces: list[str], spans: list[tuple[int, int]], hits: list[int], table: Mapping[str, Action] | WithAccents
) -> list[int]:
    """Keep only the second pronoun of *he or she* and *his/her*, and return the remaining indices of listed words."""
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
