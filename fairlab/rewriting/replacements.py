"""Versions of a text as lines, each with changed words and their replacement in every version."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlab.rewriting.english.edits import apply_edits, recase
from fairlab.rewriting.english.lexical_agreement import agree
from fairlab.text.view import Edit

THIRD_PERSON, PLURAL = ("he", "she"), "they"
CONTRACTED = ("s", "re", "ve")


def replaced(text: str, lines: Sequence[Sequence[str]], names: Sequence[str]) -> dict[str, str]:
    """Apply lines of replacements to a text and return the versions.

    Lines are in the order of the text. A line also applies to further occurrences of its words, up to the next line
    that begins with the same words. Capitals follow the text. *a*, *an*, extra spaces, and the verbs of *he* or *she*
    that became *they* (or the reverse) are corrected. An empty replacement deletes the words of its line.

    Returns:
        Text of each version, by name.

    Raises:
        ValueError: The words of a line are not in the text.
    """
    edits: dict[str, list[Edit]] = {name: [] for name in names}
    taken: dict[str, int] = {}
    for place, (word, *news) in enumerate(lines):
        spans = [match.span() for match in _occurrences(text, word)]
        if not spans:
            raise ValueError(f"'{word}' is not in the text")
        again = sum(line[0].casefold() == word.casefold() for line in lines[place + 1 :])
        first = taken.get(word.casefold(), 0)
        mine = spans[first : first + 1] if again else spans[first:]
        taken[word.casefold()] = first + 1
        for name, new in zip(names, news, strict=True):
            edits[name] += [Edit(start, end, _fit_capitals(text[start:end], word, new)) for start, end in mine]
    agreed = {name: found + _verbs(text, found) for name, found in edits.items()}
    longest_first = {name: sorted(found, key=lambda edit: edit.start - edit.end) for name, found in agreed.items()}
    return {name: apply_edits(text, found) for name, found in longest_first.items()}


def _occurrences(text: str, word: str) -> list[re.Match[str]]:
    if not word.strip():
        return []
    return list(re.finditer(rf"(?<!\w){re.escape(word.strip())}(?!\w)", text, re.IGNORECASE))


def _fit_capitals(found: str, listed: str, new: str) -> str:
    """Return ``new`` with the capitals of ``found``, which is the occurrence of ``listed`` in the text."""
    if found != listed and found == listed.lower():
        return new[:1].lower() + new[1:]
    return recase(found, listed, new)


def _verbs(text: str, edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits of verbs that must agree with a subject pronoun whose number changes."""
    pieces = re.split(r"(\W+)", text)
    starts = [sum(map(len, pieces[:place])) for place in range(len(pieces))]
    before = list(pieces)
    for edit in edits:
        old, new = text[edit.start : edit.end].casefold(), edit.new.casefold()
        if (old in THIRD_PERSON and new == PLURAL) or (old == PLURAL and new in THIRD_PERSON):
            agree(pieces, starts.index(edit.start), third_person=new == PLURAL)
    verbs: list[Edit] = []
    for start, was, now in zip(starts, before, pieces, strict=True):
        if was != now:  # includes the apostrophe of *he's*, which otherwise looks like a possessive
            mark = text[start - 1] if was in CONTRACTED else ""
            verbs.append(Edit(start - len(mark), start + len(was), mark + now))
    return verbs
