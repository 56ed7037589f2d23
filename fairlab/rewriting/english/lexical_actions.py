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


class WithAccents:
    """Table that also finds accented words by their plain letters."""

    def __init__(self, table: dict[str, Action]) -> None:
        self.table = table

    def __contains__(self, word: str) -> bool:
        return word in self.table or (not word.isascii() and unaccented(word) in self.table)

    def __getitem__(self, word: str) -> Action:
        return self.table[word] if word in self.table else self.table[unaccented(word)]


def surfaces(form: str) -> set[str]:
    """Return the spellings of a form: as listed, in lower case, capitalised, in capitals."""
    return {form, form.lower(), form[:1].upper() + form[1:], form.upper()}
