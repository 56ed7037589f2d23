"""ROUGE-L of two lists of words."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import LCSseq


def rouge_l(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the F-measure of the longest common subsequence, in [0, 1].

    It is 1 for two empty lists.

    Example:
        >>> rouge_l("police killed the gunman".split(), "police kill the gunman".split())
        0.75

    Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", section 3.
    """
    if not first and not second:
        return 1.0
    return 2 * LCSseq.similarity(first, second) / (len(first) + len(second))
