"""ROUGE-L of two lists of words."""

from __future__ import annotations

from collections.abc import Sequence


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
    longest = [0] * (len(second) + 1)
    for word in first:
        before = 0  # length up to the previous word of both lists
        for place, other in enumerate(second, start=1):
            same = before + 1 if word == other else max(longest[place], longest[place - 1])
            before, longest[place] = longest[place], same
    return 2 * longest[-1] / (len(first) + len(second))
