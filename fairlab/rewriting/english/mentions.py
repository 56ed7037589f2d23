"""Mentions of an axis in a parsed text: listed words that are used in the relevant sense."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fairlab.lexicons.names import find_name
from fairlab.rewriting.english import senses
from fairlab.rewriting.english.ages import age_in_years, find_ages, whose_age
from fairlab.rewriting.english.coordinated import coordinated_words, shared_entries
from fairlab.rewriting.english.given_names import (
    BEFORE_FIRST_NAMES,
    Neighbours,
    is_first_name,
    last_names,
    neighbours,
    whole_name,
    without_role,
)
from fairlab.rewriting.english.people_judge import PeopleJudge
from fairlab.rewriting.english.protected import names_of_things, protected_spans
from fairlab.rewriting.english.syntax import Syntax, means_person
from fairlab.rewriting.english.things import is_in_longer_name, is_named_with_capital, is_ruler_of, owns_capitalised
from fairlab.rewriting.english.vocabulary import ListedWord, Sense, Vocabulary
from fairlab.text.folding import fold
from fairlab.text.words import RECENT, WORD, Span, TermFinder, in_compound, word_pieces
from fairlab.types import NEUTRAL, FairlabError

_PAGEANTS = frozenset("America Universe World USA New North South West Texas California Florida Ohio Georgia".split())
_ABBREVIATED = ("Mr", "Mrs", "Ms", "Mx", "MR", "MRS", "MS")
_OFFICES = frozenset("Chancellor Mayor Justice Justices Chief Advocate Provost Lieutenant Chamberlain".split())
_SEVERAL = re.compile(r"[,;:()]")
# After one of these words, a noun that can also be a verb is a verb.
BEFORE_VERBS = frozenset("can could will would shall should may might must cannot to not i we you they don".split())
_NAME_TAGS = ("NNP", "NNPS", "NN", "NNS", ".", "HYPH", "FW")


UNALIGNED = "a word is joined to others"  # key under which the following error is counted


class Unaligned(FairlabError):
    """Error about a listed word that the parser does not separate from its neighbours."""


@dataclass(frozen=True)
class Mention:
    """Listed word in a text, in one sense.

    Attributes:
        start: Offset of the mention's first character.
        end: Offset after the mention's last character.
        found: Word as written in the text.
        sense: Attribute that the word marks, and its entry.
        token: Last spaCy token of the mention, or None if the text was not parsed.
        returns: Whether a neutral form may be converted back to an attribute.
        case: Case of a pronoun if it was determined without a parse, else empty.
    """

    start: int
    end: int
    found: str
    sense: Sense
    token: Any
    returns: bool
    case: str = ""


@dataclass(frozen=True)
class Possible:
    """Possible attributes of a text, judged from the text alone.

    Attributes:
        attributes: Attributes that the text's words may show, which can include ``neutral``.
        certain: Attributes shown by a pronoun, which always counts.
        returns: Whether the text may contain a neutral form that can be converted back to an attribute.
    """

    attributes: frozenset[str]
    certain: frozenset[str]
    returns: bool


class MentionFinder:
    """Finder of mentions in texts.

    With ``keep_quotations``, words in quotations are no mentions.
    """

    def __init__(self, vocabulary: Vocabulary, *, keep_quotations: bool) -> None:
        self.vocabulary, self.keep_quotations = vocabulary, keep_quotations
        self.finder = TermFinder(vocabulary.senses)
        self._recent: dict[str, list[ListedWord]] = {}
        self.returning = {form.casefold() for form in vocabulary.lexicon.returning}
        self.idioms = TermFinder(vocabulary.lexicon.idioms)
        named = {term for term, senses in vocabulary.senses.items() if all(sense.pos == "name" for sense in senses)}
        self.names = {word_pieces(term)[0] for term in named}
        judged = vocabulary.lexicon.judged
        self.judge = PeopleJudge(vocabulary.lexicon.axis, judged) if judged else None
        self.first_words = {word_pieces(term)[0] for term in vocabulary.senses if term not in named}

    def may_change(self, text: str) -> bool:
        """Return whether the text has the first word of a listed term, a capitalised first name or an age.

        This checks only the words, which avoids parsing most texts.
        """
        words = WORD.findall(text)
        folded = str.casefold if text.isascii() else fold
        if not self.first_words.isdisjoint(map(folded, words)):
            return True
        if any(word[:1].isupper() and folded(word) in self.names for word in words):
            return True
        return self.may_hold_age(text)

    def may_hold_age(self, text: str) -> bool:
        """Return whether a number in the text has the form of an age, on an axis that has ages."""
        return bool(self.vocabulary.lexicon.figures) and next(find_ages(text), None) is not None

    def possible(self, text: str) -> Possible:
        """Return the possible attributes of the text, judged from its words and their neighbours."""
        if not self.may_change(text):
            return Possible(frozenset(), frozenset(), returns=False)
        found = self.listed(text)
        attributes = {sense.attribute for one in found for sense in one.senses}
        attributes |= {sense.attribute for _, _, sense in self._possible_ages(text)}
        certain = {sense.attribute for one in found for sense in one.senses if sense.pos == "pronoun"}
        returns = any(self._returns(one, sense) for one in found for sense in one.senses if sense.attribute == NEUTRAL)
        return Possible(frozenset(attributes), frozenset(certain), returns)

    def named_words(self, text: str) -> Iterator[int]:
        """Yield the starts of the words whose sense depends on the named entities of their sentence.

        These are names of a person or a thing, and the title *Miss* before a person or a place.
        """
        for one in self.listed(text):
            beside = one.beside.precedes_name or one.beside.follows_name
            named = any(sense.pos == "name" for sense in one.senses) and (beside or _has_other_sense(one.word))
            if named or (one.word == "Miss" and one.beside.after not in _PAGEANTS):
                yield one.start

    def listed(self, text: str) -> list[ListedWord]:
        """Return the listed words that may be mentions, judged from the text alone, from left to right."""
        found = self._recent.get(text)
        if found is None:
            if len(self._recent) >= RECENT:
                self._recent.clear()
            found = self._recent[text] = self._look_up(text)
        return found

    def _look_up(self, text: str) -> list[ListedWord]:
        """Compute the result of :meth:`listed` for a text that is not cached yet."""
        spans = list(self.finder.find_read(text))
        if not spans:
            return []
        protected, surnames, last = self._protected_parts(text), last_names(text), last_names(text, whole=True)
        found = []
        for span in self._extend_names(text, spans):
            if any(start < span.end and span.start < end for start, end in protected) or in_compound(text, span):
                continue
            if _SEVERAL.search(text, span.start, span.end):  # "European, American" is not "European American"
                continue
            word, beside = text[span.start : span.end], neighbours(text, span.start, span.end)
            senses = tuple(
                sense
                for sense in self.vocabulary.senses[span.term]
                if _may_have_sense(word, sense, beside, last if beside.precedes_name else surnames)
            )
            if senses:
                found.append(ListedWord(span.start, span.end, word, senses, beside))
        return found

    def _extend_names(self, text: str, spans: Iterable[Span]) -> Iterator[Span]:
        """Yield the spans, extended to whole hyphenated names: *Mary-Jane* is one span."""
        last = 0
        for span in spans:
            if span.start >= last:
                named = self.vocabulary.senses[span.term][0].pos == "name"
                start, last = whole_name(text, span.start, span.end) if named else (span.start, span.end)
                yield Span(start, last, span.term)

    def possible_senses(self, text: str) -> Iterator[tuple[str, Sense]]:
        """Yield the words that may be mentions, judged from the text alone, each with its possible senses."""
        for one in self.listed(text):
            yield from ((one.word, sense) for sense in one.senses)
        yield from ((text[start:end], sense) for start, end, sense in self._possible_ages(text))

    def _protected_parts(self, text: str) -> list[tuple[int, int]]:
        """Return the spans whose words do not count: addresses, titles of works, idioms, and names of things."""
        found = protected_spans(text, quotations=self.keep_quotations)
        found += [(span.start, span.end) for span in self.idioms.find_read(text)]
        return found + names_of_things(text)

    def find(self, text: str, syntax: Syntax) -> list[Mention]:
        """Return the mentions from left to right.

        Raises:
            Unaligned: The parser does not separate a listed word from its neighbours, so the text would be rewritten
                only in part.
        """
        syntax.part((one.start, one.end) for one in self.listed(text))
        found = list(self._ages(text, syntax))
        judge = self.judge
        judged = judge.people(text, judge.asked(self.listed(text))) if judge else frozenset()
        shared = shared_entries(text, self.listed(text))
        for one in self.listed(text):
            token = syntax.last_token(one.start, one.end)
            if token is None:
                around = text[max(0, one.start - 12) : one.end + 12]
                raise Unaligned(f"'{one.word}' cannot be separated from what it is joined to in '{around}'; part them")
            beside = without_role(one.beside)
            if not (beside.follows_title or beside.follows_thing) and _follows_other_word(syntax, one.start):
                beside = beside._replace(before="", gap_before="")
            told = shared.get(one.start, ())
            person = judge is not None and means_person(token, syntax)
            ordered = sorted(one.senses, key=lambda sense: (_order(sense, token, syntax), sense.entry not in told))
            for sense in sorted(ordered, key=lambda sense: sense.pos != "noun") if person else ordered:
                is_judged = judge is not None and judge.judges(sense)
                is_judged_person = one.start in judged and not _begins_name(one)  # not Christian Andersen
                if is_judged_person if is_judged else self._has_sense(one.word, sense, beside, token, syntax):
                    found.append(self._mention(one, sense, token))
                    break
        if judge is None:
            known = {mention.start: mention.sense for mention in found}
            for one, sense in coordinated_words(text, self.listed(text), known):
                found.append(self._mention(one, sense, syntax.last_token(one.start, one.end)))
        else:
            attributes = judge.attributes(one.sense for one in found)
            found = [one for one in found if one.sense.attribute in attributes]
            found += self._further(judge, text, syntax, found)
        return sorted(found, key=lambda mention: mention.start)

    def _further(self, judge: PeopleJudge, text: str, syntax: Syntax, found: Iterable[Mention]) -> Iterator[Mention]:
        """Yield uncertain words as nouns if the text mentions people of the same attribute."""
        known = {mention.start: mention.sense.attribute for mention in found}
        attributes = set(known.values())
        for one in self.listed(text):
            token = syntax.last_token(one.start, one.end)
            senses = [sense for sense in one.senses if sense.attribute in attributes and judge.judges(sense)]
            nouns = [sense for sense in senses if sense.pos == "noun"]
            if nouns and one.start not in known and means_person(token, syntax):
                yield self._mention(one, nouns[0], token)

    def doubtful(self, text: str, syntax: Syntax, mentions: Iterable[Mention]) -> list[Mention]:
        """Return capitalised listed words in names that are not mentions, such as a name mistaken for a title.

        A pronoun that refers to such a word shows that it names a person: *“Rosalind Russell gives a handling to her
        scenes”*.
        """
        known = {mention.start for mention in mentions}
        found = []
        for one in self.listed(text):
            sense, token = one.senses[0], syntax.at(one.start)
            if one.start in known or token is None or not one.word[:1].isupper() or sense.attribute == NEUTRAL:
                continue
            in_name = sense.pos in ("name", "noun") and one.beside.precedes_name and not syntax.is_place(token)
            if in_name and not senses.names_no_person(one.beside, token, syntax):
                found.append(self._mention(one, sense, token))
        return found

    def find_by_neighbours(self, text: str) -> list[Mention]:
        """Return the mentions from left to right, judged from neighbouring words, without tokens."""
        found = []
        for one in self.listed(text):
            for sense in one.senses:
                if self._has_sense_by_neighbours(one.word, sense, one.beside):
                    found.append(self._mention(one, sense, None))
                    break
        return found

    def _mention(self, one: ListedWord, sense: Sense, token: Any) -> Mention:
        return Mention(one.start, one.end, one.word, sense, token, self._returns(one, sense))

    def _returns(self, one: ListedWord, sense: Sense) -> bool:
        return sense.pos == "pronoun" or one.word.casefold() in self.returning

    def _has_sense_by_neighbours(self, word: str, sense: Sense, beside: Neighbours) -> bool:
        """Return whether a word is used in the given sense, judged from its neighbours."""
        capitalised = word[:1].isupper() and word[1:].islower()
        if sense.pos == "pronoun":
            return True
        if sense.pos == "name":
            known = find_name(word)
            other_sense = bool(known and known.other_sense)
            before_is_first = self.vocabulary.is_listed_name(beside.before)
            return is_first_name(beside, other_sense=other_sense, before_is_first=before_is_first)
        if sense.pos == "title":
            return word[:1].isupper() and (beside.precedes_name or word not in ("Lord", "Lady", "Sir", "Dame"))
        other = self.vocabulary.lexicon.polysemous.get(word.casefold())
        if capitalised and (
            beside.follows_title or beside.precedes_place or (other == "surname" and beside.follows_name)
        ):
            return False
        if other in (None, "surname"):
            return True
        if other == "deity":
            return not capitalised or beside.precedes_name
        if other == "verb":
            return beside.before.lower() not in BEFORE_VERBS
        return senses.word_stands_beside(word, sense.pos, other, beside, self.vocabulary.lexicon.people)

    def _has_sense(self, word: str, sense: Sense, beside: Neighbours, token: Any, syntax: Syntax) -> bool:
        """Return whether a word is used in the given sense, judged from the parse."""
        if sense.pos == "pronoun":
            return True
        if sense.pos == "name":
            known = find_name(word)
            return senses.name_stands(word, known, beside, token, syntax, self.vocabulary.is_listed_name(beside.before))
        if sense.pos == "title":
            if word == "Miss" and (beside.after in _PAGEANTS or syntax.precedes_place(token)):
                return False
            if word in _ABBREVIATED and not (beside.gap_after in (" ", ". ") and beside.after[:1].isupper()):
                return False
            if beside.after in _OFFICES or owns_capitalised(token):
                return False
            return word[:1].isupper() and (beside.precedes_name or word not in ("Lord", "Lady", "Sir", "Dame"))
        capital = self.vocabulary.listed(sense)[:1].isupper()
        common = sense.pos == "noun" and not capital
        if common and not beside.precedes_name and (is_named_with_capital(token) or is_ruler_of(token)):
            return False
        if capital and not self.vocabulary.names and is_in_longer_name(word, token, syntax):
            return False
        other = self.vocabulary.lexicon.polysemous.get(word.casefold())
        return senses.word_stands(word, sense.pos, other, beside, token, syntax)

    def _ages(self, text: str, syntax: Syntax) -> Iterator[Mention]:
        """Yield the ages of people, as figures or words."""
        for start, end, sense in self._possible_ages(text):
            token = syntax.at(start)
            if token is not None and whose_age(token) is not None:
                yield Mention(start, end, text[start:end], sense, token, False)

    def _possible_ages(self, text: str) -> Iterator[tuple[int, int, Sense]]:
        """Yield the start, end and sense of numbers that may be the ages of people."""
        for start, end in find_ages(text) if self.vocabulary.lexicon.figures else ():
            sense = self.vocabulary.age_sense(age_in_years(text[start:end]))
            if sense is not None:
                yield start, end, sense


def _may_have_sense(word: str, sense: Sense, beside: Neighbours, surnames: Container[str]) -> bool:
    """Return whether a word may be used in the given sense, judged only from the text."""
    if sense.pos == "pronoun":
        return word != "US" and not _is_in_title(word, beside)
    if sense.pos != "name":
        return True
    return senses.name_may_stand(word, beside) and word not in surnames


def _is_in_title(word: str, beside: Neighbours) -> bool:
    """Return whether a pronoun is part of a title, as in *the comedy His Girl Friday*.

    The pronoun and the word after it must be capitalised within a sentence.
    """
    if not (word[:1].isupper() and not word.isupper() and beside.gap_before == beside.gap_after == " "):
        return False
    means_named = beside.before == "and"  # Jane Austen and Her Art
    return beside.after[:1].isupper() and not (means_named or beside.after.isupper() or beside.before[:1].isupper())


def _has_other_sense(word: str) -> bool:
    known = find_name(word)
    return known is not None and bool(known.other_sense)


def _begins_name(one: ListedWord) -> bool:
    """Return whether a word that is also a first name precedes a capitalised word, as in *Christian Andersen*."""
    known = find_name(one.word)
    return known is not None and known.other_sense == "word" and one.beside.precedes_name


def _follows_other_word(syntax: Syntax, start: int) -> bool:
    """Return whether the word before a name does not belong to it, even if it begins a sentence: *Unlike Helga*."""
    token = syntax.at(start)
    before = token.nbor(-1) if token is not None and token.i else None
    if before is None or (before.text[:1].isupper() and not before.is_sent_start):  # Being John Malkovich
        return False
    return before.lower_ not in BEFORE_FIRST_NAMES and before.tag_ not in _NAME_TAGS


def _order(sense: Sense, token: Any, syntax: Syntax) -> int:
    """Return the sort key for senses of a form: adjectives first if the word modifies a noun, otherwise nouns first."""
    if sense.pos == "title":
        return -1
    adjective = syntax.modifies(token) or token.tag_.startswith("JJ") or _is_predicate_adjective(token)
    wanted = "adjective" if adjective else "noun"
    return 0 if sense.pos == wanted or sense.pos not in ("adjective", "noun") else 1


def _is_predicate_adjective(token: Any) -> bool:
    """Return whether a word tagged as a singular noun is a predicate adjective: *is Muslim*, but not *is a Muslim*."""
    bare = not any(child.dep_ in ("det", "poss", "nummod", "amod", "compound") for child in token.children)
    return token.dep_ in ("attr", "acomp", "oprd") and token.tag_ in ("NN", "NNP") and bare
