"""What every benchmark gives: quantities with their bootstrap draws, and from them readings and paired comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.backbones.backbone import RAISE_LENGTH
from fairlab.metrics.bootstrap import RESAMPLES, Statistic, bootstrap_draws, percentile_interval, two_sided_p
from fairlab.record import Comparison, Note, NotRun, Outcome, Reading
from fairlab.types import FairlabError

Items = Mapping[str, NDArray[np.floating]]
OF_GENDER: Mapping[str, frozenset[str]] = {"": frozenset({"gender"})}  # what is measured, by subset; "" is all of it
T = TypeVar("T")
ALL, REGULAR = "all", "regular"  # which items of the data are measured


@dataclass(frozen=True)
class Quantity:
    """One number of a benchmark for one model, and how it varies when the benchmark's items are resampled.

    Attributes:
        subset, name: the part of the benchmark that was measured, and the name of what was measured there.
        value: the measured number, in ``unit``.
        draws: bootstrap draws (2,000,), with a seed that resamples the same items for every model; nan where they mean
            nothing, and then ``interval`` is given and nothing is compared.
        n: number of items measured.
        unit: unit of the value, as the benchmark's authors print it.
        ideal: the value of a perfectly fair or useful model; None where there is none.
        headline: whether the quantity stands for its benchmark in summaries.
        interval: a better 95 % interval than the draws' percentiles, where the statistic has one.
        p, p_holm: p-value of the benchmark's own test, and the same adjusted for its other tests by Holm's method; None
            where it has none.
    """

    subset: str
    name: str
    value: float
    draws: NDArray[np.float64]
    n: int
    unit: str
    ideal: float | None
    headline: bool = False
    interval: tuple[float, float] | None = None
    p: float | None = None
    p_holm: float | None = None


def quantity(
    statistic: Statistic,
    *samples: ArrayLike,
    subset: str,
    name: str,
    unit: str,
    ideal: float | None,
    n: int | None = None,
    **more: Any,
) -> Quantity:
    """A quantity that is a statistic of samples over units (items, or clusters of them).

    Args:
        statistic: function of the samples along their last axis.
        samples: one array (N,) or several of equal length, resampled together.
        subset: the part of the benchmark that was measured.
        name: name of what was measured there.
        unit: unit of the value, as the benchmark's authors print it.
        ideal: the value of a perfectly fair or useful model; None where there is none.
        n: number of items, where the resampled units are clusters of items; None takes the number of units.
        more: further parts of the quantity: ``headline``, ``interval``, ``p`` or ``p_holm``.
    """
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    units = len(arrays[0])
    draws = bootstrap_draws(statistic, *arrays) if units > 1 else np.full(RESAMPLES, math.nan)
    value = float(statistic(*arrays)) if units else math.nan
    return Quantity(subset, name, value, draws, units if n is None else n, unit, ideal, **more)


def one_of(setting: str, value: str, known: Collection[str]) -> str:
    """The value of a setting.

    Raises:
        FairlabError: it is none of those known.
    """
    if value not in known:
        raise FairlabError(f"{setting} must be {' or '.join(known)}, not '{value}'")
    return value


def evenly(items: Sequence[T], limit: int | None, of: Callable[[T], Hashable] | None = None) -> list[T]:
    """At most ``limit`` of the items, spread evenly over their order; all where there are no more, or no limit.

    Args:
        items: the items, in the order of their file.
        limit: most items; None takes all.
        of: function from an item to the part of the data it belongs to, of each of which so many are taken.

    Example:
        >>> evenly([10, 11, 12, 13, 14, 15], 3)
        [10, 12, 14]
        >>> evenly(["a1", "a2", "b1"], 1, of=lambda item: item[0])
        ['a1', 'b1']
    """
    if limit is None:
        return list(items)
    places: dict[Hashable, list[int]] = {}
    for k, item in enumerate(items):
        places.setdefault(of(item) if of else None, []).append(k)
    kept = [
        part[k * len(part) // limit] if len(part) > limit else part[k]
        for part in places.values()
        for k in range(min(limit, len(part)))
    ]
    return [items[k] for k in sorted(kept)]


def variant(benchmark: str, *choices: str, default: Collection[str]) -> str:
    """The name under which a benchmark's numbers stand: ``crows_pairs@meade`` where a choice is not the default.

    Numbers that follow different rules so never share a key.
    """
    return "@".join([benchmark, *(choice for choice in choices if choice not in default)])


def irregular_notes(benchmark: str, irregularities: Mapping[str, str], items: str) -> list[Note]:
    """A note for each item of the data that should not be measured, and whether it was."""
    done = "left out" if items == REGULAR else f"measured all the same; items={REGULAR} leaves it out"
    return [Note(benchmark, f"{reason}; {done}", item) for item, reason in irregularities.items()]


def cut_notes(benchmark: str, cut: int, max_length: int) -> list[Note]:
    """A note where texts were cut."""
    return [Note(benchmark, f"{cut} texts were cut at max_length={max_length}; {RAISE_LENGTH}")] if cut else []


def outcome(benchmark: str, quantities: Iterable[Quantity], before: Iterable[Quantity] = (), **parts: Any) -> Outcome:
    """Readings of quantities, and comparisons with the same quantities of an earlier model.

    A quantity without a value or an interval, as over a single item, is reported as not run.

    Args:
        benchmark: name of the benchmark.
        quantities: quantities of the model measured.
        before: quantities of an earlier model over the same items, to compare with.
        parts: further parts of the outcome: ``items``, ``not_run``, ``notes``.
    """
    result = Outcome(**parts)
    earlier = {(entry.subset, entry.name): entry for entry in before}
    for entry in quantities:
        low, high = entry.interval or percentile_interval(entry.draws)
        if not all(math.isfinite(number) for number in (entry.value, low, high)):
            reason = f"{entry.name} or its interval is infinite or undefined over {entry.n} items"
            result.not_run.append(NotRun(benchmark, entry.subset, reason))
            continue
        place = (benchmark, entry.subset, entry.name)
        if not np.isnan(entry.draws).all():
            result.draws[f"{entry.subset}/{entry.name}"] = entry.draws.astype(np.float32)
        result.readings.append(
            Reading(
                *place,
                entry.value,
                entry.unit,
                entry.ideal,
                entry.n,
                low,
                high,
                headline=entry.headline,
                p=entry.p,
                p_holm=entry.p_holm,
            )
        )
        other = earlier.get((entry.subset, entry.name))
        if other is None or other.n != entry.n:  # without the same items there is no pairing
            continue
        comparison = _comparison(benchmark, entry, other)
        if all(
            math.isfinite(number) for number in (comparison.difference, comparison.low, comparison.high, comparison.p)
        ):
            result.comparisons.append(comparison)
    return result


def _comparison(benchmark: str, later: Quantity, earlier: Quantity) -> Comparison:
    draws = later.draws - earlier.draws
    low, high = percentile_interval(draws)
    return Comparison(
        benchmark,
        later.subset,
        later.name,
        later.value - earlier.value,
        later.unit,
        low,
        high,
        two_sided_p(draws),
        later.n,
        headline=later.headline,
    )
