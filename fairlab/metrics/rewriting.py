"""Similarity of a rewrite to its reference: BLEU, ROUGE-2, word-level Levenshtein distance.

Source: Papineni et al. 2002, "BLEU", section 2.3, with sacrebleu's counts (Post 2018); Lin 2004, "ROUGE", section 2.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from fairlab.types import need_extra

ORDER = 4  # length of BLEU's longest n-grams
Array = NDArray[np.float64]


def bleu_counts(made: Sequence[str], references: Sequence[str]) -> Array:
    """Return the terms of corpus BLEU, (10, N): matching n-grams by order, n-grams by order, words, reference words.

    Texts are tokenized as in sacrebleu's default (13a) and keep their case.
    """
    scorer = _bleu()
    found = [scorer.sentence_score(text, [reference]) for text, reference in zip(made, references, strict=True)]
    return np.array([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in found], dtype=np.float64).T


def bleu(*counts: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    """Return corpus BLEU, 0 to 100, from the ten rows of ``bleu_counts``, without smoothing.

    Example:
        >>> float(bleu(*bleu_counts(["he saw a small cat"], ["he saw a small cat"])).round(6))
        100.0
    """
    sums = [row.sum(axis=axis) for row in counts]
    matches, totals, words, wanted = sums[:ORDER], sums[ORDER : 2 * ORDER], sums[-2], sums[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.mean([np.log(m / t) for m, t in zip(matches, totals, strict=True)], axis=0)
        brevity = np.minimum(0, 1 - wanted / words)
        return 100 * np.nan_to_num(np.exp(precision + brevity))


def rouge_2(made: Sequence[str], references: Sequence[str]) -> Array:
    """Return the ROUGE-2 F-measure of each rewrite, (N,), in [0, 1].

    Bigrams consist of lower-case words without stemming.
    """
    scorer = _rouge()
    pairs = zip(made, references, strict=True)
    return np.array([scorer.score(reference, text)["rouge2"].fmeasure for text, reference in pairs])


def word_levenshtein(made: Sequence[str], references: Sequence[str]) -> Array:
    """Return the word-level Levenshtein distance of each rewrite to its reference, (N,).

    Words are split at white space.

    Example:
        >>> word_levenshtein(["he saw his cat"], ["she saw her cat"]).tolist()
        [2.0]
    """
    pairs = zip(made, references, strict=True)
    return np.array([Levenshtein.distance(text.split(), reference.split()) for text, reference in pairs], float)


@cache
def _bleu() -> Any:
    need_extra("metrics", "BLEU", "sacrebleu")
    from sacrebleu.metrics.bleu import BLEU

    logging.getLogger("sacrebleu").setLevel(logging.ERROR)  # it warns that texts ending in " ." look tokenized
    return BLEU(effective_order=True)


@cache
def _rouge() -> Any:
    need_extra("metrics", "ROUGE", "rouge_score")
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rouge2"])
