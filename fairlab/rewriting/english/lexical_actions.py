"""Actions for words that are recognised by their form alone."""

from __future__ import annotations

from typing import NamedTuple

from fairlab.rewriting.english.vocabulary import Sense
from fairlab.text.folding import unaccented


class Action(NamedTuple):
    """Action for one surface form when rewriting to a target."""

    kind: str  # plain, ambiguous, subject, word, name, title, longer, same
    new: str
    sense: Sense
    neutral: bool = False  # a neutral form of one word that is converted back to an attribute


class WithAccents(dict[str, Action]):
    """Table that also finds accented words by their plain letters."""

    def __contains__(self, word: object) -> bool:
        return super().__contains__(word) or super().__contains__(unaccented(str(word)))

    def __missing__(self, word: str) -> Action:
        return super().__getitem__(unaccented(word))


def surfaces(form: str) -> set[str]:
    """Return the spellings of a form: as listed, in lower case, capitalised, in capitals."""
    return {form, form.lower(), form[:1].upper() + form[1:], form.upper()}
