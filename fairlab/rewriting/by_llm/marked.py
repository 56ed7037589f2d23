"""Marking of an axis's words in a text, and collection of their replacements in each version of the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from fairlab.rewriting.english.pronouns import AMBIGUOUS
from fairlab.text.difference import stretches
from fairlab.text.words import WORD_OR_SIGN, Span, TermFinder

OPENING, CLOSING = "[", "]"


def marked_spans(text: str, finder: TermFinder) -> list[Span]:
    """Return the spans to replace: the first occurrence of each listed word, and every *her* and *his*."""
    seen = set[str]()
    spans: list[Span] = []
    for span in finder.find(text):
        if span.term not in seen or span.term in AMBIGUOUS:
            spans.append(span)
        seen.add(span.term)
    return spans


def with_marks(text: str, spans: Sequence[Span]) -> str:
    """Return the text with every span in brackets.

    Example:
        >>> with_marks("She won.", [Span(0, 3, "she")])
        '[She] won.'
    """
    for span in sorted(spans, key=lambda one: -one.start):
        text = text[: span.start] + OPENING + text[span.start : span.end] + CLOSING + text[span.end :]
    return text


def span_names(text: str, spans: Sequence[Span]) -> list[str]:
    """Return the names of the spans in an answer: their words, numbered from the second occurrence.

    Example:
        >>> span_names("her and her", [Span(0, 3, "her"), Span(8, 11, "her")])
        ['her', 'her 2']
    """
    seen = Counter[str]()
    names: list[str] = []
    for span in spans:
        word = text[span.start : span.end]
        seen[word] += 1
        names.append(word if seen[word] == 1 else f"{word} {seen[word]}")
    return names


def counterparts(text: str, spans: Sequence[Span], versions: Mapping[str, str]) -> list[list[str]]:
    """Return the words of every span with their replacement in each version, in order.

    Example:
        >>> counterparts("She won.", [Span(0, 3, "she")], {"neutral": "They won.", "man": "He won."})
        [['She', 'They', 'He']]
    """
    lines = [[text[span.start : span.end]] for span in spans]
    tokens = dict(_cut(text, spans))
    places, old = list(tokens), list(tokens.values())
    for version in versions.values():
        pairs = stretches(old, WORD_OR_SIGN.findall(version))
        for line, span in zip(lines, spans, strict=True):
            first = places.index(span.start)
            count = sum(span.start <= place < span.end for place in places)
            line.append(_replacement_at(pairs, first, count))
    return lines


def _cut(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, str]]:
    """Yield the words and signs of a text with their positions, cut where a span begins or ends inside a word."""
    edges = sorted({edge for span in spans for edge in (span.start, span.end)})
    for match in WORD_OR_SIGN.finditer(text):
        cuts = (match.start(), *(edge for edge in edges if match.start() < edge < match.end()), match.end())
        yield from ((start, text[start:end]) for start, end in pairwise(cuts))


def answered_line(text: str, span: Span, answer: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Return the words of a span and their replacement in every version, capitalised as in the text."""
    word = text[span.start : span.end]
    case = str.upper if word[:1].isupper() else str.lower
    return [word, *(case(answer[name][:1]) + answer[name][1:] for name in names)]


def _replacement_at(pairs: Sequence[tuple[Sequence[str], Sequence[str]]], first: int, count: int) -> str:
    """Return the replacement for ``count`` words, starting with word number ``first``."""
    place = 0
    for before, after in pairs:
        if place <= first < place + len(before):
            left = first - place
            right = max(0, len(before) - left - count)
            return " ".join(after[left : len(after) - right])
        place += len(before)
    return ""
