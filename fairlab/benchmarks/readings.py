"""Results of benchmarks: quantities with bootstrap draws, and readings and paired comparisons based on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.backbones.backbone import RAISE_LENGTH
from fairlab.metrics.bootstrap import RESAMPLES, Statistic, bootstrap_draws, percentile_interval, two_sided_p
from fairlab.record import Comparison, Note, NotRun, Outcome, Reading
from fairlab.types import Description, FairlabError

Items = Mapping[str, NDArray[np.floating]]
OF_GENDER: Mapping[str, frozenset[str]] = {"": frozenset({"gender"})}  # axes by subset; "" is the whole
T = TypeVar("T")
ALL, REGULAR = "all", "regular"  # choices of the items to measure


@dataclass(frozen=True)
class Quantity:
    """One number of a benchmark for one model, with its variation when the benchmark's items are resampled.

    Attributes:
        subset, name: Part of the benchmark that was measured, and name of the quantity.
        value: Measured number, in the unit of its description.
        draws: 2,000 bootstrap draws, with a seed that resamples the same items for every model. They are nan if
            resampling is meaningless. In this case, ``interval`` is given, and models are not compared.
        n: Number of items measured.
        headline: Whether the quantity represents its benchmark in summaries; None for the description's value.
        ideal: Value of a perfectly fair or useful model, if this value depends on the data; None for the description's
            value.
        interval: 95 % interval to use instead of the draws' percentiles, if the statistic has a better one.
        p, p_holm: P-value of the benchmark's own test, and the p-value adjusted for the benchmark's other tests (Holm);
        None if there is no such test.
    """

    subset: str
    name: str
    value: float
    draws: NDArray[np.float64]
    n: int
    headline: bool | None = None
    ideal: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    p_holm: float | None = None


def quantity(
    statistic: Statistic, *samples: ArrayLike, subset: str, name: str, n: int | None = None, **more: Any
) -> Quantity:
    """Return a quantity that is a statistic of samples over units (items, or clusters of them).

    Args:
        statistic: Function of the samples along their last axis.
        samples: One array (N,) or several of equal length, resampled together.
        subset: Part of the benchmark that was measured.
        name: Name of the quantity in the benchmark's description.
        n: Number of items, if the resampled units are clusters of items; None for the number of units.
        more: Further fields of the quantity: ``headline``, ``ideal``, ``interval``, ``p`` or ``p_holm``.
    """
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    units = len(arrays[0])
    draws = bootstrap_draws(statistic, *arrays) if units > 1 else np.full(RESAMPLES, math.nan)
    value = float(statistic(*arrays, axis=-1)) if units else math.nan
    return Quantity(subset, name, value, draws, units if n is None else n, **more)


def one_of(setting: str, value: str, known: Collection[str]) -> str:
    """Return the value of a setting; raise FairlabError if it is unknown."""
    if value not in known:
        raise FairlabError(f"{setting} must be {' or '.join(known)}, not '{value}'")
    return value


def evenly(items: Sequence[T], limit: int | None, of: Callable[[T], Hashable] | None = None) -> list[T]:
    """Return at most ``limit`` items, spread evenly over their order, or all if ``limit`` is None.

    Args:
        items: Items in the order of their file.
        limit: Maximum number of items; None for all.
        of: Function from an item to its part of the data; the limit applies to each part.

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
    kept: list[int] = []
    for part in places.values():
        count = min(limit, len(part))
        kept += (part[k * len(part) // count] for k in range(count))
    return [items[k] for k in sorted(kept)]


def sampled_items(items: Sequence[T], count: int | None, seed: int) -> list[T]:
    """Return ``count`` items, sampled with ``seed``, in their order, or all items if there are no more.

    Example:
        >>> sampled_items("abcdef", 4, seed=0)
        ['b', 'c', 'd', 'e']
    """
    if count is None:
        return list(items)
    chosen = np.random.default_rng(seed).choice(len(items), size=min(count, len(items)), replace=False)
    return [items[k] for k in sorted(chosen)]


def by_part(parts: Mapping[str, Sequence[object]], values: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the rows of values that belong to the elements of each part, whose order the rows have."""
    found, start = {}, 0
    for name, elements in parts.items():
        found[name] = values[start : start + len(elements)]
        start += len(elements)
    return found


def variant(description: Description, *choices: str, default: Collection[str]) -> Description:
    """Return the description with the non-default settings in its name, such as ``crows_pairs@meade``.

    Results that are measured by different rules therefore have different keys.
    """
    name = "@".join([description.name, *(choice for choice in choices if choice not in default)])
    return replace(description, name=name)


def with_system(description: Description, system: str) -> Description:
    """Return the description with ``@system`` in its name if there is a system prompt."""
    return variant(description, "system" if system else "", default=("",))


def irregular_notes(benchmark: str, irregularities: Mapping[str, str], items: str) -> list[Note]:
    """Return a note for each irregular item of the data that states whether the item was measured."""
    done = "left out" if items == REGULAR else f"measured nevertheless; items={REGULAR} leaves it out"
    return [Note(benchmark, f"{reason}; {done}", item) for item, reason in irregularities.items()]


def cut_notes(benchmark: str, cut: int, max_length: int) -> list[Note]:
    """Return a note if texts were truncated."""
    return [Note(benchmark, f"{cut} texts were cut at max_length={max_length}; {RAISE_LENGTH}")] if cut else []


def outcome(
    description: Description, quantities: Iterable[Quantity], before: Iterable[Quantity] = (), **parts: Any
) -> Outcome:
    """Convert quantities to readings, and compare them with the same quantities of an earlier model.

    A quantity without a value or an interval, for example because it has only one item, is reported as not run.

    Args:
        description: Description of the benchmark: its name, and the unit and ideal value of every quantity.
        quantities: Quantities of the measured model.
        before: Quantities of an earlier model over the same items, to compare with.
        parts: Further fields of the outcome: ``items``, ``not_run``, ``notes``.

    Raises:
        FairlabError: A quantity has no description.
    """
    result = Outcome(**parts)
    earlier = {(entry.subset, entry.name): entry for entry in before}
    for entry in quantities:
        low, high = entry.interval or percentile_interval(entry.draws)
        if not all(math.isfinite(number) for number in (entry.value, low, high)):
            reason = f"{entry.name} or its interval is infinite or undefined over {entry.n} items"
            result.not_run.append(NotRun(description.name, entry.subset, reason))
            continue
        if not np.isnan(entry.draws).all():
            with np.errstate(over="ignore"):  # percentage changes of values near 0
                result.draws[f"{entry.subset}/{entry.name}"] = entry.draws.astype(np.float32)
        more = {"p": entry.p, "p_holm": entry.p_holm}
        more |= {name: value for name in ("ideal", "headline") if (value := getattr(entry, name)) is not None}
        reading = described_reading(description, entry.subset, entry.name, entry.value, entry.n, (low, high), **more)
        result.readings.append(reading)
        other = earlier.get((entry.subset, entry.name))
        if other is None or other.n != entry.n:  # pairing needs the same items
            continue
        comparison = _comparison(reading, entry, other)
        if all(
            math.isfinite(number) for number in (comparison.difference, comparison.low, comparison.high, comparison.p)
        ):
            result.comparisons.append(comparison)
    return result


def items_outcome(
    description: Description,
    quantities: Callable[[Items], Iterable[Quantity]],
    items: Items,
    before: Items | None,
    **parts: Any,
) -> Outcome:
    """Return the :func:`outcome` of a model's items, compared with those of an earlier model if there are any."""
    return outcome(description, quantities(items), quantities(before) if before else (), items=items, **parts)


def described_reading(
    description: Description, subset: str, name: str, value: float, n: int, bounds: tuple[float, float], **more: Any
) -> Reading:
    """Return a reading whose unit, ideal value and headline status come from the description, unless given in ``more``.

    ``bounds`` are those of the 95 % interval.

    Raises:
        FairlabError: The quantity has no description.
    """
    info = description.quantity(name)
    if info is None:
        raise FairlabError(
            f"benchmark {description.name} measures '{name}', which is missing from its description; add it to the "
            "description's quantities"
        )
    parts = {"unit": info.unit, "ideal": info.ideal, "headline": info.headline, **more}
    place, (low, high) = (description.name, subset, name), bounds
    return Reading(*place, value, n=n, low=low, high=high, description=description, **parts)


def _comparison(reading: Reading, later: Quantity, earlier: Quantity) -> Comparison:
    draws = later.draws - earlier.draws
    low, high = percentile_interval(draws)
    return Comparison(
        reading.benchmark,
        reading.subset,
        reading.quantity,
        later.value - earlier.value,
        reading.unit,
        low,
        high,
        two_sided_p(draws),
        later.n,
        headline=reading.headline,
        description=reading.description,
    )
