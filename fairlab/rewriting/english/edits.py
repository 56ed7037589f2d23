"""Putting replacements into a text: capitals, possessive endings, articles and dropped words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fairlab.rewriting.english.agreement import article, possessive
from fairlab.text.words import match_case

_ARTICLE = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)
_ENDING = re.compile(r"['’](?:s\b|S\b)?(?![A-Za-z])")
_BLANK = re.compile(r"\s+")
_NEXT_WORD = re.compile(r"\W*(\w+)")
_SENTENCE_END = re.compile(r"(?:^|[.!?:]\s*[\"'”’)]?|\n)\s*[\"'“‘(]*$")


@dataclass(frozen=True)
class Edit:
    """``text[start:end]`` becomes ``new``; an empty ``new`` drops the word with the blank after it."""

    start: int
    end: int
    new: str


def recase(found: str, listed: str, new: str) -> str:
    """``new`` in the capitalisation of ``found``: as listed where that is how the found form is listed."""
    return new if found == listed else match_case(found, new)


def starts_sentence(text: str, start: int) -> bool:
    """Whether a sentence begins at ``start``."""
    return bool(_SENTENCE_END.search(text[max(0, start - 8) : start])) if start else True


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made, and articles, possessives and capitals put right around them."""
    pieces: list[str] = []
    position = 0
    edits = sorted(edits, key=lambda edit: edit.start)
    starts = {edit.start for edit in edits}
    for edit in edits:
        if edit.start < position:
            continue
        new, end = edit.new, edit.end
        ending = _ENDING.match(text, end)
        if new and ending and end not in starts and not _is_quote(text, edit, ending):
            end = ending.end()
            new += possessive(new, ending.group())
        if not new and (blank := _BLANK.match(text, end)):
            end = blank.end()
        if starts_sentence(text, edit.start) and text[edit.start : edit.start + 1].isupper():
            new = new[:1].upper() + new[1:]
            if not new and end < len(text):
                new, end = text[end].upper(), end + 1
        before = text[position : edit.start]
        pieces += [_with_article(before, new, text, end), new]
        position = end
    return "".join([*pieces, text[position:]])


def _is_quote(text: str, edit: Edit, ending: re.Match[str]) -> bool:
    """Whether the mark after a word closes a quotation that began before it, rather than a possessive."""
    if len(ending.group()) > 1:
        return False
    opened = text[max(0, edit.start - 1) : edit.start] in ("'", "‘")
    return opened or not text[edit.start : edit.end].casefold().endswith("s")


def _with_article(before: str, new: str, text: str, end: int) -> str:
    """What stands before a replacement, its last *a* or *an* fitted to the replacement."""
    match = _ARTICLE.search(before[-12:])
    if not match:
        return before
    following = _NEXT_WORD.match(new + text[end : end + 60] if new.strip() else text[end : end + 60])
    if not following:
        return before
    fitting = match_case(match[1], article(following[1]))
    start = len(before) - len(before[-12:]) + match.start(1)
    return before[:start] + fitting + before[start + len(match[1]) :]
