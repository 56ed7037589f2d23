"""Association of tokens with labels: local mutual information, and Cramer's V for a group of words.

Source: Schuster et al. 2019, "Towards Debiasing Fact Verification Models", section 3; Cramer 1946, "Mathematical
Methods of Statistics", section 21.9, for V.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairlab.metrics.bootstrap import RESAMPLES

SCALE = 1e6  # as printed by Schuster et al.
FEWEST = 5  # minimum number of occurrences, from the same paper


@dataclass(frozen=True)
class LMI:
    """Local mutual information of an n-gram and a label.

    Attributes:
        ngram: Tokens of the n-gram, separated by spaces.
        label: Label of the counted documents.
        value: Local mutual information p(w, l) * ln(p(l | w) / p(l)), times a million.
        share: Share of the n-gram's occurrences that have the label, p(l | w).
        count: Number of occurrences of the n-gram with any label.
    """

    ngram: str
    label: str
    value: float
    share: float
    count: int


def mutual_information(
    counts_GL: NDArray[np.number], total: float | None = None, share_L: NDArray[np.floating] | None = None
) -> NDArray[np.float64]:
    """Return the local mutual information p(w, l) ln(p(l | w) / p(l)) of n-grams and labels, (G, L).

    It is 0 for counts of 0.

    Args:
        counts_GL: Number of times each n-gram occurs with each label.
        total: Divisor that converts a count to p(w, l); None for the sum of all counts, as in Schuster et al.
        share_L: Share of each label, p(l); None for each label's share of all counts.
    """
    counts_GL = counts_GL.astype(np.float64)
    total = float(counts_GL.sum()) if total is None else total
    share_L = counts_GL.sum(axis=0) / (total or 1.0) if share_L is None else share_L
    with np.errstate(divide="ignore", invalid="ignore"):
        lift_GL = counts_GL / counts_GL.sum(axis=1, keepdims=True) / share_L
    return np.where(counts_GL > 0, counts_GL / (total or 1.0) * np.log(np.where(counts_GL > 0, lift_GL, 1.0)), 0.0)


def local_mutual_information(
    documents: Iterable[tuple[Sequence[str], str]], *, n: int = 1, fewest: int = FEWEST
) -> dict[str, list[LMI]]:
    """Return the n-grams of every label with local mutual information above 0, in decreasing order.

    Probabilities are over occurrences of n-grams, so p(l) is the label's share of all occurrences. N-grams have ``n``
    tokens and, over all labels, at least ``fewest`` occurrences.
    """
    joint: dict[str, Counter[str]] = {}
    for tokens, label in documents:
        grams = joint.setdefault(label, Counter())
        grams.update(" ".join(tokens[start : start + n]) for start in range(len(tokens) - n + 1))
    of_gram = sum(joint.values(), Counter())
    counts_GL = np.array([[grams[gram] for grams in joint.values()] for gram in of_gram]).reshape(-1, len(joint))
    values_GL = SCALE * mutual_information(counts_GL)
    found = {}
    for place, (label, grams) in enumerate(joint.items()):
        entries = [
            LMI(gram, label, float(value), grams[gram] / of_gram[gram], of_gram[gram])
            for gram, value in zip(of_gram, values_GL[:, place], strict=True)
            if of_gram[gram] >= fewest and value > 0
        ]
        found[label] = sorted(entries, key=lambda entry: (-entry.value, entry.ngram))
    return found


def cramers_v(table: NDArray[np.number]) -> NDArray[np.float64]:
    """Return Cramer's V of contingency tables (..., R, C), in [0, 1].

    For two-by-two tables, it is the absolute phi coefficient. Chi squared is summed over non-empty rows and columns.
    The result is 0 if one row or one column contains all counts.
    """
    table = table.astype(np.float64)
    rows, columns = table.sum(axis=-1, keepdims=True), table.sum(axis=-2, keepdims=True)
    total = table.sum(axis=(-2, -1), keepdims=True)
    expected = rows * columns / np.where(total == 0, 1.0, total)
    chi = np.divide((table - expected) ** 2, expected, out=np.zeros_like(table), where=expected > 0).sum(axis=(-2, -1))
    smaller = np.minimum((rows > 0).sum(axis=(-2, -1)), (columns > 0).sum(axis=(-2, -1))) - 1
    scale = total[..., 0, 0] * smaller
    return np.sqrt(np.divide(chi, scale, out=np.zeros_like(chi), where=scale > 0))


def presence_table(present: Sequence[bool], labels: Sequence[str]) -> NDArray[np.float64]:
    """Return the number of documents without and with a feature for each label, (2, L).

    Labels are in order of first appearance.
    """
    place = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    table = np.zeros((2, len(place)))
    for one, label in zip(present, labels, strict=True):
        table[int(one), place[label]] += 1
    return table


def association_draws(table: NDArray[np.floating], seed: int = 0) -> NDArray[np.float64]:
    """Return bootstrap draws (2,000,) of Cramer's V from resampled documents."""
    total = int(table.sum())
    drawn = np.random.default_rng(seed).multinomial(total, (table / total).ravel(), size=RESAMPLES)
    return cramers_v(drawn.reshape(-1, *table.shape))
