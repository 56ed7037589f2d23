"""Parses written by hand, so that a test of a rule does not depend on how a parser reads a sentence."""

from functools import cache
from typing import Any


@cache
def _vocabulary() -> Any:
    import spacy

    return spacy.blank("en").vocab


def tree(text: str) -> Any:
    """Return the document of a parse that is written as ``word/TAG/role/head`` for every word.

    The last parts may be missing. A head is named by its word, or by its index if the word occurs before; a word
    without a head depends on the word with the role ``ROOT``, or else on the first one.
    """
    from spacy.tokens import Doc

    rows = [[*word.lstrip("*").split("/"), "", "", ""][:4] for word in text.split()]
    words = [row[0] for row in rows]
    root = next((place for place, row in enumerate(rows) if row[2] == "ROOT"), 0)
    heads = [int(head) if head.isdigit() else words.index(head) if head else root for _, _, _, head in rows]
    roles = [row[2] or "dep" for row in rows]
    spaces = [True] * (len(words) - 1) + [False]
    return Doc(_vocabulary(), words, spaces, tags=[row[1] for row in rows], heads=heads, deps=roles)


def token(text: str) -> Any:
    """Return the word with a star in a parse that is written as for :func:`tree`."""
    return tree(text)[next(place for place, word in enumerate(text.split()) if word.startswith("*"))]
