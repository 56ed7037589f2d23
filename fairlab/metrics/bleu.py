"""Symmetric BLEU of two lists of words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

LONGEST = 4  # words of the longest n-gram
UNSEEN = 0.1  # count used instead of 0 for lengths without shared n-grams


def symmetric_bleu(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the smaller of two sentence BLEU scores, in [0, 1], each with one of the lists as the reference.

    As in LangFair, n-grams of up to four words have equal weights, and smoothing is method 1 of Chen and Cherry. The
    result is 0 if the lists have no common word.

    Example:
        >>> round(symmetric_bleu("the cook sang a song".split(), "the cook sang a psalm".split()), 4)
        0.6687

    Source: Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation"; Chen and Cherry
    2014, "A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU", method 1.
    """
    return min(_bleu(first, second), _bleu(second, first))


def _bleu(reference: Sequence[str], written: Sequence[str]) -> float:
    logs = []
    for length in range(1, LONGEST + 1):
        own, given = (_ngrams(words, length) for words in (written, reference))
        shared = (own & given).total()
        if length == 1 and not shared:
            return 0.0
        logs.append(math.log((shared or UNSEEN) / max(1, own.total())))
    penalty = min(0.0, 1 - len(reference) / len(written))
    return math.exp(penalty + sum(logs) / LONGEST)


def _ngrams(words: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[k : k + length]) for k in range(len(words) - length + 1))
