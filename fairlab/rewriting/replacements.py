"""Versions of a text as lines, each with changed words and their replacement in every version."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fairlab.rewriting.english.edits import apply_edits, recase
from fairlab.rewriting.english.lexical_agreement import agree
from fairlab.text.difference import PIECE, stretches
from fairlab.text.view import Edit

ARTICLES = ("a", "an")
THIRD_PERSON, PLURAL = ("he", "she"), "they"
CONTRACTED = ("s", "re", "ve")


def replacements_between(text: str, versions: Mapping[str, str]) -> list[list[str]]:
    """Return the words of a text that change in any version, with their replacements.

    Args:
        text: Original text.
        versions: Versions of the text, by name.

    Returns:
        Lines in the order of the text, each with words of the text and their replacement in every version. A line that
        repeats an earlier one is omitted.

    Example:
        >>> replacements_between("She saw her.", {"neutral": "They saw them.", "man": "He saw him."})
        [['She', 'They', 'He'], ['her', 'them', 'him']]
    """
    source = _words(text)
    changed = [_changes(source, _words(version)) for version in versions.values()]
    lines: list[list[str]] = []
    for start, end in _merge_overlapping([(start, end) for found in changed for start, end, _ in found]):
        line = [_text_between(text, start, end)]
        for version, found in zip(versions.values(), changed, strict=True):
            before = sum(shift for _, until, shift in found if until <= start)
            within = sum(shift for begin, until, shift in found if start <= begin and until <= end)
            line.append(_text_between(version, start + before, end + before + within))
        lines += [one for one in _split_line(line) if not any(_same(one, earlier) for earlier in lines)]
    return lines


def replaced(text: str, lines: Sequence[Sequence[str]], names: Sequence[str]) -> dict[str, str]:
    """Apply lines of replacements to a text and return the versions.

    Lines are in the order of the text. A line also applies to further occurrences of its words, up to the next line
    that begins with the same words. Capitals follow the text. *a*, *an*, extra spaces, and the verbs of *he* or
    *she* that became *they* (or the reverse) are corrected.

    Args:
        text: Original text.
        lines: Words of the text and their replacement in each version; an empty replacement deletes them.
        names: Names of the versions, in the order of the lines.

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


def _words(text: str) -> list[str]:
    return [match.group() for match in PIECE.finditer(text) if not match.group().isspace()]


def _text_between(text: str, start: int, end: int) -> str:
    """Return the part of a text from word number ``start`` up to, but excluding, word number ``end``."""
    spans = [match.span() for match in PIECE.finditer(text) if not match.group().isspace()]
    return text[spans[start][0] : spans[end - 1][1]] if start < end else ""


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the differences between two sequences: start and end in the old one, and the change in length.

    A pure insertion includes the word after it, or the last word if no word follows.
    """
    found: list[tuple[int, int, int]] = []
    place = 0
    for before, after in stretches(old, new):
        end = place + len(before)
        if before != after:
            start = place
            if start == end:
                start, end = (start, end + 1) if end < len(old) else (start - 1, end)
            found.append((start, end, len(after) - len(before)))
        place += len(before)
    return found


def _merge_overlapping(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans in order, with overlapping ones merged."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _split_line(line: Sequence[str]) -> list[list[str]]:
    """Split a line into single words if every version has the same number of words."""
    split = [part.split() for part in line]
    if len({len(words) for words in split}) > 1:
        return [list(line)]
    single: list[list[str]] = []
    for word, *news in zip(*split, strict=True):
        if word.casefold() in ARTICLES:  # corrected automatically
            continue
        # a grammatical change belongs to the word that requires it
        if single and sum(new == word for new in news) >= len(news) - 1:
            single[-1] = [f"{part} {more}" for part, more in zip(single[-1], (word, *news), strict=True)]
        else:
            single.append([word, *news])
    return single


def _same(line: Sequence[str], other: Sequence[str]) -> bool:
    return [part.casefold() for part in line] == [part.casefold() for part in other]
