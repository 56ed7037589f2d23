"""Fact check of rewrites by a language model: the numbers and names of the text must be kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping

FACT_LOST = "a number or a name is not kept"
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# A capitalised word after a lower-case word or a comma, which excludes beginnings of sentences.
NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w\u2019'-]*[a-z][\w\u2019'-]*")
POSSESSIVE = re.compile(r"[\u2019']s?$")
# Words for people that may be missing from a list and that change with the attribute.
PERSON = re.compile(r"(?:man|men|woman|women|boy|girl|person|people|lady|lord)s?$", re.IGNORECASE)


def lost_fact(source: str, versions: Mapping[str, str], free: Collection[str]) -> str:
    """Return a description of a number or name that a version lacks or adds, or an empty string if all are kept.

    A name is a capitalised word inside a sentence. The lower-case words in ``free``, such as words of the axis and
    first names, may change.

    Example:
        >>> lost_fact("She won 3 times.", {"man": "He won 7 times."}, {"she", "he"})
        "the number '3' is not kept in 'man'"
    """
    numbers = Counter(NUMBER.findall(source))
    names = {POSSESSIVE.sub("", name) for name in NAME.findall(source)}
    names = {name for name in names if name.casefold() not in free and not PERSON.search(name)}
    for version, text in versions.items():
        found = Counter(NUMBER.findall(text))
        if found != numbers:
            lost, new = next(iter(numbers - found), ""), next(iter(found - numbers), "")
            return f"the number '{lost}' is not kept in '{version}'" if lost else f"'{new}' is new in '{version}'"
        if missing := sorted(name for name in names if not re.search(rf"\b{re.escape(name)}\b", text)):
            return f"the name '{missing[0]}' is not kept in '{version}'"
    return ""
