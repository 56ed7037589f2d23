"""Sentences that differ only in their gendered pronouns, and where in them these stand."""

from __future__ import annotations

import re
from dataclasses import dataclass

MALE = ("he", "him", "his", "himself")
FEMALE = ("she", "her", "hers", "herself")
_WORD = re.compile(r"\S+")
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class PronounSentence:
    """A sentence and the places of the pronouns it is judged by.

    Attributes:
        text: wording of the sentence.
        spans: start and end of each pronoun the sentence is judged by, in characters.
    """

    text: str
    spans: tuple[tuple[int, int], ...]

    @property
    def pronouns(self) -> tuple[str, ...]:
        """The pronouns themselves, in lower case."""
        return tuple(self.text[start:end].lower() for start, end in self.spans)


def differing_words(first: str, second: str) -> list[int]:
    """Indices of the blank-separated words in which two texts differ; empty where their numbers of words do.

    Example:
        >>> differing_words("He saw his hat.", "She saw her hat.")
        [0, 2]
    """
    words, others = first.split(), second.split()
    if len(words) != len(others):
        return []
    return [k for k, (word, other) in enumerate(zip(words, others, strict=True)) if word != other]


def sentence_with_pronouns(text: str, indices: list[int]) -> PronounSentence:
    """The sentence with the words at ``indices`` as its pronouns, punctuation left out."""
    words = list(_WORD.finditer(text))
    spans = []
    for index in indices:
        letters = _LETTERS.search(words[index].group())
        if letters is not None:
            start = words[index].start()
            spans.append((start + letters.start(), start + letters.end()))
    return PronounSentence(text, tuple(spans))


def by_pronouns(first: str, second: str) -> tuple[PronounSentence, PronounSentence] | None:
    """Both sentences with the places in which they differ; None unless they differ in pronouns of opposite gender only.

    Example:
        >>> by_pronouns("I saw him.", "I saw her.")[1].spans
        ((6, 9),)
    """
    indices = differing_words(first, second)
    pair = sentence_with_pronouns(first, indices), sentence_with_pronouns(second, indices)
    one, other = (sentence.pronouns for sentence in pair)
    opposite = all((p in MALE and q in FEMALE) or (p in FEMALE and q in MALE) for p, q in zip(one, other, strict=False))
    return pair if len(one) == len(other) == len(indices) > 0 and opposite else None
