"""Tables of the study with a known shortcut, from ``choices.jsonl`` and ``known_truth.jsonl``."""

from __future__ import annotations

import json
from math import sqrt
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.over_seeds import p_over_seeds, t_interval
from experiments.razor import choices, known_truth_runs
from experiments.razor.known_truth import AGAINST, ARMS, NONE
from experiments.razor.known_truth_runs import Result, right_at
from experiments.rendering import markdown
from experiments.shared.nested_draws import nested_draws
from experiments.shared.power import detectable_mean
from fairlab.metrics.bootstrap import Z
from fairlab.metrics.significance import holm

NAMES = {
    "chance": "random",
    "paper": "the paper's score",
    "official": "the released code's score",
    "unbiased": "unbiased ceiling",
}
SEEDS = 5
WORDS = 3
PLANNED = "paper"  # the arm that the planned test compares with random
Array = NDArray[np.float64]


def chosen() -> list[Result]:
    """Return the rows of the choices."""
    return [json.loads(line) for line in choices.FILE.read_text(encoding="utf-8").splitlines()]


def data() -> str:
    """Return a table of the pairs of each word, in the order in which the words were drawn."""
    rows = [
        [
            f"*{one['data']}*",
            one["label"],
            f"{one['claims']:,}",
            f"{one['held']} ({one['following']})",
            *(" + ".join(map(str, one["tests"][str(percent)])) for percent in (AGAINST, NONE)),
        ]
        for one in chosen()
        if "tests" in one
    ]
    header = ["word", "label", "training pairs", "with the word (following it)", "test at 5 %", "test at 50 %"]
    return markdown(header, rows)


def ranking() -> str:
    """Return a table of how many claims that follow the shortcut are among the tenth with the highest scores."""
    rows = []
    for one in chosen():
        top = one["claims"] * choices.TOP // 100
        expected = top * one["following"] / one["claims"]
        cells = [f"{found['chosen']} ({found['area']:.2f})" for found in one["scores"].values()]
        rows.append([one["data"], f"{top}", f"{expected:.0f}", *cells])
    return markdown(["data", "claims chosen", "expected by chance", *(NAMES.get(s, s) for s in choices.SCORES)], rows)


def equation() -> str:
    """Return a table of what the paper's score depends on."""
    rows = [
        [
            one["data"],
            f"{one['cosine']:.4f}",
            *(f"{one[name]:.2f}" for name in ("shuffled_rho", "length_rho")),
            *(f"{one['scores'][name]['tokens_rho']:.2f}" for name in ("paper", "association", "strongest")),
        ]
        for one in chosen()
    ]
    of_tokens = [f"tokens: {name}, association with the label" for name in ("paper", "association", "strongest")]
    return markdown(["data", "cosine of the labels", "labels shuffled", "unusual length", *of_tokens], rows)


def lengths() -> str:
    """Return a table of the number of tokens of the claims that each score chooses, as quartiles."""
    shown = ("paper", "association", "strongest")
    rows = [
        [one["data"], *(", ".join(f"{value:.0f}" for value in some["lengths"]) for some in (one, *found))]
        for one in chosen()
        for found in [[one["scores"][name] for name in shown]]
    ]
    return markdown(["data", "all claims", *(NAMES.get(name, name) for name in shown)], rows)


def tokens() -> str:
    """Return a table of the tokens with the highest mean score."""
    rows = [
        [one["data"], *(", ".join(one["scores"][name]["tokens"]) for name in ("paper", "association", "strongest"))]
        for one in chosen()
    ]
    return markdown(["data", "the paper's score", "association", "strongest"], rows)


def arms() -> str:
    """Return a table of each arm's rewrites, for the first seed."""
    rows = []
    for one in chosen():
        for arm, found in one.get("arms", {}).items():
            if arm != "unbiased":
                made = [f"{found[name]:.0f}" for name in ("rewrites", "with_word", "following", "lost")]
                rows.append([one["data"], NAMES.get(arm, arm), *made, f"{found['share']:.1f} of {found['left']:.0f}"])
    header = ["word", "arm", "claims rewritten", "with the word", "following it", "word lost"]
    return markdown([*header, "following it after rewriting, % of claims with the word"], rows)


def matrix(word: str, arm: str, seeds: list[int], percent: int) -> Array:
    """Return 100 for each correct prediction and 0 for the others, (seeds, test pairs)."""
    found = {one["seed"]: one for one in known_truth_runs.finished() if (one["word"], one["arm"]) == (word, arm)}
    return np.stack([right_at(found[seed], percent) for seed in seeds])


def seeds_of(word: str, *of: str) -> list[int]:
    """Return the seeds with which all of the arms are finished."""
    rows = [one for one in known_truth_runs.finished() if one["word"] == word]
    return sorted(set.intersection(*({one["seed"] for one in rows if one["arm"] == arm} for arm in of)))


def fieller(top: Array, bottom: Array, ratio_of: tuple[float, float]) -> tuple[float, float] | None:
    """Return Fieller's 95 % interval of a ratio of two means, or None if it is unbounded.

    Args:
        top: Bootstrap draws of the numerator.
        bottom: Bootstrap draws of the denominator, paired with ``top``.
        ratio_of: Means in the numerator and in the denominator.

    Source: Fieller 1954, "Some Problems in Interval Estimation".
    """
    above, below = ratio_of
    variances = np.cov(top, bottom, bias=True)
    a = below**2 - Z**2 * variances[1, 1]
    b = above * below - Z**2 * variances[0, 1]
    c = above**2 - Z**2 * variances[0, 0]
    if a <= 0 or b**2 < a * c:
        return None
    half = sqrt(b**2 - a * c)
    return (b - half) / a, (b + half) / a


def proportion(word: str, arm: str) -> str:
    """Return the proportion of the gap that an arm closes, in %, with its interval if there are two seeds or more."""
    seeds = seeds_of(word, arm, *ARMS[:2])
    if not seeds:
        return ""
    biased, unbiased, own = (matrix(word, one, seeds, AGAINST) for one in ("biased", "unbiased", arm))
    means = float((own - biased).mean()), float((unbiased - biased).mean())
    value = f"{100 * means[0] / means[1]:.0f}" if means[1] else "no gap"
    if len(seeds) < 2:
        return value
    bounds = fieller(nested_draws(own - biased), nested_draws(unbiased - biased), means)
    return value + (f" [{100 * bounds[0]:.0f}, {100 * bounds[1]:.0f}]" if bounds else " [unbounded]")


def trained() -> str:
    """Return a table of the accuracy of the finished classifiers, and of the proportion of the gap that arms close."""
    rows = []
    for word in dict.fromkeys(one["word"] for one in known_truth_runs.finished()):
        for arm in ARMS:
            if seeds := seeds_of(word, arm):
                cells = [f"{matrix(word, arm, seeds, percent).mean():.1f}" for percent in (AGAINST, NONE)]
                gap = "" if arm in ARMS[:2] else proportion(word, arm)
                rows.append([word, NAMES.get(arm, arm), ", ".join(map(str, seeds)), *cells, gap])
    return markdown(["word", "arm", "seeds", "accuracy at 5 %", "accuracy at 50 %", "proportion of the gap, %"], rows)


def missing() -> str:
    """Return how many trainings are finished, and their mean duration."""
    rows = known_truth_runs.finished()
    replaced = {one["word"] for one in rows if not seeds_of(one["word"], "random") and is_dropped(one["word"])}
    counted = [one for one in rows if one["word"] not in replaced]
    seconds = fmean(one["seconds"] for one in rows) if rows else 0
    header = ["trainings finished", "trainings planned", "words replaced", "mean duration, s"]
    return markdown(
        header, [[str(len(counted)), str(WORDS * SEEDS * len(ARMS)), ", ".join(replaced) or "none", f"{seconds:.0f}"]]
    )


def is_dropped(word: str) -> bool:
    """Return whether both first classifiers of a word are finished, and differ by less than 5 points."""
    first = seeds_of(word, *ARMS[:2])[:1]
    rows = {one["arm"]: one for one in known_truth_runs.finished() if one["word"] == word and one["seed"] in first}
    return bool(rows) and known_truth_runs.is_replaced(rows["biased"], rows["unbiased"])


def difference() -> str:
    """Return a table of each arm minus random at 5 %, paired by word and seed, with the planned test first."""
    words = list(dict.fromkeys(one["word"] for one in known_truth_runs.finished()))
    found = {arm: {word: minus_random(word, arm) for word in words} for arm in (PLANNED, "association", "oracle")}
    pooled = {arm: [value for values in of.values() for value in values] for arm, of in found.items()}
    pooled = {arm: values for arm, values in pooled.items() if len(values) > 1}
    p = {arm: p_over_seeds(values) for arm, values in pooled.items()}
    others = [arm for arm in p if arm != PLANNED]
    adjusted = dict(zip(others, holm([p[arm] for arm in others]), strict=True))
    rows = []
    for arm, values in pooled.items():
        each = ("; ".join(f"{value:+.1f}" for value in found[arm][word]) for word in words)
        low, high = t_interval(values)
        power = f"{detectable_mean(stdev(values), len(values)):.1f}" if len(values) > 2 else "too few runs"
        mean, corrected = f"{fmean(values):+.1f} [{low:+.1f}, {high:+.1f}]", adjusted.get(arm)
        tests = [f"{p[arm]:.3f}", "planned test" if corrected is None else f"{corrected:.3f}", power]
        rows.append([NAMES.get(arm, arm), *each, str(len(values)), mean, *tests])
    header = ["minus random, points", *words, "runs", "mean [t-interval]", "p (t-test)", "p by Holm", "detectable"]
    return markdown(header, rows or [["none finished"]])


def minus_random(word: str, arm: str) -> list[float]:
    """Return an arm's accuracy minus that of random rewriting at 5 %, in points, for each seed that has both."""
    if not (seeds := seeds_of(word, arm, "random")):
        return []
    both = (matrix(word, one, seeds, AGAINST).mean(axis=1) for one in (arm, "random"))
    found: list[float] = np.subtract(*both).tolist()
    return found


TABLES: dict[str, Any] = {
    "known_truth_data": data,
    "known_truth_ranking": ranking,
    "known_truth_equation": equation,
    "known_truth_lengths": lengths,
    "known_truth_tokens": tokens,
    "known_truth_arms": arms,
    "known_truth_missing": missing,
    "known_truth_trained": trained,
    "known_truth_difference": difference,
}
