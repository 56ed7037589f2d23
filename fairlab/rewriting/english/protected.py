"""Spans of a text that no rewriter may change: addresses, code, handles, titles of works and, if asked, quotations."""

from __future__ import annotations

import re
import string
from functools import cache

from fairlab.lexicons.names import load_not_people
from fairlab.text.words import cached_for_recent_texts

# Characters that no mark or quotation contains; most texts consist only of these.
_BARE = (string.ascii_letters + string.digits + " ,.':;?!-").encode()
# Patterns of protected spans, each with strings: every match contains at least one of them; most texts contain none.
_PATTERNS = (
    (("`",), r"```.*?```"),  # fenced code
    (("`",), r"``(?:(?!'')[^`\n])+``(?:(?<=\S``)|(?!\S))"),  # inline code; not ``so'', nor ``so ``said
    (("`",), r"(?<!`)`[^`\n]+`(?!`)"),
    (("<",), r"<[/!]?[A-Za-z][^<>\n]{0,200}>"),  # markup
    (("://",), r"\b[A-Za-z][\w+.-]{0,30}://\S+"),  # addresses
    (("www.",), r"\bwww\.\S+"),
    (("@",), r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.\w{1,20})+"),  # mail
    (("@", "#"), r"(?<!\w)[@#]\w+"),  # handles and tags
    (("/",), r"(?<![\w/])(?:~|\.{1,2})?/(?:[\w.-]+/)+[\w.-]*"),  # paths
    (("_",), r"\b\w+(?:_\w+)+\b"),  # names in code
    (("()",), r"\b\w+\(\)"),
)
_MARKS = tuple(dict.fromkeys(mark for marks, _ in _PATTERNS for mark in marks))
# ASCII characters that are part of no mark, except parentheses; most texts contain only these.
_UNMARKED = bytes(byte for byte in range(128) if chr(byte) not in "`</@#_")
# Every alternative begins with its mark, which makes the search fast.
_QUOTATION = re.compile(r"``(?!`)[^`]{1,2000}?''|“[^“”]{1,2000}”|\"(?<!\w\")[^\"]{1,2000}\"(?!\w)")
# A pronoun in quotation marks is mentioned, not used.
_MENTIONED = frozenset("he she him her his hers himself herself they them their theirs themself".split())
_SMALL_WORDS = frozenset("a an the and or but of in on at to for from with by as".split())


def protected_spans(text: str, *, quotations: bool = False) -> list[tuple[int, int]]:
    """Return the start and end of every protected span, from left to right.

    With ``quotations``, all quotations are protected, instead of only quoted titles of works and single pronouns.
    """
    if text.isascii() and not text.encode().translate(None, _BARE) and "www." not in text:
        return []
    found = protected_addresses(text)
    if '"' not in text and "“" not in text and "``" not in text:
        return found
    quoted = [match.span() for match in _QUOTATION.finditer(text)]
    return sorted(found + [span for span in quoted if quotations or _is_title(text[slice(*span)].strip("\"“”`'"))])


def protected_addresses(text: str) -> list[tuple[int, int]]:
    """Return the start and end of every address, handle, path, and piece of code or markup, from left to right."""
    if text.isascii() and not text.encode().translate(None, _UNMARKED) and "www." not in text and "()" not in text:
        return []
    marks = tuple(filter(text.__contains__, _MARKS))
    return [match.span() for match in _pattern(marks).finditer(text)] if marks else []


@cache
def _pattern(present: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the protected spans that a text with the given marks can have."""
    patterns = [pattern for marks, pattern in _PATTERNS if not set(marks).isdisjoint(present)]
    return re.compile("|".join(patterns), re.DOTALL)


def _is_title(quoted: str) -> bool:
    """Return whether a quotation is the title of a work (*The Man Who Came to Dinner*) or a single pronoun."""
    if quoted in _MENTIONED:
        return True
    quoted = quoted.strip(" ,")  # in American style, the comma after a title is inside the quotation marks
    words = quoted.split(" ")
    if not 2 <= len(words) <= 10 or quoted.isupper() or quoted[-1] in ".;:" or words[0] in _SMALL_WORDS:
        return False
    return all(word[:1].isupper() or word[:1].isdigit() or word in _SMALL_WORDS for word in words)


def is_within_thing_name(pieces: list[str], place: int) -> bool:
    """Return whether a word is part of the name of a firm, brand, place or work: *Ray Ban*."""
    for name, start in things_by_word().get(pieces[place], ()):  # faster than any()
        if start <= place and pieces[place - start : place - start + len(name)] == name:
            return True
    return False


@cache
def things_by_word() -> dict[str, list[tuple[list[str], int]]]:
    """Return, for each word, the names of things that contain it: their pieces, and the index of the word."""
    found: dict[str, list[tuple[list[str], int]]] = {}
    for name in load_not_people():
        pieces = re.split(r"(\W+)", name.strip(string.punctuation))
        for place in range(0, len(pieces), 2):
            found.setdefault(pieces[place], []).append((pieces, place))
    return found


@cached_for_recent_texts
def names_of_things(text: str) -> list[tuple[int, int]]:
    """Return the start and end of every name of a thing. They are cached, because each axis asks for them."""
    return [match.span() for match in not_people_pattern().finditer(text)]


@cache
def not_people_pattern() -> re.Pattern[str]:
    """Return a pattern that matches the names of things other than people and prefers the longest."""
    names = sorted(load_not_people(), key=lambda name: (-len(name), name))
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})(?!\w)")
