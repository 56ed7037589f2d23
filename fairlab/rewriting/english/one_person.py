"""Mentions of one person in a parsed text, and a check that rewriting them would be complete."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Container, Iterator, Sequence
from functools import cached_property
from typing import Any

from fairlab.lexicons.names import find_name
from fairlab.rewriting.english.coreference import Coreference
from fairlab.rewriting.english.given_names import BEFORE_SURNAMES, PLACES, last_names
from fairlab.rewriting.english.links import Linker, Links
from fairlab.rewriting.english.mentions import Mention, MentionFinder
from fairlab.rewriting.english.referring import PRONOUNS
from fairlab.rewriting.english.syntax import SUBJECTS, Syntax
from fairlab.text.view import View
from fairlab.types import NEUTRAL

CLERGY = "clergy"  # section of a lexicon of religions


class People:
    """People mentioned in a parsed text, identified by the words of an axis that refer to them."""

    def __init__(
        self,
        finder: MentionFinder,
        view: View,
        syntax: Syntax,
        mentions: Sequence[Mention],
        linker: Linker = Coreference,
    ) -> None:
        self.finder, self.text, self.syntax, self.mentions, self.linker = finder, view.text, syntax, mentions, linker
        self.field_ends = view.field_ends()
        self.gendered = bool(finder.vocabulary.pronouns)
        self.doubtful = finder.doubtful(self.text, syntax, mentions)
        self.tokens = syntax.tokens
        self._half_turned: dict[tuple[str, tuple[int, ...]], bool] = {}  # by attribute and starts of mentions
        self._in_doubt: dict[str, bool] = {}  # by attribute
        self._unturned: dict[str, list[tuple[int, int]]] = {}  # by attribute

    @cached_property
    def coreference(self) -> Links:
        """Return the links between the mentions, which a text with a single mention does not need."""
        marked = [(m.start, m.end, m.sense.attribute) for m in (*self.mentions, *self.doubtful)]
        adjectives = {m.start for m in self.mentions if m.sense.pos == "adjective"}
        links = self.linker(self.tokens.values(), marked, adjectives=adjectives)
        if self.gendered and self.field_ends:
            links.join_fields(self.field_of)
        return links

    def field_of(self, start: int) -> int:
        """Return the number of the field that contains the word at an offset, from 0."""
        return bisect(self.field_ends, start)

    def mentions_at(self, start: int) -> list[Mention]:
        """Return the mentions of the person that the word at an offset refers to, including that word."""
        chain = {m.start for m in (*self.mentions, *self.doubtful) if m.start <= start < m.end}
        if len(self.mentions) + len(self.doubtful) > len(chain):
            chain |= self.coreference.marked_with(start)
        mentions = list(self.mentions)
        if any(m.start in chain and m.sense.pos == "pronoun" and m.sense.attribute != NEUTRAL for m in mentions):
            mentions += [m for m in self.doubtful if m.start in chain]  # a pronoun shows that they are a person's
        # A repeated first name refers to the same person: "LaTanya Richardson, often listed as LaTanya Jackson".
        names = {m.found for m in mentions if m.sense.pos == "name" and m.start in chain}
        mentions += [m for m in self.doubtful if m.found in names and m not in mentions]
        chain |= {m.start for m in mentions if m.sense.pos == "name" and m.found in names}
        selected = next((m for m in mentions if m.start <= start < m.end), None)
        return [
            m for m in mentions if m.start in chain and (selected is None or m is selected or not _differ(m, selected))
        ]

    def half_turned(self, selected: Mention) -> bool:
        """Return whether the person would still show the selected mention's attribute after rewriting.

        This happens if the rules leave a word of that attribute unchanged and cannot determine its owner: the *Bride*
        of *Grace Kelly, Royal Bride*, or *Jonah Hex 2*, a work, next to *Jonah*. It also happens if a pronoun may refer
        to either of two people.
        """
        attribute = selected.sense.attribute
        if attribute == NEUTRAL:
            return False
        if attribute not in self._in_doubt:
            self._in_doubt[attribute] = self._has_pronouns_in_doubt(attribute)
        if self._in_doubt[attribute]:
            return True
        own = self.mentions_at(selected.start)
        if self._keeps_faith(selected, own):
            return True
        key = attribute, tuple(m.start for m in own)
        if key not in self._half_turned:
            self._half_turned[key] = self._is_half_turned(own, attribute)
        return self._half_turned[key]

    def _is_half_turned(self, own: Sequence[Mention], attribute: str) -> bool:
        left = list(self._unchanged_words(attribute, own))
        return (
            any(self._shows(start, word, own) for start, word in left)
            or self._has_unknown_name_nearby(left, own)
            or any(m.sense.pos == "name" and self._is_middle_name(m) for m in own)
            or self._is_one_of_named_group(own, attribute)
            or self._is_quoted_in_part(own)
            or self._is_beside_another(own, attribute)
        )

    def _keeps_faith(self, selected: Mention, own: Sequence[Mention]) -> bool:
        """Return whether another word of the sentence still shows a person's religion: *a bishop of the Church*.

        Words for clergy may be used in several religions, so any religion counts for them: *a Buddhist priest*.
        """
        vocabulary, judge = self.finder.vocabulary, self.finder.judge
        if judge is None or CLERGY not in judge.sections:
            return False
        is_clergy = selected.sense.entry is not None and selected.sense.entry.section == CLERGY
        sentence = _sentence(selected.token)
        for span in self.finder.finder.find_read(self.text):
            attributes = {sense.attribute for sense in vocabulary.senses[span.term]} - {NEUTRAL}
            shown = bool(attributes) if is_clergy else selected.sense.attribute in attributes
            if not shown or self.text[span.start : span.end].casefold() in vocabulary.lexicon.polysemous:
                continue
            if any(m.start < span.end and span.start < m.end for m in own):
                continue
            if _sentence(self._token(span.start)) == sentence:
                return True
        return False

    def _unchanged_words(self, attribute: str, own: Sequence[Mention]) -> Iterator[tuple[int, str]]:
        """Yield the offset and word of every listed form of an attribute that is not part of a mention."""
        if attribute not in self._unturned:
            self._unturned[attribute] = list(self._listed_forms(attribute))
        taken = [(m.start, m.end) for m in (*self.mentions, *own)]
        for first, last in self._unturned[attribute]:
            if not any(start < last and first < end for start, end in taken):
                yield first, self.text[first:last]

    def _listed_forms(self, attribute: str) -> Iterator[tuple[int, int]]:
        """Yield the start and end of every listed form of an attribute, in any sense."""
        for span in self.finder.finder.find_read(self.text):
            senses = self.finder.vocabulary.senses[span.term]
            names_alone = all(sense.pos == "name" for sense in senses)
            if names_alone and not self.text[span.start].isupper():
                continue
            if any(sense.attribute == attribute for sense in senses):
                yield span.start, span.end

    def _shows(self, start: int, word: str, own: Sequence[Mention]) -> bool:
        """Return whether an unchanged word may show the attribute of a rewritten person."""
        token = self._token(start)
        before = token.nbor(-1) if token.i else None
        follows_name = before is not None and (before.tag_.startswith("NNP") or before.lower_ in BEFORE_SURNAMES)
        folded = word.casefold()
        if any(sense.pos != "name" for sense in self.finder.vocabulary.senses.get(folded, ())):
            if not self.gendered:  # words of race and age often describe things: white hair
                return False
            surname = self.finder.vocabulary.lexicon.polysemous.get(folded) == "surname" and follows_name
            return not surname and any(_sentence(token) == _sentence(m.token) for m in own)
        if folded in {m.found.casefold() for m in own}:
            return True
        person = self.coreference.at(start)
        if person is None or all(self.coreference.at(m.start) is not person for m in own):
            return False
        surname = word in last_names(self.text)
        after = token.doc[token.i + 1 : token.i + 2]
        middle = follows_name and len(after) == 1 and after[0].tag_.startswith("NNP")  # Hedwig Eva Maria Kiesler
        return middle or not (surname or follows_name)

    def _is_middle_name(self, name: Mention) -> bool:
        """Return whether a first name of another attribute directly precedes the name: *Natalie Clifford Barney*."""
        before = name.token.nbor(-1) if name.token.i else None
        known = find_name(before.lower_) if before is not None and before.tag_.startswith("NNP") else None
        return known is not None and {known.gender, name.sense.attribute} == {"man", "woman"}

    def _has_unknown_name_nearby(self, left: Sequence[tuple[int, str]], own: Sequence[Mention]) -> bool:
        """Return whether a pronoun attributed to the person may instead refer to a full name nearby.

        Such a name is left unchanged, as in *the Scott Parkin case*.
        """
        if not any(m.sense.pos == "pronoun" for m in own):
            return False
        sentences = {_sentence(m.token) for m in own if m.sense.pos == "pronoun"}
        for token in (self._token(start) for start, _ in left):
            before, after = token.doc[max(0, token.i - 1) : token.i], token.doc[token.i + 1 : token.i + 2]
            full = len(after) == 1 and after[0].tag_ == "NNP" and after[0].lower_ not in PLACES
            if full and _sentence(token) in sentences and not (len(before) and before[0].tag_.startswith("NNP")):
                return True
        return False

    def _token(self, start: int) -> Any:
        return self.syntax.doc.char_span(start, start + 1, alignment_mode="expand")[0]

    def _is_one_of_named_group(self, own: Sequence[Mention], attribute: str) -> bool:
        """Return whether the person is named together with a plural, and only one of the two would be rewritten.

        In *His daughters, Margaret and Martha*, both are rewritten together or not at all.
        """
        mine = {m.start for m in own}
        for group in self.mentions:
            if group.sense.attribute != attribute or group.token.tag_ != "NNS":
                continue
            named = [m for m in self.mentions if m.sense.pos == "name" and _names_member(m.token, group.token)]
            if named and {m.start in mine for m in (group, *named)} == {True, False}:
                return True
        return False

    def _is_quoted_in_part(self, own: Sequence[Mention]) -> bool:
        """Return whether a person is mentioned inside and outside quotations, where the speaker is *I*."""
        return len(own) > 1 and len({self.coreference.quoted[m.token.i] for m in own}) > 1

    def _is_beside_another(self, own: Sequence[Mention], attribute: str) -> bool:
        """Return whether a person is joined to another of the attribute, so that a pronoun may mean either."""
        alike = self._alike(attribute)
        if all(m.sense.pos != "pronoun" for m in alike):
            return False
        return any(_is_joined_to_another(m.token, alike) or _follows_in_brackets(m.token) for m in own)

    def _alike(self, attribute: str) -> list[Mention]:
        return [m for m in self.mentions if m.sense.attribute == attribute]

    def _has_pronouns_in_doubt(self, attribute: str) -> bool:
        """Return whether a pronoun of the attribute may refer to more than one person with this attribute.

        In *her aunt left*, *her* refers to none of the named people, because no one is their own aunt.
        """
        alike = self._alike(attribute)
        pronouns = [m for m in alike if m.sense.pos == "pronoun"]
        if not pronouns or len(alike) == 1:
            return False
        people: dict[int, list[Mention]] = {}
        for mention in alike:
            people.setdefault(id(self.coreference.at(mention.start)), []).append(mention)
        named = [some for some in people.values() if any(_is_one(m) for m in some)]
        unnamed = [some for some in people.values() if all(m.sense.pos == "pronoun" for m in some)]
        tokens = {m.token for some in named for m in some}
        owners = [some for some in unnamed if all(m.token.dep_ == "poss" and m.token.head in tokens for m in some)]
        if len(unnamed) > 1 or (named and len(unnamed) > len(owners)):
            return True
        plural = {self.field_of(m.start) for m in alike if m.token.tag_ == "NNS"}
        if plural and any(self.field_of(m.start) not in plural for some in unnamed for m in some):
            return True  # two men talk <SEP> he laughs
        return len(named) > 1 and not all(self._is_plain(m, tokens) for m in pronouns)

    def _is_plain(self, pronoun: Mention, named: Container[Any]) -> bool:
        """Return whether it is clear to whom a pronoun refers.

        A possessive before a noun for a person is clear (*her aunt*). Any other pronoun is clear if it refers to the
        last person named before it, and that person is the subject of its clause.
        """
        token = pronoun.token
        if token.dep_ == "poss" and token.head in named:
            return True
        person = self.coreference.at(pronoun.start)
        for before in reversed(token.doc[: token.i]):
            if before in named and before.lower_ not in PRONOUNS:
                last = before
                while last.dep_ in ("compound", "nmod") and last.head.i > last.i:  # the last word of a name
                    last = last.head
                subject = last.dep_ in SUBJECTS and last.head.is_ancestor(token)
                return subject and self.coreference.at(before.idx) is person
        return False


def _differ(mention: Mention, selected: Mention) -> bool:
    """Return whether the attribute of a mention shows that it is not the selected person's.

    *they* is not a mention of *he*, and *white* is not one of a person who is *Black*.
    """
    marked = selected.sense.attribute != NEUTRAL
    if mention.sense.pos == "pronoun":
        return marked and mention.sense.attribute == NEUTRAL
    return marked and mention.sense.attribute not in (selected.sense.attribute, NEUTRAL)


def _sentence(token: Any) -> int:
    return int(token.sent.start)


def _is_one(mention: Mention) -> bool:
    """Return whether a mention is a name, title or noun for a single person."""
    return mention.sense.pos in ("name", "title") or (
        mention.sense.pos == "noun" and mention.token.tag_ in ("NN", "NNP")
    )


def _names_member(name: Any, group: Any) -> bool:
    """Return whether a name is in apposition to a plural: *daughters, Margaret and Martha*."""
    while name.dep_ in ("compound", "conj") and name.head.tag_.startswith("NNP"):
        name = name.head
    return name.head == group and name.dep_ in ("appos", "conj", "compound")


def _follows_in_brackets(token: Any) -> bool:
    """Return whether a name in brackets follows another name, such as an actor's: *Susan (Carole Ann Ford)*."""
    before = token.doc[max(0, token.i - 2) : token.i]
    return len(before) == 2 and before[1].text == "(" and before[0].tag_.startswith("NNP")


def _is_joined_to_another(token: Any, alike: Sequence[Mention]) -> bool:
    """Return whether *and* or *or* joins a word to another word of its attribute: *either Susan or Laura likes her*."""
    others = [m.token for m in alike if m.token != token and m.sense.pos != "pronoun"]
    while token.dep_ == "compound" and token.head.tag_.startswith("NNP"):
        token = token.head
    for other in others:
        while other.dep_ == "compound" and other.head.tag_.startswith("NNP"):
            other = other.head
        if (other.dep_ == "conj" and other.head == token) or (token.dep_ == "conj" and token.head == other):
            return True
    return False
