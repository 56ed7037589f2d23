"""Claims and tokens that each score ranks highest, in data whose shortcut is known.

    python -m experiments.razor.choices

The script writes ``choices.jsonl``: one row per drawn word of the second study, one for the negations in the first
study's pairs, and one for the planted reviews. No classifier is trained.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from experiments.razor.known_truth import (
    AGAINST,
    ARMS,
    NONE,
    SPACES,
    Known,
    Rules,
    contains,
    counts,
    drawn_words,
    read_pool,
    rewrites_of,
    sizes,
    thinned,
    training_pairs,
)
from experiments.razor.pairs import SHARE, TASK
from experiments.razor.planted import of_sst2, planted
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import CLAIMS
from fairlab.data.text import held_out
from fairlab.metrics.lmi import cramers_v
from fairlab.metrics.shortcuts import TokenSpace
from fairlab.metrics.shortcuts_by_chance import ChanceSpace
from fairlab.metrics.shortcuts_by_word import StrongestSpace
from fairlab.metrics.shortcuts_official import OfficialSpace
from fairlab.text.surface_tokens import negations, surface_tokens

FILE = Path(__file__).with_name("choices.jsonl")
SCORES = {"chance": ChanceSpace, "official": OfficialSpace, **SPACES, "strongest": StrongestSpace}
TOP = 10  # percentage of the claims that a score chooses
COMMON = 0.005  # tokens in a smaller share of the claims, or in fewer than 10 claims, are not ranked
QUARTILES = (25, 50, 75)
SHOWN = 6  # number of tokens shown
Bools = NDArray[np.bool_]


def area(scores: NDArray[np.floating[Any]], positive: Bools) -> float:
    """Return the area under the ROC curve of scores that should be higher for the positive items.

    Example:
        >>> area(np.array([3.0, 2.0, 1.0]), np.array([True, False, True]))
        0.5
    """
    ranks, count = rankdata(scores), positive.sum()
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (~positive).sum()))


def token_places(texts: Sequence[str]) -> dict[str, list[int]]:
    """Return the indices of the texts that contain each common token."""
    found: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        for token in sorted(set(surface_tokens(text))):
            found.setdefault(token, []).append(place)
    return {token: places for token, places in found.items() if len(places) >= max(10, COMMON * len(texts))}


def associations(places: dict[str, list[int]], labels: NDArray[np.int_]) -> NDArray[np.float64]:
    """Return Cramer's V between the label, 0 or 1, and the presence of each token."""
    totals = np.bincount(labels, minlength=2)
    held = np.array([np.bincount(labels[some], minlength=2) for some in places.values()])
    return cramers_v(np.stack([held, totals - held], axis=1))


def choices(texts: Sequence[str], labels: NDArray[np.int_], following: Bools) -> dict[str, Any]:
    """Return, for each score, how well it finds claims that follow the shortcut, its choice, and its highest tokens.

    The score of a token is the mean score of the claims that contain it.

    Args:
        texts: Claims.
        labels: Label of each claim, 0 or 1.
        following: Whether each claim follows the shortcut.
    """
    places, found = token_places(texts), {}
    tokens, strength = list(places), associations(places, labels)
    lengths = np.array([len(surface_tokens(text)) for text in texts])
    for name, space in SCORES.items():
        gamma = space(texts, labels.tolist()).gamma()
        of_tokens = np.array([gamma[some].mean() for some in places.values()])
        top = np.argsort(-gamma, kind="stable")[: len(texts) * TOP // 100]
        found[name] = {
            "area": area(gamma, following),
            "chosen": int(following[top].sum()),
            "labelled_1": int((labels[top] == 1).sum()),
            "lengths": np.percentile(lengths[top], QUARTILES).tolist(),
            "tokens_rho": float(spearmanr(of_tokens, strength).statistic),
            "tokens": [tokens[k] for k in np.argsort(-of_tokens, kind="stable")[:SHOWN]],
        }
    about = {"claims": len(texts), "following": int(following.sum()), "tokens": len(tokens)}
    return about | {"lengths": np.percentile(lengths, QUARTILES).tolist(), "scores": found}


def of_equation(texts: Sequence[str], labels: NDArray[np.int_]) -> dict[str, float]:
    """Return what the paper's score depends on.

    The results are the cosine between the mean unit vectors of the labels, and the rank correlations of the score with
    itself after the labels are shuffled, and with the distance of the claim's length from the median, in logarithms.
    """
    space = TokenSpace(texts, labels.tolist())
    gamma, (one, other) = space.gamma(), space.sums
    shuffled = random.Random(0).sample(labels.tolist(), len(labels))
    lengths = np.log([max(1, len(surface_tokens(text))) for text in texts])
    return {
        "cosine": float(one @ other / np.linalg.norm(one) / np.linalg.norm(other)),
        "shuffled_rho": float(spearmanr(gamma, TokenSpace(texts, shuffled).gamma()).statistic),
        "length_rho": float(spearmanr(gamma, np.abs(lengths - np.median(lengths))).statistic),
    }


def of_arms(known: Known, rules: Rules, seed: int = 42) -> dict[str, dict[str, float]]:
    """Return the counts of each arm's rewrites, and the % of claims with the word that then have its label."""
    found = {}
    for arm in ARMS:
        made = rewrites_of(arm, known, seed, rules)
        left = [one.label for one in training_pairs(arm, known, made) if contains(str(one.second), known.word)]
        share = 100 * float(np.mean([label == known.label for label in left]))
        found[arm] = {**counts(known, made), "left": len(left), "share": share}
    return found


def row(name: str, texts: Sequence[str], labels: Sequence[float], following: Sequence[bool]) -> dict[str, Any]:
    """Return the row of a dataset; see :func:`choices` and :func:`of_equation`."""
    numbers = np.array(labels, dtype=np.int_)
    return {"data": name} | choices(texts, numbers, np.array(following)) | of_equation(texts, numbers)


def rows() -> list[dict[str, Any]]:
    """Return the rows of all datasets."""
    from experiments.razor.known_truth_runs import paraphrasing

    pool, rules, found = read_pool(), Rules(paraphrasing()), []
    for word in drawn_words(pool):
        known = thinned(pool, word)
        texts, labels = [str(one.second) for one in known.biased], [one.label for one in known.biased]
        following = [contains(text, word) and label == known.label for text, label in zip(texts, labels, strict=True)]
        tests = {percent: sizes(len(known.follow), len(known.against), percent) for percent in (AGAINST, NONE)}
        about = {"label": CLAIMS[known.label], "held": counts_of(known), "tests": tests, "arms": of_arms(known, rules)}
        found.append(row(word, texts, labels, following) | about)
    pairs = [one for one in read_task(TASK, "train") if not held_out(one.first, SHARE)]
    texts, labels = [str(one.second) for one in pairs], [one.label for one in pairs]
    refuted = [_negated(text) and CLAIMS[int(label)] == "REFUTES" for text, label in zip(texts, labels, strict=True)]
    found.append(row("negations, first study", texts, labels, refuted))
    reviews = planted(400, 400, 0, of_sst2())["train"]
    negative = [one["label"] == "negative" for one in reviews]
    held = [_negated(one["text"]) and bad for one, bad in zip(reviews, negative, strict=True)]
    return [*found, row("negations, planted reviews", [one["text"] for one in reviews], negative, held)]


def counts_of(known: Known) -> int:
    """Return the number of training claims with the word."""
    return sum(contains(str(one.second), known.word) for one in known.biased)


def _negated(text: str) -> bool:
    return negations(surface_tokens(text)) > 0


def rounded(value: Any) -> Any:
    """Round the numbers of a row to four decimals."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def main() -> None:
    """Write all rows."""
    lines = (json.dumps(rounded(one), separators=(",", ":")) + "\n" for one in rows())
    FILE.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
