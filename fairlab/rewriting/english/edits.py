"""Application of replacements to a text, with corrections of capitals, possessive endings and articles."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace

from fairlab.rewriting.english.agreement import article, possessive
from fairlab.text.cleaning import PARAGRAPH
from fairlab.text.view import Edit
from fairlab.text.words import match_case

_ARTICLE = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)
_ENDING = re.compile(r"['’](?:s\b|S\b)?(?![A-Za-z])")
# Separators between two alternative words for one person.
BETWEEN_ALTERNATIVES = re.compile(r"(?:'s?|\.)?(?: ?/ ?| and/or | or )(?:an? )?")
_BLANK = re.compile(r"\s+")
_NEXT_WORD = re.compile(r"\W*(\w+)")
NEAR = 2  # maximum number of words between two adjectives of one person
_SENTENCE_END = re.compile(rf"(?:^|[.!?:]\s*[\"'”’)]?|\n|{PARAGRAPH})\s*[\"'“‘(]*$")


def recase(found: str, listed: str, new: str) -> str:
    """Return ``new`` in the capitalisation of ``found``.

    If ``found`` is capitalised as listed, ``new`` stays unchanged.
    """
    return new if found == listed else match_case(found, new)


def starts_sentence(text: str, start: int) -> bool:
    """Return whether a sentence begins at ``start``."""
    return bool(_SENTENCE_END.search(text[max(0, start - 8) : start])) if start else True


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Apply all edits to a text, and correct the articles, possessives and capitals around them."""
    pieces, position = [], 0
    for edit in fitted_edits(text, edits):
        pieces += [text[position : edit.start], edit.new]
        position = edit.end
    return "".join([*pieces, text[position:]])


def fitted_edits(text: str, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield the edits from left to right, with corrections of the articles, possessives and capitals around them.

    An edit with an empty ``new`` also deletes the space after its word.
    """
    position = 0
    edits = list(_merge_alternatives(text, sorted(edits, key=lambda edit: edit.start)))
    starts = {edit.start for edit in edits}
    for edit in edits:
        if edit.start < position:
            continue
        new, end = edit.new, edit.end
        ending = _ENDING.match(text, end)
        if new and ending and end not in starts and not _is_quote(text, edit, ending):
            made = possessive(new, ending.group())
            new, end = (new, end) if made == ending.group() else (new + made, ending.end())
        if not new and (blank := _BLANK.match(text, end)):
            end = blank.end()
        if starts_sentence(text, edit.start) and text[edit.start : edit.start + 1].isupper():
            new = new[:1].upper() + new[1:]
            if not new and end < len(text):
                new, end = text[end].upper(), end + 1
        yield from _correct_article(text, position, edit.start, new, end)
        yield Edit(edit.start, end, new)
        position = end


def _merge_alternatives(text: str, edits: Sequence[Edit]) -> Iterator[Edit]:
    """Yield the edits, merging alternatives that have become the same word: *mom/dad* becomes *dad*."""
    if "/" not in text and " or " not in text:
        yield from edits
        return
    last: Edit | None = None
    for number, edit in enumerate(edits):
        if last is not None and edit.start < last.end:
            continue
        if (
            last is not None
            and edit.new.casefold() == last.new.casefold()
            and BETWEEN_ALTERNATIVES.fullmatch(text, last.end, edit.start)
        ):
            last = Edit(last.start, edit.end, last.new)
            continue
        if last is not None:
            yield last
        until = edits[number + 1].start if number + 1 < len(edits) else len(text)
        last = _extend_to_equal_word(text, edit, last.end if last else 0, until)
    if last is not None:
        yield last


def _extend_to_equal_word(text: str, edit: Edit, first: int, last: int) -> Edit:
    """Extend an edit to an adjacent alternative in ``text[first:last]`` that equals the edit's new word."""
    if not edit.new[:1].isalpha():
        return edit
    same = re.escape(edit.new)
    before = re.compile(rf"\b({same}){BETWEEN_ALTERNATIVES.pattern}$", re.IGNORECASE).search(
        text[max(first, edit.start - 60) : edit.start]
    )
    if before:
        return Edit(edit.start - len(before[0]), edit.end, before[1])
    after = re.compile(rf"{BETWEEN_ALTERNATIVES.pattern}{same}\b", re.IGNORECASE).match(text, edit.end, last)
    return Edit(edit.start, after.end(), edit.new) if after else edit


def _is_quote(text: str, edit: Edit, ending: re.Match[str]) -> bool:
    """Return whether the mark after a word closes a quotation, instead of marking a possessive."""
    if len(ending.group()) > 1:
        return False
    opened = text[max(0, edit.start - 1) : edit.start] in ("'", "‘")
    return opened or not text[edit.start : edit.end].casefold().endswith("s")


def _correct_article(text: str, position: int, start: int, new: str, end: int) -> Iterator[Edit]:
    """Yield the edit that corrects *a* or *an* before a replacement, if a correction is needed.

    Args:
        text: Text to edit.
        position: Offset after the last changed character.
        start: Offset of the replacement.
        new: Replacement.
        end: Offset after the replaced text.
    """
    first = max(position, start - 12)
    match = _ARTICLE.search(text[first:start])
    if not match:
        return
    following = _NEXT_WORD.match(new + text[end : end + 60])
    if following:
        fitting = match_case(match[1], article(following[1]))
        if fitting != match[1]:
            yield Edit(first + match.start(1), first + match.end(1), fitting)


def say_once(text: str, edits: Sequence[Edit], adjectives: Container[int]) -> list[Edit]:
    """Return the edits without the second use of an adjective for the same person.

    *A young, tall girl* becomes *a middle-aged, tall woman*, not *a middle-aged, tall middle-aged woman*, and a
    *Chinese American* becomes a *Swede*.
    """
    said: Edit | None = None
    found: list[Edit] = []
    for edit in edits:
        first, _, rest = edit.new.partition(" ")
        beside = said is not None and len(text[said.end : edit.start].split()) <= NEAR
        again = said is not None and found[-1] is said and text[said.end : edit.start] in (" ", "-")
        if said is not None and again and edit.new in (said.new, f"{said.new}s"):
            said = found[-1] = Edit(said.start, edit.end, edit.new)
            continue
        twice = beside and rest and said is not None and first.casefold() == said.new.casefold()
        found.append(replace(edit, new=rest) if twice else edit)
        said = edit if edit.start in adjectives else said
    return found
