"""Whether training lowered its own loss, and whether a classifier is better than a guess; by what was logged.

A debiasing loss is a sum of what is to fall and of what keeps the model as it was, which starts at 0 and rises; only
the first, ``bias_loss``, is looked at where a method logs it. Batches differ, so a fall must be a twentieth and beyond
their noise: the last quarter of the steps is compared with the first by a Mann-Whitney U test. Held-out losses are over
the same items every time, so that a smaller fall says more: of a language model's loss, most of which is the entropy of
the text itself, a hundredth. On the runs of experiments/ these rules mark the three of ADEPT-F, whose loss stands at
1.1e-5 from the first step, and one classifier that learned nothing; none of CCD, DPCE or CDA.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

FEWEST = 20  # steps; of fewer, nothing is said
PART = 4  # a quarter of the steps at either end
LEAST_FALL = 0.05  # relative
LEAST_HELD_OUT_FALL = {"bias_loss": 0.05, "loss": 0.01}  # relative, of the lowest validation to the first
ALPHA = 0.05
CORRELATIONS = ("matthews", "pearson", "spearman")

History = Sequence[Mapping[str, float]]


def unlearned(history: History) -> str:
    """What to say of a training whose loss did not fall; empty where it fell, or where too little was logged to tell.

    Args:
        history: rows of a record's history.
    """
    from scipy.stats import mannwhitneyu

    name = "bias_loss" if any("train/bias_loss" in row for row in history) else "loss"
    losses = _values(history, f"train/{name}")
    # Rows repeat a part of the loss that their batch has not: kinds of batches take turns.
    losses = [loss for place, loss in enumerate(losses) if place == 0 or loss != losses[place - 1]] or losses
    if len(_values(history, f"train/{name}")) < FEWEST:
        return ""
    size = max(1, len(losses) // PART)
    first, last = losses[:size], losses[-size:]
    before, after = sum(first) / size, sum(last) / size
    fell = before - after >= LEAST_FALL * abs(before) and before > after
    if fell and mannwhitneyu(first, last, alternative="greater").pvalue < ALPHA:
        return ""
    held_out = _values(history, f"validation/{name}")
    if held_out and held_out[0] - min(held_out) >= LEAST_HELD_OUT_FALL[name] * abs(held_out[0]) > 0:
        return ""
    said = f"; on held-out data {held_out[0]:.3g} at first, {min(held_out):.3g} at best" if held_out else ""
    return (
        f"the {name.replace('_', ' ')} did not fall: {before:.3g} over the first quarter of the steps, {after:.3g} "
        f"over the last, where {LEAST_FALL:.0%} beyond the noise of batches are asked for{said}"
    )


def too_short(history: History) -> str:
    """Return what to say of a training of too few steps to tell whether its loss fell; empty of others.

    Args:
        history: rows of a record's history; those of a method without steps are none.
    """
    steps = max(len(_values(history, f"train/{name}")) for name in ("loss", "bias_loss"))
    if not 0 < steps < FEWEST:
        return ""
    return f"{steps} steps with a loss are too few to tell whether training converged; {FEWEST} are asked for"


def at_chance(history: History, label_counts: Mapping[str, int], n: int) -> str:
    """What to say of a classifier that is no better than a guess on its validation data; empty of others.

    Args:
        history: rows of a record's history.
        label_counts: number of validation examples of each label; empty where there are no labels.
        n: number of validation examples.
    """
    from scipy.stats import binom

    if not n:
        return ""
    if label_counts and (accuracies := _values(history, "validation/accuracy")):
        best, commonest = max(accuracies), max(label_counts.values()) / n
        if binom.sf(round(best * n) - 1, n, commonest) < ALPHA:
            return ""
        return (
            f"its best validation accuracy, {best:.1%} of {n}, is not beyond that of always giving the commonest "
            f"label, {commonest:.1%}"
        )
    for name in CORRELATIONS:
        if (values := _values(history, f"validation/{name}")) and max(values) * math.sqrt(n) < 1.645:
            return f"its best validation {name}, {max(values):.3f} over {n} examples, is not beyond chance"
    return ""


def _values(history: History, name: str) -> list[float]:
    found = (row.get(name) for row in history)
    return [value for value in found if value is not None and math.isfinite(value)]
