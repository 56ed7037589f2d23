"""What happens to words that are told by their form alone."""

from __future__ import annotations

from typing import NamedTuple

from fairlab.rewriting.english.vocabulary import Sense
from fairlab.text.folding import unaccented


class Action(NamedTuple):
    """What happens to one surface form on the way to a target."""

    kind: str  # plain, ambiguous, subject, word, name, title, longer, same
    new: str
    sense: Sense
    neutral: bool = False  # a neutral form of one word, given an attribute back


class WithAccents(dict[str, Action]):
    """A table in which a word is found by its plain letters too."""

    def __contains__(self, word: object) -> bool:
        return super().__contains__(word) or super().__contains__(unaccented(str(word)))

    def __missing__(self, word: str) -> Action:
        return super().__getitem__(unaccented(word))


def surfaces(form: str) -> set[str]:
    """Return the ways to write a form: as listed, in lower case, capitalised, in capitals."""
    return {form, form.lower(), form[:1].upper() + form[1:], form.upper()}
