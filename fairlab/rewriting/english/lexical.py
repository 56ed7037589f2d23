"""Lexical mode of the rule rewriter, which uses neighbouring words instead of a parse.

Distant verbs (*he gets up early and mostly walks*) and ambiguous words change only if a neighbour shows their sense.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress, count

from fairlab.rewriting.english.agreement import article, possessive
from fairlab.rewriting.english.casing import (
    in_sentence_case,
    may_be_read_in_another_case,
    may_gain_capitals,
    read_cased,
)
from fairlab.rewriting.english.coordinated import CoordinatedPieces
from fairlab.rewriting.english.edits import recase
from fairlab.rewriting.english.given_names import (
    SAYING,
    is_double_name,
    is_first_name,
    is_plainly_first_name,
    piece_neighbours,
    without_role,
)
from fairlab.rewriting.english.lexical_actions import (
    Action,
    Actions,
    ActionTable,
    TextWords,
    WithAccents,
    join_alternatives,
    join_name,
    longer_terms,
    say_alternatives_once,
    surfaces,
    without_repeated_adjectives,
)
from fairlab.rewriting.english.lexical_agreement import MODALS, agree
from fairlab.rewriting.english.people import is_noun_by_neighbours, is_people, is_person
from fairlab.rewriting.english.pieces import is_in_compound, piece_spans, split_words, with_gaps
from fairlab.rewriting.english.pronouns import NOT_POSSESSED, case_by_neighbours
from fairlab.rewriting.english.protected import is_within_thing_name, protected_spans, things_by_word
from fairlab.rewriting.english.vocabulary import Sense, Vocabulary
from fairlab.text.cleaning import PARAGRAPH
from fairlab.text.folding import fold
from fairlab.text.view import Edit, View, is_plain, may_join_words
from fairlab.text.words import is_part_of_age, match_case, word_pieces
from fairlab.types import NEUTRAL

_BEFORE_VERBS = MODALS | frozenset("to not i we you they don didn didn't don't doesn".split())
_JOINING = frozenset("-'’")
_APOSTROPHES = frozenset("'’")
_ARTICLES = frozenset(("a", "an", "A", "An"))
_SUBJECTS = frozenset("he she they i you we who".split())
_BE = frozenset("is was are were be been being am s re".split())


class LexicalRules:
    """Rewriter that uses only the words of a text, without a parse."""

    def __init__(self, vocabulary: Vocabulary, *, swap_names: bool, keep_quotations: bool) -> None:
        self.vocabulary, self.swap_names, self.keep_quotations = vocabulary, swap_names, keep_quotations
        self.tables: dict[tuple[str, str | None], ActionTable] = {}
        self.longer = longer_terms(vocabulary)
        self.actions = Actions(vocabulary, self.longer, swap_names=swap_names)
        # Words that some contexts rule out as mentions before their sense is determined.
        self.doubtful = frozenset(things_by_word()) | surfaces("old")
        # Lower-case words that may need a capital in order to be rewritten.
        capital = (term for term, senses in vocabulary.senses.items() if {s.pos for s in senses} & {"name", "title"})
        self.capitalised = {piece for term in capital for piece in word_pieces(term)}

    def rewrite(self, text: str, target: str, source: str | None = None) -> str:
        """Return ``text`` with all mentions, or only mentions of the attribute ``source``, rewritten to ``target``."""
        table = self.tables.get((target, source)) or self._build_table(
            target, source, lambda attribute: target if source in (None, attribute) else attribute
        )
        return self._run(text, table, target, source)

    def exchange(self, text: str, other: dict[str, str]) -> str:
        """Return ``text`` with the attribute of every mention replaced as ``other`` maps it."""
        table = self.tables.get(("", None)) or self._build_table(
            "", None, lambda attribute: other.get(attribute, attribute)
        )
        return self._run(text, table, "")

    def _build_table(self, target: str, source: str | None, goal: Callable[[str], str]) -> ActionTable:
        """Build the action table for a target and cache it for the next text."""
        self.tables[target, source] = table = self.actions.table(goal)
        return table

    def _run(self, text: str, table: ActionTable, target: str, source: str | None = None) -> str:
        """Rewrite a text with an action table."""
        words, small = split_words(text), text.islower()
        if small or "\n" in text:  # names in lower-case paragraphs get their capitals back
            idle = table.folded.isdisjoint(words if small else map(str.casefold, words))
        else:
            idle = table.is_idle(words, self.longer)
        if idle and not may_join_words(text):
            return text
        plain = is_plain(text)
        if plain and small and text.isascii():
            if not self.capitalised.isdisjoint(words) and may_gain_capitals(text, self.capitalised):
                text = in_sentence_case(text)
                words = split_words(text)
            return self._run_read(text, words, None, table, target, source).lower()
        if plain and not may_be_read_in_another_case(text):
            return self._run_read(text, words, None, table, target, source)
        view = read_cased(text)
        return self._run_read(view.text, split_words(view.text), view, table, target, source)

    def _run_read(
        self, text: str, words: list[str], view: View | None, listed: ActionTable, target: str, source: str | None
    ) -> str:
        """Rewrite a text in sentence case and convert it back. ``view`` is None if the text was not converted."""
        plain = text.isascii() or all(map(str.isascii, words))
        table = listed.actions if plain else WithAccents(listed.actions)
        hits = list(compress(count(0, 2), map(table.__contains__, words)))
        if not hits:
            return view.original if view else text
        pieces = with_gaps(text, words)
        work = _Work(self, text, pieces, target, source)
        if not (plain and listed.neutral.isdisjoint(words)):
            others = [place for place in hits if not table[pieces[place]].neutral]
            if len(others) != len(hits) and (
                any(work.shows(place, table[pieces[place]]) for place in others)
                or any(map(is_people, map(str.lower, pieces[: hits[0] : 2])))
            ):
                hits = others
        kept = protected_spans(text, quotations=self.keep_quotations)
        spans = piece_spans(pieces) if kept or (view and not view.is_unchanged) else []
        if kept:
            hits = [place for place in hits if not any(start <= spans[place][0] < end for start, end in kept)]
        alternatives = target and ("/" in text or " or " in text or " OR " in text)
        if alternatives:
            hits = join_alternatives(pieces, spans, hits, table)
        hits, hyphens = without_repeated_adjectives(pieces, hits, table), "-" in text
        found = [(place, pieces[place], table[pieces[place]]) for place in hits]
        for place, _, action in found:
            if action.kind == "plain" and not (hyphens or action.longer):
                pieces[place] = action.new
            elif pieces[place]:  # empty: part of a longer term that has been rewritten
                work.turn(place, action)
        if alternatives:
            say_alternatives_once(pieces, [place for place, word, _ in found if pieces[place] != word])
        if view is None or view.is_unchanged:
            return "".join(pieces)
        return view.write(
            Edit(start, end, new) for (start, end), new in zip(spans, pieces, strict=True) if new != text[start:end]
        )


class _Work:
    """State of a text that is being rewritten in place."""

    taken: TextWords | None = None  # words that a new name must not equal; set at the first name
    coordinated: CoordinatedPieces | None = None  # set at the first word with several senses

    def __init__(self, rules: LexicalRules, text: str, pieces: list[str], target: str, source: str | None) -> None:
        self.rules, self.text, self.pieces, self.target, self.source = rules, text, pieces, target, source

    def word(self, place: int) -> str:
        """Return the word at an even index or the separator at an odd one, or "" if the index is out of range."""
        return self.pieces[place] if 0 <= place < len(self.pieces) else ""

    gap = word

    def shows(self, place: int, action: Action) -> bool:
        """Return whether a word has its listed sense. A word listed only in longer terms must begin one of them."""
        if not action.kind:
            return self._find_longer(place) is not None
        joined = "-" in (self.gap(place - 1), self.gap(place + 1))
        return action.kind != "name" or action.longer or joined or self._is_first_name(place, action)

    def turn(self, place: int, action: Action) -> None:
        """Apply one change if the word is used in the relevant sense."""
        kind, pieces = action.kind, self.pieces
        if pieces[place] in self.rules.doubtful and (
            is_within_thing_name(pieces, place) or is_part_of_age(pieces[place], "".join(pieces[place - 2 : place]))
        ):
            return
        if action.longer and self._turn_longer(place):
            return
        if kind in ("", "same"):
            return
        if pieces[place - 1] in _JOINING or (place < len(pieces) - 1 and pieces[place + 1] in _JOINING):
            joined = kind == "name" and join_name(pieces, place)
            if not joined and is_in_compound(pieces, place):
                return
        if kind == "name":
            self._turn_name(place, action)
        elif pieces[place] in self.rules.actions.several and (
            sense := self._shown_sense(place, action.sense.attribute)
        ):
            self._put(place, place, self._form_of(place, sense))
        elif kind == "plain":
            pieces[place] = action.new
        elif kind == "ambiguous":
            self._turn_ambiguous(place, action)
        elif kind == "subject":
            agree(pieces, place, third_person=action.sense.attribute != NEUTRAL)
            pieces[place] = action.new
        elif kind == "title":
            if action.new not in ("Dame", "Sir") or piece_neighbours(self.pieces, place).precedes_name:
                pieces[place] = action.new
        elif self._has_sense(place, action.sense):
            is_noun = action.noun and self._means_one(place)
            self._put(place, place, action.noun if is_noun else self._form_in_context(place, action))

    def _means_one(self, place: int) -> bool:
        """Return whether an adjective is used as a noun for one person: *this Christian prays*."""
        beside = piece_neighbours(self.pieces, place)
        return is_noun_by_neighbours(beside.before, beside.gap_after, beside.after, self._noun_after(place))

    def _shown_sense(self, place: int, attribute: str) -> Sense | None:
        """Return the sense of a coordinated noun or title, or of a title before a name, and None for other words."""
        self.coordinated = self.coordinated or CoordinatedPieces(self.rules.vocabulary.senses, self.pieces)
        last = self.coordinated.last(place, attribute)
        return self.coordinated.sense(place, attribute, titled=piece_neighbours(self.pieces, last).precedes_name)

    def _form_of(self, place: int, sense: Sense) -> str:
        """Return the target form of a word in a sense that has an entry."""
        vocabulary = self.rules.vocabulary
        assert sense.entry is not None
        new = vocabulary.form(sense.entry, self._goal(sense.attribute))
        return recase(self.pieces[place], vocabulary.listed(sense), new)

    def _goal(self, attribute: str) -> str:
        """Return the target or, in a swap, the other attribute."""
        return self.target or next(one for one in self.rules.vocabulary.lexicon.attributes if one != attribute)

    def _form_in_context(self, place: int, action: Action) -> str:
        """Return the new form of a word. Among several neutral forms, choose the one that fits the following word."""
        entry, vocabulary = action.sense.entry, self.rules.vocabulary
        if entry is None or len(entry.neutral_forms) == 1 or not self.target:
            return action.new
        listed = entry.forms[vocabulary.column(action.sense.attribute)]
        return recase(self.pieces[place], listed, vocabulary.form(entry, self.target, self._noun_after(place)))

    def _noun_after(self, place: int) -> str:
        """Return the kind of noun after a word, ``person`` or ``noun``, or "" if the next word does not show it."""
        following = self.word(place + 2).lower()
        if self.gap(place + 1) != " " or not following or following in NOT_POSSESSED:
            return ""
        return "person" if is_person(following, self.rules.vocabulary.lexicon.people) else "noun"

    def _turn_ambiguous(self, place: int, action: Action) -> None:
        found, goal = self.pieces[place], action.new
        gap = self.gap(place + 1)
        if gap in (") ", "' ", '" ') and self.gap(place - 1)[-1:] == gap[0].replace(")", "("):  # (her) bag, 'her' bag
            gap = " "
        case = case_by_neighbours(found.lower(), gap, self.word(place + 2).lower(), self.word(place + 4).lower())
        row = self.rules.vocabulary.pronouns[case]
        self.pieces[place] = match_case(found, self.rules.vocabulary.form(row, goal))

    def _turn_longer(self, place: int) -> bool:
        """Rewrite the multi-word term that begins at ``place``, and return whether there is one."""
        vocabulary = self.rules.vocabulary
        longer = self._find_longer(place)
        if longer is None:
            return False
        last, sense = longer
        target = self._goal(sense.attribute)
        if sense.attribute in (target, NEUTRAL) or self.source not in (None, sense.attribute):
            return True
        found = "".join(self.pieces[place : last + 1])
        if sense.pos == "name" and not (found[:1].isupper() and self.rules.swap_names):
            return True
        if sense.entry is None:  # a listed name: Jean-Luc
            self._put(place, last, match_case(found, vocabulary.name(found, sense, target, set())))
            return True
        new = vocabulary.form(sense.entry, target, self._noun_after(last))
        self._put(place, last, recase(found, vocabulary.listed(sense), new))
        return True

    def _find_longer(self, place: int) -> tuple[int, Sense] | None:
        """Return the last index and the sense of the multi-word term that begins at ``place``, or None."""
        following = fold(self.word(place + 2))
        for words, term in self.rules.longer.get(fold(self.pieces[place]), ()):  # a verb may have changed
            if words[1] == following and all(
                fold(self.word(place + 2 * number)) == word for number, word in enumerate(words[2:], start=2)
            ):
                last, sense = place + 2 * len(words) - 2, self.rules.vocabulary.senses[term][0]
                is_place = sense.pos == "name" and piece_neighbours(self.pieces, last).precedes_place
                return None if is_place else (last, sense)
        return None

    def _turn_name(self, place: int, action: Action) -> None:
        if not self._is_first_name(place, action):
            return
        pieces, sense, last = self.pieces, action.sense, place
        found, target = pieces[place], self._goal(sense.attribute)
        if self.taken is None:
            self.taken = TextWords(self.text)
        taken = self.taken if sense.entry is None else ()  # replacements from a row of the lexicon are reversible
        new = self.rules.vocabulary.name(found, sense, target, taken)
        if place + 2 < len(pieces) and pieces[place + 1] == " ":
            second = pieces[place + 2]
            last = place + 2 if second[:1].isupper() and is_double_name(found, second) else place
            if piece_neighbours(pieces, last).precedes_place:
                return
        self._put(place, last, new.upper() if found.isupper() and len(found) > 1 else new)

    def _is_first_name(self, place: int, action: Action) -> bool:
        """Return whether a listed name is used as a first name."""
        if "-" not in self.pieces[place] and (
            (sure := is_plainly_first_name(self.pieces, place, other_sense=action.other_sense)) is not None
        ):
            return sure
        beside, vocabulary = piece_neighbours(self.pieces, place), self.rules.vocabulary
        if beside.precedes_place:
            return False
        known = vocabulary.names.get(fold(self.pieces[place]))
        other = known.other_sense if known else ""
        is_usual = other == "word" or (other == "surname" and known is not None and known.is_counted)
        if is_usual and beside.before and beside.after.lower() in SAYING:
            other = other if PARAGRAPH in beside.gap_before else ""
        listed = (beside := without_role(beside)).follows_name and vocabulary.is_listed_name(beside.before)
        return is_first_name(beside, other_sense=other != "", before_is_first=listed)

    def _has_sense(self, place: int, sense: Sense) -> bool:
        """Return whether a noun or adjective at ``place`` is used in the relevant sense."""
        found = self.pieces[place]
        other = self.rules.vocabulary.lexicon.polysemous.get(found.casefold())
        if found[:1].isupper() and found[1:].islower():
            beside = piece_neighbours(self.pieces, place)
            if beside.follows_title or beside.precedes_place or (other == "surname" and beside.follows_name):
                return False
            if other == "deity":
                return beside.precedes_name
            if found == "Miss" and not beside.precedes_name:
                return False
        elif found == "miss":
            return False
        if other in (None, "surname", "deity"):
            return True
        before, following = self.word(place - 2).lower(), self.word(place + 2).lower()
        if other == "verb":
            return before not in _BEFORE_VERBS and following not in ("the", "our", "their", "this", "these")
        if self.gap(place + 1) == " " and (
            self._noun_after(place) == "person" or following in self.rules.vocabulary.senses
        ):
            return True
        if before in _BE and self.gap(place + 1) != " ":
            return before in ("am", "re") or self.word(place - 4).lower() in _SUBJECTS
        return sense.pos == "noun" and found[:1].isupper() and found.endswith("s")

    def _put(self, first: int, last: int, new: str) -> None:
        """Replace the pieces from ``first`` to ``last``, and correct the article, the ending and the spaces."""
        pieces = self.pieces
        found = pieces[last]
        new = new or self._drop(first, last)
        if first != last:
            pieces[first : last + 1] = [""] * (last + 1 - first)
        pieces[first] = new
        if last + 1 < len(pieces) and pieces[last + 1][:1] in _APOSTROPHES and new:
            self._put_ending(last, found, new)
        if first and pieces[first - 1] == " " and pieces[first - 2] in _ARTICLES:
            sounding = new.split(" ")[0].split("-")[0] or self.word(last + 2)
            pieces[first - 2] = match_case(pieces[first - 2], article(sounding))

    def _put_ending(self, last: int, found: str, new: str) -> None:
        """Correct the possessive ending after the word at ``last`` has been replaced."""
        pieces, after = self.pieces, self.pieces[last + 1]
        if after in _APOSTROPHES and self.word(last + 2) == "s":
            if len(possessive(new, after + "s")) == 1:
                pieces[last + 2] = ""
        elif found.endswith("s") and not new.endswith("s") and after[1:2] in ("", " "):
            pieces[last + 1] = after[0] + "s" + after[1:]

    def _drop(self, first: int, last: int) -> str:
        """Drop words without a new form: return the standalone phrase or, before a noun, "", without the next space."""
        following = self.word(last + 2)
        if not self._noun_after(last):
            return self.rules.vocabulary.lexicon.alone
        self.pieces[last + 1] = ""
        if self.pieces[first][:1].isupper() and self.gap(first - 1)[:1] in ".!?":  # or at the start of the text
            self.pieces[last + 2] = following[:1].upper() + following[1:]
        return ""
