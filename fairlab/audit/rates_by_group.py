"""Rates of a classifier per group, for every group column, label and intersection."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.data import LabelledRows
from fairlab.audit.described import slugs
from fairlab.audit.group_rates import SMALLEST, TESTED, Binary, Members, Rate, detectable_gap, group_rates, members_of
from fairlab.audit.people import FOUND
from fairlab.benchmarks.group_differences import fixed
from fairlab.benchmarks.readings import Quantity
from fairlab.metrics.bootstrap import percentile_interval, weighted_draws
from fairlab.metrics.sliced_averages import largest_gap
from fairlab.types import FairlabError

Array = NDArray[np.float64]
SHOWN = 5  # small groups that a note names


def group_quantities(data: LabelledRows, labels: Array, outputs: Array) -> tuple[list[Quantity], list[str]]:
    """Return the rates of all groups, in percent or points, with notes on groups that are too small.

    The outputs are probabilities (N, L) or scores (N, 1) for N rows and L labels.

    Raises:
        FairlabError: A column has fewer than two groups of at least 20 rows.
    """
    refuse_small_groups(data)
    found: list[Quantity] = []
    notes: list[str] = []
    for column, groups in data.groups.items():
        members = members_of(groups)
        if (empty := groups.count("")) and not _is_optional(column):
            notes.append(f"{column}: {empty} rows have no group and are left out")
        if members.small:
            small = _listed(members.small)
            notes.append(f"{column}: groups of fewer than {SMALLEST} rows are left out: {small}")
        if len(members.names) < 2:
            notes.append(f"{column}: fewer than two groups have {SMALLEST} rows, so they are not compared")
            continue
        if data.kind == "score":
            found += _of_scores(column, members, outputs[:, 0] - data.truth)
        else:
            found += _of_labels(column, members, data, labels, outputs)
    return found, notes


def refuse_small_groups(data: LabelledRows) -> None:
    """Raise if a required column of groups has fewer than two groups of at least 20 rows."""
    for column, groups in data.groups.items():
        members = members_of(groups)
        if len(members.names) < 2 and not _is_optional(column):
            small = _listed(members.small)
            raise FairlabError(
                f"'{column}' has fewer than two groups of at least {SMALLEST} rows (small: {small or 'none'}); give "
                "more rows, join small groups, or leave group out"
            )


def _is_optional(column: str) -> bool:
    """Return whether groups are intersections or were found in the texts, so that small ones are only noted."""
    return "*" in column or column.startswith(FOUND)


def _listed(small: Mapping[str, int]) -> str:
    """List the names and sizes of the small groups, but only of the five largest ones."""
    largest = sorted(small.items(), key=lambda one: -one[1])
    more = f" and {len(small) - SHOWN} more" if len(small) > SHOWN else ""
    return ", ".join(f"{name} ({count})" for name, count in largest[:SHOWN]) + more


def binaries(data: LabelledRows, labels: Array, outputs: Array) -> Iterator[tuple[str, Binary]]:
    """Yield the name and the binary predictions of each label.

    For two exclusive labels, only the second is yielded.
    """
    for place, name in enumerate(data.labels):
        if data.kind == "several":
            yield name, Binary(data.truth[:, place], labels[:, place], outputs[:, place])
        elif len(data.labels) > 2 or place == 1:
            truth, predicted = ((side == place).astype(np.float64) for side in (data.truth, labels))
            yield name, Binary(truth, predicted, outputs[:, place])


def _of_labels(column: str, members: Members, data: LabelledRows, labels: Array, outputs: Array) -> Iterator[Quantity]:
    """Yield the rates of each label and, for three or more exclusive labels, the accuracy over all labels."""
    whole = len(data.labels) > 2 and data.kind == "one"
    forms, of_labels = slugs(members.names), slugs(data.labels)
    if whole:
        right = (labels == data.truth).astype(np.float64)
        of_all = Binary(np.ones(len(right)), right, right)
        rates = [one for one in group_rates(of_all, members) if one.name in ("accuracy", "accuracy_gap")]
        yield from _as_quantities(column, forms, rates)
        yield from _detectable(column, of_all, members, ("accuracy",))
    for name, of_label in binaries(data, labels, outputs):
        subset = f"{column}_{of_labels[name]}" if whole or data.kind == "several" else column
        if min(of_label.truth.sum(), (1 - of_label.truth).sum()) < SMALLEST:
            continue
        rates = [one for one in group_rates(of_label, members) if not (whole and one.name.startswith("accuracy"))]
        yield from _as_quantities(subset, forms, rates)
        tested = tuple(one for one in TESTED if not (whole and one == "accuracy"))
        yield from _detectable(subset, of_label, members, tested)


def _as_quantities(subset: str, forms: Mapping[str, str], rates: Sequence[Rate]) -> Iterator[Quantity]:
    for one in rates:
        place = f"{subset}_{forms[one.group]}" if one.group else subset
        low, high = percentile_interval(100 * one.draws)  # if a gap is near 0, draws exceed it
        interval = (min(low, 100 * one.value), max(high, 100 * one.value))
        yield Quantity(place, one.name, 100 * one.value, 100 * one.draws, one.n, interval=interval, p=one.p)


def _detectable(subset: str, of_label: Binary, members: Members, names: Sequence[str]) -> Iterator[Quantity]:
    """Yield the smallest detectable gap of each test.

    It follows from the group sizes and has no interval.
    """
    for name in names:
        value = 100 * detectable_gap(of_label, members, name)
        if math.isfinite(value):
            yield fixed(subset, f"detectable_{name}", value, len(of_label.truth))


def _of_scores(column: str, members: Members, errors: Array) -> Iterator[Quantity]:
    """Yield the mean error of the scores in each group, and the gap between groups."""
    member_NK = members.member_NK.astype(np.float64)

    def means(weights_BN: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return (weights_BN @ (errors[:, None] * member_NK)) / (weights_BN @ member_NK)

    values, draws = means(np.ones((1, len(errors))))[0], weighted_draws(means, range(len(errors)))
    for k, form in enumerate(slugs(members.names).values()):
        yield Quantity(f"{column}_{form}", "mean_error", float(values[k]), draws[:, k], int(member_NK[:, k].sum()))
    gaps = largest_gap(draws)
    yield Quantity(
        column, "mean_error_gap", float(largest_gap(values)), gaps, len(errors), interval=percentile_interval(gaps)
    )
