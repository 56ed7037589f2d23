"""Differences between groups of people in the scores of generated texts, with the smallest detectable difference.

Shape letters: N texts, T prompts that differ only in the group, G groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.readings import Quantity, quantity
from fairlab.metrics.bootstrap import (
    RESAMPLES,
    bootstrap_draws,
    cluster_sums,
    expanded_interval,
    mean,
    percentile_interval,
    ratio_of_means,
)
from fairlab.metrics.significance import wilson_interval
from fairlab.types import FairlabError

Array = NDArray[np.float64]


class TextRater(Protocol):
    """Scorer of texts, such as a source of the safety ensemble.

    Attributes:
        outputs: Names of the F scores.
    """

    outputs: tuple[str, ...]

    def score(self, texts: Sequence[str]) -> Array:
        """Return scores (N, F)."""
        ...


def rate(rater: TextRater, output: str | None, texts: Sequence[str]) -> Array:
    """Return one score per text, (N,). An empty string scores 0.

    ``output`` is the name of the score to use; None uses the last one.

    Raises:
        FairlabError: The scorer has no such score.
    """
    found = np.zeros(len(texts))
    whole = [k for k, text in enumerate(texts) if text.strip()]
    found[whole] = np.nan_to_num(scores_of(rater, output, [texts[k] for k in whole]))
    return found


def scores_of(rater: TextRater, output: str | None, texts: Sequence[str]) -> Array:
    """Return one score per text, (N,), or nan if the scorer gives none.

    The arguments and errors are the same as for :func:`rate`.
    """
    names = tuple(rater.outputs)
    if output is not None and output not in names:
        raise FairlabError(f"the scorer returns {', '.join(names)}, but not '{output}'; name one of them")
    place = len(names) - 1 if output is None else names.index(output)
    return rater.score(texts)[:, place] if texts else np.empty(0)


def widened(statistic: Callable[..., Any], *samples: Array, percent: bool = False, **more: Any) -> Quantity:
    """Return a quantity over units. If there are few units, its percentile interval is widened.

    Args:
        statistic: Function of the samples.
        samples: Arrays over units.
        percent: Whether the value is a percentage. Its interval then stays within 0 and 100. If all units are equal,
            resampling gives no interval, and Wilson's is used.
        more: Further fields of the quantity.
    """
    found = quantity(statistic, *samples, **more)
    units = len(samples[0])
    low, high = expanded_interval(found.value, *percentile_interval(found.draws), units)
    if percent and low == high:
        low, high = (100 * bound for bound in wilson_interval(units * found.value / 100, units))
    bounds = (max(low, 0.0), min(high, 100.0)) if percent else (low, high)
    return replace(found, interval=bounds)


def paired_differences(
    values: NDArray[np.floating], groups: Sequence[str], axis: str, name: str, *, percent: bool = False
) -> Iterator[Quantity]:
    """Yield, for each group, the mean difference between its scores and the other groups' on the same prompts.

    With two groups, only the first is yielded, because the second has the same difference with the opposite sign.

    Args:
        values: Scores (T, G).
        groups: Names of the groups.
        axis: Name of the axis; subsets are ``AXIS_GROUP``.
        name: Name of the quantity; ``detectable_NAME`` is the smallest difference that is detected with 80 % power,
            which is left out if no score differs.
        percent: Whether scores are percentages. If no score differs, the interval extends on both sides to Wilson's
            upper bound for zero differing prompts.
    """
    for place, group in enumerate(groups[:1] if len(groups) == 2 else groups):
        others = np.delete(values, place, axis=1).mean(axis=1)
        difference = values[:, place] - others
        subset = f"{axis}_{group}"
        found = widened(mean, difference, subset=subset, name=name, headline=True)
        if percent and not difference.any():
            most = 100 * wilson_interval(0, len(difference))[1]
            found = replace(found, interval=(-most, most))
        yield found
        if difference.std():  # which is 0 for a single prompt
            error = float(difference.std(ddof=1)) / math.sqrt(len(difference))
            yield fixed(subset, f"detectable_{name}", smallest_detectable(error, len(difference)), len(difference))


def unpaired_differences(
    values: NDArray[np.floating],
    groups: Sequence[str],
    clusters: Sequence[str],
    axis: str,
    name: str,
    *,
    percent: bool = False,
) -> Iterator[Quantity]:
    """Yield the mean score of each group minus the mean of all other groups, whose prompts are different.

    Args:
        values: Scores (N,).
        groups: Group of each text.
        clusters: Cluster of each text, such as the person it is about; a cluster belongs to one group.
        axis: Name of the axis; subsets are ``AXIS_GROUP``.
        name: Name of the quantity; ``detectable_NAME`` as in :func:`paired_differences`.
        percent: Whether scores are percentages. If all scores of a group, or of all other groups, are equal, resampling
            gives no interval, and Newcombe's interval is used.
    """
    members = np.array(groups)
    for number, group in enumerate(sorted(set(groups))):
        subset = f"{axis}_{group}"
        sides = []
        for seed, chosen in ((2 * number, members == group), (2 * number + 1, members != group)):
            if not chosen.any():
                return
            sums, sizes = cluster_sums(values[chosen], list(compress(clusters, chosen)))
            draws = bootstrap_draws(ratio_of_means, sums, sizes, seed=seed)
            sides.append((float(values[chosen].mean()), draws, len(sizes)))
        (own, own_draws, own_n), (other, other_draws, other_n) = sides
        draws = own_draws - other_draws
        few = min(own_n, other_n)
        interval = expanded_interval(own - other, *percentile_interval(draws), few)
        if percent and not draws.std():
            interval = newcombe_interval(own, own_n, other, other_n)
        yield Quantity(subset, name, own - other, draws, int((members == group).sum()), interval=interval)
        if few > 1 and draws.std():
            yield fixed(subset, f"detectable_{name}", smallest_detectable(float(draws.std()), few), few)


def newcombe_interval(own: float, own_n: int, other: float, other_n: int) -> tuple[float, float]:
    """Return the 95 % interval of the difference between two percentages, of ``own_n`` and ``other_n`` units.

    Source: Newcombe 1998, "Interval Estimation for the Difference Between Independent Proportions", method 10.

    Example:
        >>> low, high = newcombe_interval(0, 40, 0, 40)
        >>> round(low, 2), round(high, 2)
        (-8.76, 8.76)
    """
    (own_low, own_high), (other_low, other_high) = (
        (100 * bound for bound in wilson_interval(share * n / 100, n)) for share, n in ((own, own_n), (other, other_n))
    )
    low = math.hypot(own - own_low, other_high - other)
    high = math.hypot(own_high - own, other - other_low)
    return own - other - low, own - other + high


def smallest_detectable(error: float, units: int) -> float:
    """Return the true difference that a test at 5 % detects with 80 % power, from the standard error over units."""
    from scipy.stats import t  # takes a second to import, which would slow down --help

    return float(error * t.ppf([0.975, 0.8], units - 1).sum())


def fixed(subset: str, name: str, value: float, n: int) -> Quantity:
    """Return a quantity that follows from the design and therefore has no sampling interval."""
    return Quantity(subset, name, value, np.full(RESAMPLES, math.nan), n, interval=(value, value))


def group_key(name: str) -> str:
    """Return a name in the form used in the keys of readings: lower case with underscores."""
    return "_".join("".join(c if c.isalnum() else " " for c in name.casefold()).split())
