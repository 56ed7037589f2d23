"""Groups of texts by the attribute of the people that they mention, as detected with the lexicons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairlab.lexicons import load_lexicon
from fairlab.rewriting.perturbable_words import PerturbableWords
from fairlab.text.fields import join_fields

FOUND = "people"  # prefix of the names of groups that the lexicon found
TWO = 2  # minimum number of attributes that make groups


def people_column(axis: str) -> str:
    """Return the name of the group column for an axis."""
    return f"{FOUND}_{axis}"


def groups_of_people(fields: Sequence[Sequence[str]], axes: Sequence[str]) -> dict[str, list[str]]:
    """Return the attribute of the people that each text mentions, by group column.

    The attribute is empty if the text mentions no people, or people with different attributes. An axis is omitted if
    fewer than two attributes occur.
    """
    found = {people_column(axis): groups for axis, groups in attributes_of(fields, axes).items()}
    return {column: groups for column, groups in found.items() if len(set(filter(None, groups))) >= TWO}


def attributes_of(fields: Sequence[Sequence[str]], axes: Sequence[str]) -> dict[str, list[str]]:
    """Return the attribute of the people that each text mentions, by axis.

    The attribute is empty if the text mentions no people, or people with different attributes.
    """
    lexicons = [load_lexicon(axis) for axis in axes]
    words = PerturbableWords(lexicons, "lexical")
    counts = [words.attributes(join_fields(some)) for some in fields]
    return {one.axis: [_only(found, one.axis, one.attributes) for found in counts] for one in lexicons}


def _only(counts: Counter[str], axis: str, attributes: Sequence[str]) -> str:
    held = [name for name in attributes if counts[f"{axis}/{name}"]]
    return held[0] if len(held) == 1 else ""
