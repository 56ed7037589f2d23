"""Checks, from the logged history, whether training lowered its loss and whether a classifier beats guessing.

A debiasing loss is the sum of two terms: a bias term, which should fall, and a regularisation term, which preserves the
model, starts at 0 and rises. If a method logs the bias term, ``bias_loss``, only that term is checked. Batches vary, so
the loss must fall by at least a twentieth and by more than their noise: the last quarter of the steps is compared with
the first by a Mann-Whitney U test. Held-out losses are computed on the same items every time, so a smaller fall is
informative. For a language model's loss, which is mostly the entropy of the text, a hundredth is enough. On the runs of
experiments/, these rules flag the three ADEPT-F runs, whose loss stays at 1.1e-5 from the first step, and one
classifier that did not learn. They flag no run of CCD, DPCE or CDA.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

FEWEST = 20  # minimum number of steps for a verdict
PART = 4  # the first and last of four parts of the steps are compared
LEAST_FALL = 0.05  # relative fall
LEAST_HELD_OUT_FALL = {"bias_loss": 0.05, "loss": 0.01}  # relative fall from the first validation to the lowest
ALPHA = 0.05
CORRELATIONS = ("matthews", "pearson", "spearman")

History = Sequence[Mapping[str, float]]


def unlearned(history: History) -> str:
    """Return a warning if the training loss did not fall.

    The text is empty if the loss fell, or if too few steps were logged.
    """
    from scipy.stats import mannwhitneyu

    name = "bias_loss" if any("train/bias_loss" in row for row in history) else "loss"
    losses = _values(history, f"train/{name}")
    # Kinds of batches alternate, so a row repeats the earlier value of a part of the loss that its batch lacks.
    losses = [loss for loss, _ in groupby(losses)]
    if len(_values(history, f"train/{name}")) < FEWEST:
        return ""
    size = max(1, len(losses) // PART)
    first, last = losses[:size], losses[-size:]
    before, after = sum(first) / size, sum(last) / size
    fell = before - after >= LEAST_FALL * abs(before)
    if fell and mannwhitneyu(first, last, alternative="greater").pvalue < ALPHA:
        return ""
    held_out = _values(history, f"validation/{name}")
    if held_out and held_out[0] - min(held_out) >= LEAST_HELD_OUT_FALL[name] * abs(held_out[0]) > 0:
        return ""
    said = f"; on held-out data {held_out[0]:.3g} at first, {min(held_out):.3g} at best" if held_out else ""
    return (
        f"the {name.replace('_', ' ')} did not fall: {before:.3g} over the first quarter of the steps, {after:.3g} "
        f"over the last; a fall of {LEAST_FALL:.0%} beyond the noise of batches is required{said}"
    )


def too_short(history: History) -> str:
    """Return a warning if training had too few steps to show whether its loss fell, else an empty text."""
    steps = max(len(_values(history, f"train/{name}")) for name in ("loss", "bias_loss"))
    if not 0 < steps < FEWEST:
        return ""
    return f"{steps} steps with a loss are too few to show whether training converged; train for at least {FEWEST}"


def at_chance(history: History, label_counts: Mapping[str, int], n: int) -> str:
    """Return a warning if a classifier is no better than guessing on its validation data, else an empty text.

    Args:
        history: Rows of a record's history.
        label_counts: Number of validation examples of each label; empty if there are no labels.
        n: Number of validation examples.
    """
    from scipy.stats import binom

    if not n:
        return ""
    if label_counts and (accuracies := _values(history, "validation/accuracy")):
        best, commonest = max(accuracies), max(label_counts.values()) / n
        if binom.sf(round(best * n) - 1, n, commonest) < ALPHA:
            return ""
        return (
            f"its best validation accuracy, {best:.1%} of {n}, is not significantly above the share of the "
            f"commonest label, {commonest:.1%}"
        )
    for name in CORRELATIONS:
        if (values := _values(history, f"validation/{name}")) and max(values) * math.sqrt(n) < 1.645:
            return f"its best validation {name}, {max(values):.3f} over {n} examples, is not beyond chance"
    return ""


def _values(history: History, name: str) -> list[float]:
    found = (row.get(name) for row in history)
    return [value for value in found if value is not None and math.isfinite(value)]
