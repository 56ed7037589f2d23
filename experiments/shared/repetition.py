"""Repetition rates: how much of some texts occurs word for word in others.

Source: Yang et al. 2025, "RAZOR", section 4.2, which rules out leakage of test sets by the rewriter "by calculating
repetition rates". The paper does not define these rates; the definitions in this module are not from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return WORD.findall(text.lower())


def repeated_whole(texts: Sequence[str], others: Iterable[str]) -> NDArray[np.float64]:
    """Return 1 for each text (N,) whose sequence of words equals that of one of the others, and 0 otherwise."""
    there = {tuple(words(other)) for other in others}
    return np.array([float(tuple(words(text)) in there) for text in texts])


def repeated_share(texts: Sequence[str], others: Iterable[str], length: int) -> NDArray[np.float64]:
    """Return the proportion of each text's word n-grams that occur in one of the others (N,).

    The proportion is 0 for a text with fewer than ``length`` words.

    Args:
        texts: Texts to measure.
        others: Texts in which the n-grams are searched.
        length: Number of words per n-gram.

    Example:
        >>> repeated_share(["a b c d"], ["x A b, c"], 3).tolist()
        [0.5]
    """
    there = {run for other in others for run in _runs(other, length)}
    shares = []
    for text in texts:
        found = [run in there for run in _runs(text, length)]
        shares.append(sum(found) / len(found) if found else 0.0)
    return np.array(shares)


def _runs(text: str, length: int) -> list[tuple[str, ...]]:
    found = words(text)
    return [tuple(found[start : start + length]) for start in range(len(found) - length + 1)]
