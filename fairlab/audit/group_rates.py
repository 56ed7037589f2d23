"""Rates of a classifier per group of people (errors, selection, calibration, AUC), with the gaps between groups.

Source: Hardt et al. 2016, "Equality of Opportunity in Supervised Learning" (equalized odds); Borkan et al. 2019,
"Nuanced Metrics for Measuring Unintended Bias" (subgroup, BPSN and BNSP AUC).
Shapes: N rows, K groups, B bootstrap draws, Q quantities, R rates.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fairlab.audit.excess import POWER_Z
from fairlab.metrics.bootstrap import RESAMPLES, weighted_draws
from fairlab.metrics.sliced_averages import largest_gap

Array = NDArray[np.float64]
SMALLEST = 20  # minimum number of rows of a group that is measured
FEWEST = 5  # minimum number of rows with and without the label for an AUC
RATES = ("accuracy", "false_positive_rate", "false_negative_rate", "selection_rate", "calibration")
TESTED = ("accuracy", "false_positive_rate", "false_negative_rate")
AUCS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")


@dataclass(frozen=True)
class Rate:
    """Rate of a group, or gap in a rate between groups, as a proportion.

    Attributes:
        group: Name of the group; empty for a gap.
        name: Name of the rate or gap.
        value: Value of the rate or gap; an AUC or an error rate is in [0, 1].
        draws: Bootstrap draws of the value (2,000,).
        n: Number of rows that the value is computed from.
        p: P-value of the permutation test of equal rates between groups; None if there is no test.
    """

    group: str
    name: str
    value: float
    draws: Array
    n: int
    p: float | None = None


@dataclass(frozen=True)
class Binary:
    """Predictions of one binary label.

    Attributes:
        truth, predicted: True and predicted label, 0 or 1 for each row, (N,).
        scores: Probability of the label, (N,).
    """

    truth: Array
    predicted: Array
    scores: Array


@dataclass(frozen=True)
class Members:
    """Groups that are large enough to be measured, with their member rows.

    Attributes:
        names: Names of the groups.
        member_NK: Whether each row belongs to each group, (N, K).
        small: Number of rows in each group that is too small.
    """

    names: list[str]
    member_NK: NDArray[np.bool_]
    small: dict[str, int] = field(default_factory=dict)


def members_of(groups: Sequence[str]) -> Members:
    """Return the groups with at least 20 rows, sorted by name.

    A row with an empty name has no group.
    """
    counts = Counter(name for name in groups if name)
    names = sorted(name for name, count in counts.items() if count >= SMALLEST)
    given = np.asarray(groups, dtype=object)
    member_NK = np.stack([given == name for name in names], axis=1) if names else np.zeros((len(groups), 0), dtype=bool)
    return Members(names, member_NK, {name: count for name, count in sorted(counts.items()) if count < SMALLEST})


def group_rates(of_label: Binary, members: Members) -> list[Rate]:
    """Return the rates and AUCs of each of two or more groups, the gap in each of them, and equalized odds.

    A gap is the largest difference between two groups. ``equalized_odds`` is the larger of the gaps in true and in
    false positive rate. A rate is omitted for groups without the required rows. For example, a group without negatives
    has no false positive rate.
    """
    values, draws, counts = _rates(of_label, members)
    found = []
    for place, name in enumerate(RATES):
        found += [
            Rate(group, name, values[place, k], draws[:, place, k], int(counts[place, k]))
            for k, group in enumerate(members.names)
            if counts[place, k]
        ]
        tested = equality_p(of_label, members, name) if name in TESTED else None
        n = int(counts[place].sum())
        found.append(Rate("", f"{name}_gap", *_gap(values[place], draws[:, place]), n, tested))
    odds = [RATES.index("false_positive_rate"), RATES.index("false_negative_rate")]
    gaps = [_gap(values[place], draws[:, place]) for place in odds]
    if not any(math.isnan(value) for value, _ in gaps):
        both = np.maximum(gaps[0][1], gaps[1][1])
        n = int(members.member_NK.any(axis=1).sum())
        found.append(Rate("", "equalized_odds", max(value for value, _ in gaps), both, n))
    return [one for one in [*found, *_aucs(of_label, members)] if math.isfinite(one.value)]


def detectable_gap(of_label: Binary, members: Members, name: str) -> float:
    """Return the smallest gap in a rate between the two largest groups that is detected with a power of 80 %.

    The power is computed by the normal approximation. The result is nan if only one group has rows for the rate.
    """
    hits, used = _hits(of_label, name)
    counts = sorted((int(used[member].sum()) for member in members.member_NK.T), reverse=True)[:2]
    if len(counts) < 2 or not counts[1]:
        return math.nan
    share = (hits[used].sum() + 1) / (used.sum() + 2)
    return float(min(1.0, POWER_Z * math.sqrt(share * (1 - share) * (1 / counts[0] + 1 / counts[1]))))


def _hits(of_label: Binary, name: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows are hits of a rate (its numerator), and which rows it is computed from (its denominator)."""
    truth, predicted = of_label.truth == 1, of_label.predicted == 1
    everything = np.ones(len(truth), dtype=bool)
    return {
        "accuracy": (truth == predicted, everything),
        "false_positive_rate": (predicted, ~truth),
        "false_negative_rate": (~predicted, truth),
        "selection_rate": (predicted, everything),
    }[name]


def _rates(of_label: Binary, members: Members) -> tuple[Array, Array, Array]:
    """Return the values (R, K), bootstrap draws (B, R, K) and numbers of rows (R, K) of the rates."""
    above, below = [], []
    for name in RATES:
        if name == "calibration":
            numerator, used = of_label.scores - of_label.truth, np.ones(len(of_label.truth), dtype=bool)
        else:
            hits, used = _hits(of_label, name)
            numerator = (hits & used).astype(np.float64)
        above.append(numerator[:, None] * members.member_NK)
        below.append(used[:, None] * members.member_NK.astype(np.float64))
    above_NQ, below_NQ = np.concatenate(above, axis=1), np.concatenate(below, axis=1)

    def ratios(weights_BN: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return (weights_BN @ above_NQ) / (weights_BN @ below_NQ)

    shape = (len(RATES), len(members.names))
    draws = weighted_draws(ratios, range(len(of_label.truth))).reshape(RESAMPLES, *shape)
    return ratios(np.ones((1, len(above_NQ)))).reshape(shape), draws, below_NQ.sum(axis=0).reshape(shape)


def _gap(values: Array, draws: Array) -> tuple[float, Array]:
    return float(largest_gap(values)), largest_gap(draws)


def equality_p(of_label: Binary, members: Members, name: str) -> float | None:
    """Return the p-value of a permutation test of a rate's gap, estimated from 2,000 random permutations.

    Groups are permuted among the rows in the rate's denominator, so the number of hits per group follows a multivariate
    hypergeometric distribution.
    """
    hits, used = _hits(of_label, name)
    sizes = np.array([(used & member).sum() for member in members.member_NK.T])
    found = np.array([(hits & used & member).sum() for member in members.member_NK.T])
    sizes, found = sizes[sizes > 0], found[sizes > 0]
    if len(sizes) < 2:
        return None
    drawn = np.random.default_rng(0).multivariate_hypergeometric(sizes, int(found.sum()), size=RESAMPLES)
    observed, permuted = np.ptp(found / sizes), np.ptp(drawn / sizes, axis=1)
    return float((1 + (permuted >= observed - 1e-12).sum()) / (1 + RESAMPLES))


def _aucs(of_label: Binary, members: Members) -> list[Rate]:
    """Return the AUCs of every group and their gaps.

    Bootstrap draws are approximated linearly in the row weights.
    """
    truth = of_label.truth == 1
    selections: dict[str, Callable[[NDArray[np.bool_]], tuple[NDArray[np.bool_], NDArray[np.bool_]]]] = {
        "subgroup_auc": lambda member: (truth & member, ~truth & member),
        "bpsn_auc": lambda member: (truth & ~member, ~truth & member),
        "bnsp_auc": lambda member: (truth & member, ~truth & ~member),
    }
    some = members.member_NK.any(axis=1)
    found, influences = [], []
    for name, select in selections.items():
        for group, member in zip(members.names, members.member_NK.T, strict=True):
            positive, negative = (chosen & some for chosen in select(member))
            if min(positive.sum(), negative.sum()) >= FEWEST:
                value, influence = _auc(of_label.scores, positive, negative)
                influences.append(influence)
                found.append((group, name, value, int(positive.sum() + negative.sum())))
    if not found:
        return []
    influence_NQ = np.stack(influences, axis=1)
    moved = weighted_draws(lambda weights_BN: (weights_BN - 1) @ influence_NQ, range(len(truth)))
    rates = [Rate(*one[:3], one[2] + moved[:, k], one[3]) for k, one in enumerate(found)]
    for name in AUCS:
        of_name = [one for one in rates if one.name == name]
        if len(of_name) > 1:
            values, draws = np.array([one.value for one in of_name]), np.stack([one.draws for one in of_name], axis=1)
            rates.append(Rate("", f"{name}_gap", *_gap(values, draws), sum(one.n for one in of_name)))
    return rates


def _auc(scores: Array, positive: NDArray[np.bool_], negative: NDArray[np.bool_]) -> tuple[float, Array]:
    """Return the area under the ROC curve, with ties counting one half, and each row's influence on it (N,).

    Source: DeLong et al. 1988, "Comparing the Areas under Two or More Correlated Receiver Operating Characteristic
    Curves" (the placements).
    """
    high, low = scores[positive], scores[negative]
    ranks = rankdata(np.concatenate([high, low]))
    above = (ranks[: len(high)] - rankdata(high)) / len(low)  # share of negatives below each positive
    below = 1 - (ranks[len(high) :] - rankdata(low)) / len(high)  # share of positives above each negative
    value = float(above.mean())
    influence = np.zeros(len(scores))
    influence[positive] = (above - value) / len(high)
    influence[negative] = (below - value) / len(low)
    return value, influence
