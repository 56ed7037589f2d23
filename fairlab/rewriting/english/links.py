"""Links between the words of a parsed text that refer to the same person."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, Protocol

from fairlab.rewriting.english.ages import whose_age
from fairlab.rewriting.english.referring import Person, described_noun, find_quoted


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
