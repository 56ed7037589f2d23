"""Sentences that differ only in their gendered pronouns, and the positions of these pronouns."""

from __future__ import annotations

import re
from dataclasses import dataclass

MALE = ("he", "him", "his", "himself")
FEMALE = ("she", "her", "hers", "herself")
_WORD = re.compile(r"\S+")
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class PronounSentence:
    """Sentence with the positions of the pronouns to score.

    Attributes:
        text: Wording of the sentence.
        spans: Start and end of each pronoun to score, in characters.
    """

    text: str
    spans: tuple[tuple[int, int], ...]

    @property
    def pronouns(self) -> tuple[str, ...]:
        """Return the pronouns in lower case."""
        return tuple(self.text[start:end].lower() for start, end in self.spans)


def differing_words(first: str, second: str) -> list[int]:
    """Return the indices of the words that differ, or an empty list if the texts have different numbers of words.

    Example:
        >>> differing_words("He saw his hat.", "She saw her hat.")
        [0, 2]
    """
    words, others = first.split(), second.split()
    if len(words) != len(others):
        return []
    return [k for k, (word, other) in enumerate(zip(words, others, strict=True)) if word != other]


def sentence_with_pronouns(text: str, indices: list[int]) -> PronounSentence:
    """Return the sentence with the words at ``indices``, stripped of punctuation, as its pronouns."""
    words = list(_WORD.finditer(text))
    spans = []
    for index in indices:
        letters = _LETTERS.search(words[index].group())
        if letters is not None:
            start = words[index].start()
            spans.append((start + letters.start(), start + letters.end()))
    return PronounSentence(text, tuple(spans))


def by_pronouns(first: str, second: str) -> tuple[PronounSentence, PronounSentence] | None:
    """Return both sentences with the pronouns in which they differ, or None if other words differ too.

    Differing pronouns must be of opposite gender.

    Example:
        >>> by_pronouns("I saw him.", "I saw her.")[1].spans
        ((6, 9),)
    """
    indices = differing_words(first, second)
    pair = sentence_with_pronouns(first, indices), sentence_with_pronouns(second, indices)
    one, other = (sentence.pronouns for sentence in pair)
    opposite = all((p in MALE and q in FEMALE) or (p in FEMALE and q in MALE) for p, q in zip(one, other, strict=False))
    return pair if len(one) == len(other) == len(indices) > 0 and opposite else None
