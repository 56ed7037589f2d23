"""Coreference: mentions of people in a parsed text, grouped by person with a few salience rules.

There is no trained model. Names that share a word are the same person. A predicate noun (*she is a mother*) is the same
person as its subject. A pronoun refers to the compatible person with the highest sum of weights for nearness and
grammatical role, following Lappin and Leass 1994, "An Algorithm for Pronominal Anaphora Resolution".
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from fairlab.lexicons.names import find_name
from fairlab.rewriting.english.links import Links
from fairlab.rewriting.english.people import is_person
from fairlab.rewriting.english.pronouns import POSSESSIVE, case_by_syntax
from fairlab.rewriting.english.referring import (
    PRONOUNS,
    Person,
    Reference,
    first_name,
    is_antecedent_of_who,
    is_definite,
    is_in_later_clause,
    name_runs,
    predicate_subject,
    says,
    who_clause,
)
from fairlab.rewriting.english.syntax import SUBJECTS
from fairlab.rewriting.english.things import has_article
from fairlab.types import NEUTRAL

_REFLEXIVE = frozenset("himself herself themself themselves".split())
_POSSESSIVE = frozenset("his her their".split())
_BORN = frozenset("born né née".split())
# Maximum number of mentions to search before a pronoun: keeps the cost linear in long texts.
_REACH = 60


@dataclass(frozen=True)
class Weights:
    """Weights for choosing the antecedent of a pronoun, tuned on the GAP validation texts."""

    sentence: float = 3.0  # per sentence between person and pronoun
    subject: float = 2.0  # the person was a subject
    pronoun: float = 0.2  # the last mention was also a pronoun
    own_clause: float = 1.2  # a possessive in the clause of that subject
    topic: float = 0.1  # per earlier mention, up to three
    near: float = 0.05  # per mention between person and pronoun
    possessor: float = 0.2  # the person was only mentioned as a possessor
    gender: float = 1.0  # the person has the pronoun's gender, as shown by more than a doubtful name
    place: float = 1.0  # a name of unknown gender after *in*, *at*, *from*, *to* or *of*
    noun: float = 3.0  # the person was mentioned by a common noun
    article: float = 3.0  # a name of unknown gender with an article: *the Bunte*, *no Jet*
    relative: float = 6.0  # the pronoun is in a relative clause about the person


WEIGHTS = Weights()


class Coreference(Links):
    """People mentioned in a parsed text, with the words that refer to each person.

    Args:
        tokens: Tokens of a document parsed by spaCy.
        marked: Start, end and attribute of each word that marks an attribute: a name, a noun or a pronoun.
        weights: Weights for choosing an antecedent.
        adjectives: Offsets of marked words that are adjectives; these are never names, even if capitalised.
    """

    def __init__(
        self,
        tokens: Iterable[Any],
        marked: Iterable[tuple[int, int, str]],
        weights: Weights = WEIGHTS,
        adjectives: Container[int] = (),
    ) -> None:
        super().__init__(tokens, marked)
        self.adjectives = adjectives
        self.weights = weights
        self.sentence = [*accumulate(bool(token.is_sent_start) for token in self.tokens)]
        self.people: list[Person] = []
        self.history: list[Reference] = []
        self.by_word: dict[str, Person] = {}
        self.said_later: list[tuple[Any, Any]] = []  # predicate nouns that precede their subject
        self._read()

    def _read(self) -> None:
        names = name_runs(self.tokens, self.adjectives, self.attributes)
        inside = {token.i: run for run in names for token in run}
        waiting: list[tuple[Any, Person]] = []
        for token in self.tokens:
            run = inside.get(token.i)
            if run is not None:
                if run[0].i == token.i:
                    self._add_name(run)
            elif token.lower_ in PRONOUNS:
                person = self._resolve(token)
                if person is None:
                    person = self._new(self.attributes.get(token.idx, ""))
                    waiting.append((token, person))
                self._add(token, person)
            elif token.tag_ in ("NN", "NNS") and (token.idx in self.attributes or is_person(token.lower_)):
                self._add_noun(token)
        for token, person in waiting:
            self._join_later_name(token, person)
        for token, subject in self.said_later:
            self._merge(self.person_at[token.i], self.person_at.get(subject.i))

    def _merge(self, person: Person, other: Person | None) -> None:
        """Merge two people unless their attributes contradict each other."""
        if other is None or other is person or (person.attribute and other.attribute not in ("", person.attribute)):
            return
        for token in person.tokens:
            self.person_at[token.i] = other
        other.take(person)
        other.attribute = other.attribute or person.attribute

    def _new(self, attribute: str) -> Person:
        person = Person("" if attribute == NEUTRAL else attribute)
        self.people.append(person)
        return person

    def _add(self, token: Any, person: Person) -> None:
        person.tokens.append(token)
        person.tags.add(token.tag_)
        self.person_at[token.i] = person
        self.history.append(Reference(token, person))
        attribute = self.attributes.get(token.idx, "")
        if attribute and attribute != NEUTRAL:
            person.attribute = person.attribute or attribute
            person.is_doubtful = person.is_doubtful and _is_uncounted(token)

    def _add_name(self, run: list[Any]) -> None:
        words = [token.lower_ for token in run]
        known = self.by_word.get(" ".join(words)) or self.by_word.get(words[-1])
        first = first_name(words)
        if known is not None and first and known.first_name and first != known.first_name:
            known = None  # same surname, different person
        marked = next((token for token in run if token.idx in self.attributes), None)
        shown = self.attributes[marked.idx] if marked is not None else ""
        if known is None or (shown and known.attribute and shown not in (known.attribute, NEUTRAL)):
            known = self._appositive(run) or self._new(shown)
        if marked is not None and shown != NEUTRAL and (not known.tokens or not known.attribute):
            known.is_doubtful = _is_uncounted(marked)
        known.first_name = known.first_name or first
        for word in (" ".join(words), words[0], words[-1]):
            self.by_word[word] = known
        head = next((token for token in run if token.head not in run), run[-1])
        self._add(head, known)
        if shown and shown != NEUTRAL:
            known.attribute = shown
        for token in run:
            self.person_at[token.i] = known

    def _appositive(self, run: list[Any]) -> Person | None:
        """Return the person that a name is in apposition to: *his wife Mary*, *the actor, John Smith*."""
        first = first_name([token.lower_ for token in run])
        for token in run:
            person = self.person_at.get(token.head.i) if token.dep_ == "appos" else None
            if person is not None and (not first or person.first_name in ("", first)):
                return person
        before = run[0].nbor(-1) if run[0].i else None
        if before is not None and before.i in self.person_at and before.tag_ == "NN":
            return self.person_at[before.i]
        if before is not None and before.lower_ in _BORN:
            return self._person_named_before(before)
        return None

    def _person_named_before(self, born: Any) -> Person | None:
        """Return the person whose birth name follows: *Alan Gifford, born John Lennox*."""
        for token in reversed(self.tokens[max(0, born.i - 2) : born.i]):
            if token.i in self.person_at and token.tag_ == "NNP":
                return self.person_at[token.i]
            if not token.is_punct:
                return None
        return None

    def _add_noun(self, token: Any) -> None:
        is_part = token.dep_ == "compound" and token.head.i > token.i
        if is_part and token.head.tag_ in ("NN", "NNS") and is_person(token.head.lower_):
            return  # the woman of *a woman tennis player*, the *sorority* of sisters
        parts = (child for child in token.children if child.dep_ == "compound")
        shown = next((self.attributes[one.idx] for one in (token, *parts) if one.idx in self.attributes), "")
        subject = predicate_subject(token) or (token.head if token.dep_ == "appos" else None)
        if subject is not None and subject.i > token.i:
            self.said_later.append((token, subject))
        person = self.person_at.get(subject.i) if subject is not None else None
        if person is None and (token.tag_ == "NNS" or is_definite(token)):
            person = self.by_word.get(token.lower_)
        if person is not None and shown and person.attribute and shown not in (person.attribute, NEUTRAL):
            person = None
        if person is None:
            person = self._new(shown)
        self.by_word[token.lower_] = person
        self._add(token, person)

    def _fits(self, person: Person, attribute: str) -> bool:
        if attribute == NEUTRAL or not attribute:
            return not person.attribute
        if person.attribute not in ("", attribute):
            return False
        return person.tags.isdisjoint(("NNS",) if person.first_name else ("NNS", "NNPS"))  # Betty Meggers is one person

    def _resolve(self, pronoun: Any) -> Person | None:
        """Return the antecedent of a pronoun among the people mentioned before it, or None if no one is compatible."""
        attribute = self.attributes.get(pronoun.idx, "")
        near = self.history[-_REACH:]
        barred = set(self._barred(pronoun, near))
        fits: dict[int, bool] = {}
        ancestors = {one.i: one for one in pronoun.ancestors}
        clause = who_clause(pronoun, ancestors.values())
        owns = pronoun.lower_ in _POSSESSIVE | _REFLEXIVE
        scores: dict[int, float] = {}
        people: dict[int, Person] = {}
        for steps, one in enumerate(reversed(near)):
            key = id(one.person)
            if key not in fits:
                fits[key] = key not in barred and self._fits(one.person, attribute)
            if not fits[key]:
                continue
            score = self._score(pronoun, one, steps)
            if clause is not None and is_antecedent_of_who(one, clause):
                score += self.weights.relative
            if owns and one.is_subject and one.head in ancestors:
                score += self.weights.own_clause
            scores[key], people[key] = max(score, scores.get(key, score)), one.person
        return people[max(scores, key=lambda key: scores[key])] if scores else None

    def _barred(self, pronoun: Any, near: Iterable[Reference]) -> Iterator[int]:
        """Yield the ids of people that syntax excludes as referents: in *she saw her*, but not in *she saw herself*."""
        if pronoun.lower_ in _REFLEXIVE:
            return
        mistaken = pronoun.lower_ == "her" and case_by_syntax(pronoun) == POSSESSIVE  # she does her best
        role = pronoun.dep_
        is_object = role in ("dobj", "dative", "pobj") and not mistaken
        head = (pronoun.head if role != "pobj" else pronoun.head.head).i
        speaks = not self.quoted[pronoun.i] and says(pronoun)
        owned = pronoun.head if role == "poss" else None
        predicate = owned.head.i if owned is not None and owned.dep_ == "attr" else None
        for one in near:
            if is_object and one.is_subject:
                is_barred = one.head == head
            elif speaks and self.quoted[one.place]:
                is_barred = True
            elif owned is None:
                is_barred = False
            else:  # no one is their own successor: *his successor Louis*, *she is her aunt*
                is_barred = (one.is_subject and one.head == predicate) or one.place == owned.i
                is_barred = is_barred or self.person_at[one.place] is self.person_at.get(owned.i)
            if is_barred:
                yield id(one.person)

    def _score(self, pronoun: Any, one: Reference, steps: int) -> float:
        weights, person = self.weights, one.person
        score = -weights.sentence * (self.sentence[pronoun.i] - self.sentence[one.place]) - weights.near * steps
        if one.is_subject:
            score += weights.subject
        if one.is_pronoun:
            score += weights.pronoun
        score += weights.topic * min(len(person.tokens) - 1, 3)
        if one.is_possessor:
            score -= weights.possessor
        if person.attribute and not person.is_doubtful:
            score += weights.gender
        if not person.attribute and one.is_placed:
            score -= weights.place
        if one.is_noun:
            score -= weights.noun
        if not person.attribute and has_article(one.token):
            score -= weights.article
        return score

    def _join_later_name(self, pronoun: Any, person: Person) -> None:
        """Link a pronoun without an antecedent to the first compatible person named after it."""
        for one in self.history:
            token, later = one.token, one.person
            if one.place <= pronoun.i or later is person or one.is_pronoun or token.tag_ != "NNP":
                continue
            if self.sentence[token.i] - self.sentence[pronoun.i] > 1:
                return
            if pronoun.dep_ in SUBJECTS and pronoun.head.is_ancestor(token):
                continue  # she said that Ann left
            if is_in_later_clause(token, pronoun) or (self.quoted[token.i] and not self.quoted[pronoun.i]):
                continue  # Bugs is still his rascally self, and Elmer is funny
            if pronoun.dep_ == "poss" and (self.person_at.get(pronoun.head.i) is later or token.head == pronoun.head):
                continue
            if self._fits(later, person.attribute):
                later.attribute = later.attribute or person.attribute
                for own in person.tokens:
                    self.person_at[own.i] = later
                later.take(person)
                person.tokens = later.tokens
                return


def _is_uncounted(token: Any) -> bool:
    """Return whether a word is a first name without counts of its bearers and not usually a word, such as *Lady*."""
    known = find_name(token.text)
    return known is not None and not known.is_counted and known.other_sense not in ("word", "rarely")
