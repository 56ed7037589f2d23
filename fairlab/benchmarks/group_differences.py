"""Differences between groups of people in scores of written texts, with the smallest that would have been found.

Shape letters: N texts, T prompts that are the same but for the group, G groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """Return one score (N,) of texts; an empty text scores 0.

    Args:
        rater: Scorer of texts.
        output: Name of the score; None takes the last one.
        texts: N texts.

    Raises:
        FairlabError: The scorer has no such score.
    """
    found = np.zeros(len(texts))
    whole = [k for k, text in enumerate(texts) if text.strip()]
    found[whole] = np.nan_to_num(scores_of(rater, output, [texts[k] for k in whole]))
    return found


def scores_of(rater: TextRater, output: str | None, texts: Sequence[str]) -> Array:
    """Return one score (N,) of texts, nan for a text without a judgement; arguments and errors as in :func:`rate`."""
    names = tuple(rater.outputs)
    if output is not None and output not in names:
        raise FairlabError(f"the scorer gives {', '.join(names)}, and not '{output}'; name one of them")
    place = len(names) - 1 if output is None else names.index(output)
    return rater.score(texts)[:, place] if texts else np.empty(0)


def widened(statistic: Callable[..., Any], *samples: Array, percent: bool = False, **more: Any) -> Quantity:
    """Return a quantity over units, with its percentile interval widened for few of them.

    Args:
        statistic: Function of the samples.
        samples: Arrays over units.
        percent: Whether the value is a percentage. Its interval stays within 0 and 100; of units that are all alike,
            which resampling cannot tell apart, it is Wilson's.
        more: Further parts of the quantity.
    """
    found = quantity(statistic, *samples, **more)
    units = len(samples[0])
    low, high = expanded_interval(found.value, *percentile_interval(found.draws), units)
    if percent and low == high:
        low, high = (100 * bound for bound in wilson_interval(units * found.value / 100, units))
    bounds = (max(low, 0.0), min(high, 100.0)) if percent else (low, high)
    return Quantity(**{**vars(found), "interval": bounds})


def paired_differences(
    values: NDArray[np.floating], groups: Sequence[str], axis: str, name: str, *, percent: bool = False
) -> Iterator[Quantity]:
    """Yield, for each group, the mean difference of its scores from the other groups' scores on the same prompts.

    Of two groups, the second is left out, as its difference is that of the first with the other sign.

    Args:
        values: Scores (T, G).
        groups: Names of the groups.
        axis: Name of the axis; subsets are ``AXIS_GROUP``.
        name: Name of the quantity; ``detectable_NAME`` is the smallest difference found with a power of 80 %;
            it is left out if no score differs.
        percent: Whether scores are percentages; if none differs, the interval reaches as far as the largest share that
            so many prompts may have missed.
    """
    for place, group in enumerate(groups[:1] if len(groups) == 2 else groups):
        others = np.delete(values, place, axis=1).mean(axis=1)
        difference = values[:, place] - others
        subset = f"{axis}_{group}"
        found = widened(mean, difference, subset=subset, name=name, headline=True)
        if percent and not difference.any():
            most = 100 * wilson_interval(0, len(difference))[1]
            found = Quantity(**{**vars(found), "interval": (-most, most)})
        yield found
        if len(difference) > 1 and difference.std():
            error = float(difference.std(ddof=1)) / math.sqrt(len(difference))
            yield fixed(subset, f"detectable_{name}", smallest_detectable(error, len(difference)), len(difference))


def unpaired_differences(
    values: NDArray[np.floating], groups: Sequence[str], clusters: Sequence[str], axis: str, name: str
) -> Iterator[Quantity]:
    """Yield, for each group, the difference of its mean score to that of all other groups, on other prompts.

    Args:
        values: Scores (N,).
        groups: Group of each text.
        clusters: Cluster of each text, such as the person it is about; clusters are within groups.
        axis: Name of the axis; subsets are ``AXIS_GROUP``.
        name: Name of the quantity; ``detectable_NAME`` as in :func:`paired_differences`.
    """
    members = np.array(groups)
    for number, group in enumerate(sorted(set(groups))):
        subset = f"{axis}_{group}"
        sides = []
        for seed, chosen in ((2 * number, members == group), (2 * number + 1, members != group)):
            if not chosen.any():
                return
            sums = cluster_sums(values[chosen], [one for one, kept in zip(clusters, chosen, strict=True) if kept])
            sides.append(
                (float(values[chosen].mean()), bootstrap_draws(ratio_of_means, *sums, seed=seed), len(sums[0]))
            )
        (own, own_draws, own_n), (other, other_draws, other_n) = sides
        draws = own_draws - other_draws
        few = min(own_n, other_n)
        interval = expanded_interval(own - other, *percentile_interval(draws), few)
        yield Quantity(subset, name, own - other, draws, int((members == group).sum()), interval=interval)
        if few > 1:
            yield fixed(subset, f"detectable_{name}", smallest_detectable(float(draws.std()), few), few)


def smallest_detectable(error: float, units: int) -> float:
    """Return the true difference that a test at 5 % finds with a power of 80 %, from the standard error over units."""
    from scipy.stats import t  # a second to import, which --help need not take

    return float(error * t.ppf([0.975, 0.8], units - 1).sum())


def fixed(subset: str, name: str, value: float, n: int) -> Quantity:
    """Return a number that follows from the design, and so has no sampling interval."""
    return Quantity(subset, name, value, np.full(RESAMPLES, math.nan), n, interval=(value, value))


def slugs(names: Sequence[str]) -> Mapping[str, str]:
    """Return names as parts of a reading's key: lower case, with underscores."""
    return {one: "_".join("".join(c if c.isalnum() else " " for c in one.casefold()).split()) for one in names}
