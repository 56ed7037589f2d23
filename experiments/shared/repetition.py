"""Repetition rates: how much of some texts stands in others word for word.

Source: Yang et al. 2025, "RAZOR", section 4.2, which rules out leakage of test sets by the rewriter "by calculating
repetition rates" and does not define them; these are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Lower-cased words."""
    return WORD.findall(text.lower())


def repeated_whole(texts: Sequence[str], others: Iterable[str]) -> NDArray[np.float64]:
    """1 for each text (N,) whose words are those of one of the others, in order, and 0 for the rest."""
    there = {tuple(words(other)) for other in others}
    return np.array([float(tuple(words(text)) in there) for text in texts])


def repeated_share(texts: Sequence[str], others: Iterable[str], length: int) -> NDArray[np.float64]:
    """Share of each text's runs of ``length`` words that one of the others holds, (N,); 0 for a shorter text.

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
