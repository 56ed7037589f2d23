"""Agreement between several people who rewrote the same text.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", appendix D and table 8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from statistics import fmean

from rapidfuzz.distance import Levenshtein

from fairlab.types import need_extra

ROUGE = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def full_agreement(rewrites: Sequence[str]) -> float:
    """Return the proportion of rewrites of a text that equal the most frequent one, in (0, 1].

    Example:
        >>> full_agreement(["He left.", "He left.", "They left.", "He went."])
        0.5
    """
    return Counter(rewrites).most_common(1)[0][1] / len(rewrites)


def token_agreement(rewrites: Sequence[str]) -> float:
    """Return the mean over positions of the proportion of rewrites with the most frequent token there, in (0, 1].

    Tokens are separated by white space. A rewrite that is shorter than others has an empty token at their last
    positions.

    Example:
        >>> token_agreement(["He left", "They left", "He left"])  # (2/3 + 1) / 2
        0.8333333333333333
    """
    tokens = [rewrite.split() for rewrite in rewrites]
    longest = max(map(len, tokens))
    padded = [[*found, *[""] * (longest - len(found))] for found in tokens]
    return fmean(full_agreement(position) for position in zip(*padded, strict=True)) if longest else 1.0


def levenshtein_share(one: str, other: str) -> float:
    """Return the word-level edit distance divided by the number of words of the longer text, in [0, 1].

    The value 0.06 in table 8 is such a proportion, whereas 5.20 in table 2 is a number of words.

    Example:
        >>> levenshtein_share("he saw his dog", "she saw her dog")
        0.5
    """
    return Levenshtein.normalized_distance(one.split(), other.split())


def annotator_agreement(tasks: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the mean agreement between the rewrites of each text.

    Texts with one rewrite are excluded.

    Args:
        tasks: For each text, the rewrites of all annotators who rewrote it.

    Returns:
        ``full``, ``token``, ``bleu`` (sentence-level sacreBLEU), ``rouge1``, ``rouge2``, ``rougeL`` and ``rougeLsum``
        (F1) in percent, and ``levenshtein`` as a proportion. All but the first two are means over ordered pairs of
        rewrites.

    Raises:
        FairlabError: a package is not installed.
        ValueError: no text has two rewrites.
    """
    need_extra("metrics", "agreement of annotators by BLEU and ROUGE", "sacrebleu", "rouge_score")
    import sacrebleu
    from rouge_score import rouge_scorer

    scorer = rouge_scorer.RougeScorer(list(ROUGE))
    several = [rewrites for rewrites in tasks if len(rewrites) > 1]
    if not several:
        raise ValueError("no task has two rewrites")
    rows = []
    for rewrites in several:
        pairs = list(permutations(rewrites, 2))
        rouge = [scorer.score(one, other) for one, other in pairs]
        rows.append(
            {
                "full": 100 * full_agreement(rewrites),
                "token": 100 * token_agreement(rewrites),
                "bleu": fmean(sacrebleu.sentence_bleu(one, [other]).score for one, other in pairs),
                **{name: 100 * fmean(scores[name].fmeasure for scores in rouge) for name in ROUGE},
                "levenshtein": fmean(levenshtein_share(*pair) for pair in pairs),
            }
        )
    return {name: fmean(row[name] for row in rows) for name in rows[0]}
