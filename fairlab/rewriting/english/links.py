"""Links between the words of a parsed text that refer to the same person."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any, Protocol

from fairlab.rewriting.english.ages import whose_age
from fairlab.rewriting.english.referring import PRONOUNS, Person, described_noun, find_quoted
from fairlab.types import NEUTRAL


class Links:
    """Words of a parsed text, with the person that each of them refers to.

    Args:
        tokens: Tokens of a document parsed by spaCy, in text order.
        marked: Start, end and attribute of each word that marks an attribute: a name, a noun or a pronoun.

    Attributes:
        person_at: Person that a token refers to, by the token's index. Subclasses fill it.
        quoted: For every token, whether it is inside a quotation.
    """

    def __init__(self, tokens: Iterable[Any], marked: Iterable[tuple[int, int, str]]) -> None:
        self.tokens = list(tokens)
        self.attributes = {start: attribute for start, _, attribute in marked}
        self.token_at = {token.idx: token for token in self.tokens}
        self.quoted = find_quoted([token.text for token in self.tokens])
        self.person_at: dict[int, Person] = {}
        self._at: dict[int, Person | None] = {}  # cache of :meth:`at`
        self._marked: dict[int, set[int]] = {}  # offsets of the marked words of each person, by the person's id

    def at(self, start: int) -> Person | None:
        """Return the person that the word at a character offset refers to."""
        if start not in self._at:
            self._at[start] = self._find_at(start)
        return self._at[start]

    def _find_at(self, start: int) -> Person | None:
        token = self.token_around(start)
        if token is None:
            return None
        owner = owner_of(token)
        return self.person_at.get(token.i) or (self.person_at.get(owner.i) if owner is not None else None)

    def token_around(self, start: int) -> Any:
        """Return the token that contains the character at an offset, or None."""
        token = self.token_at.get(start)
        return token or next((one for one in self.tokens if one.idx <= start < one.idx + len(one)), None)

    def marked_with(self, start: int) -> set[int]:
        """Return the offsets of the marked words that refer to the same person as the word at ``start``."""
        person = self.at(start)
        if person is None:
            return set()
        if id(person) not in self._marked:
            self._marked[id(person)] = {offset for offset in self.attributes if self.at(offset) is person}
        return self._marked[id(person)]

    def join_fields(self, field_of: Callable[[int], int]) -> None:
        """Link the words of different fields that refer to the same person.

        The fields of an example usually describe the same people. If no field mentions several people of an attribute,
        pronouns (*he rests*) refer to the only person whom another field mentions by a noun or name (*a man sleeps*),
        and the same common noun refers to the same person. If there is a plural noun, such as *men*, no word of its
        attribute is linked. ``field_of`` returns the number of the field that contains the word at an offset.
        """
        same: dict[int, Person] = {}
        for attribute in {*self.attributes.values()} - {NEUTRAL}:
            same |= self._same_people(attribute, field_of)
        self.person_at = {index: same.get(id(person), person) for index, person in self.person_at.items()}
        self._at.clear()

    def _same_people(self, attribute: str, field_of: Callable[[int], int]) -> dict[int, Person]:
        """Return the person that each person of an attribute is, by the id of the latter."""
        starts = [start for start, shown in self.attributes.items() if shown == attribute]
        people = {start: person for start in starts if (person := self.at(start)) is not None}
        tokens = {start: self.token_around(start) for start in people}
        in_fields = {(field_of(start), id(person)) for start, person in people.items()}
        several = len(in_fields) > len({field for field, _ in in_fields})
        if several or len(people) < len(starts) or any(token.tag_ == "NNS" for token in tokens.values()):
            return {}
        same = {id(person): person for person in people.values()}
        by_noun: dict[str, Person] = {}
        for start, person in people.items():
            if tokens[start].tag_ == "NN":
                same[id(person)] = by_noun.setdefault(tokens[start].lower_, same[id(person)])
        named = {id(same[id(one)]): same[id(one)] for one in people.values() if self._is_named(one)}
        if len(named) > 1:
            return same
        return dict.fromkeys(same, next(iter([*named.values(), *same.values()])))

    def _is_named(self, person: Person) -> bool:
        """Return whether a word other than a pronoun refers to a person."""
        words = (self.tokens[index].lower_ for index, other in self.person_at.items() if other is person)
        return not PRONOUNS.issuperset(words)

    def spans(self, person: Person | None) -> list[tuple[int, int]]:
        """Return the start and end of every word that refers to a person."""
        words = (self.tokens[index] for index, other in self.person_at.items() if other is person)
        return sorted((token.idx, token.idx + len(token)) for token in words)


class Linker(Protocol):
    """Interface of the functions that link the words of a text."""

    def __call__(
        self, tokens: Iterable[Any], marked: Iterable[tuple[int, int, str]], *, adjectives: Container[int]
    ) -> Links:
        """Return the links of a text; arguments as in :class:`Links`, and the offsets of marked adjectives."""
        ...


def owner_of(token: Any) -> Any:
    """Return the word for the person whom an age, an adjective or a predicate describes, the word itself, or None."""
    return whose_age(token) if token.like_num else described_noun(token)
