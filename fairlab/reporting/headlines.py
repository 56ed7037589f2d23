"""Display names and explanations of readings, taken from the descriptions of benchmarks."""

from __future__ import annotations

from fairlab.benchmarks.finding import find_description
from fairlab.metrics.bootstrap import FEWEST_ITEMS
from fairlab.record import Comparison, Reading, Record
from fairlab.types import Description, QuantityInfo

Named = Reading | Comparison

SPLITS = {"dev": "development set", "test": "test set", "train": "training set", "validation": "validation set"}
WHOLE = ("all", "text")  # subsets that are left out of titles


def title(named: Named) -> str:
    """Return a short readable name of a reading.

    Example:
        >>> title(Reading("cced", "embedded", "gap", 0.1, "", 0.0, 9, 0.0, 0.2))
        'CCED gap, bundled sentences'
        >>> title(Reading("crows_pairs@meade", "race_color", "ties", 0.1, "", None, 9, 0.0, 0.2))
        'CrowS-Pairs (meade) ties, race color'
    """
    found = description(named)
    info = found.quantity(named.quantity) if found else None
    label = info.label if info else _in_words(named.quantity)
    benchmark = benchmark_title(named)
    one_word = " " not in label and benchmark.casefold() in label.casefold()  # e.g. pseudo-perplexity
    said = label if one_word else f"{benchmark} {label}"
    return ", ".join(filter(None, (said, _subset(found, named.subset))))


def benchmark_title(named: Named) -> str:
    """Return the official title of a reading's benchmark, followed by the protocol if it is not the default one."""
    name, _, protocol = named.benchmark.partition("@")
    found = description(named)
    words = found.title if found else _in_words(name)
    return f"{words} ({_in_words(protocol)})" if protocol else words


def meaning(named: Named) -> str:
    """Return an explanation of a reading and its best value, or an empty string if the benchmark is unknown."""
    found = description(named)
    info = found.quantity(named.quantity) if found else None
    return info.meaning if info else ""


def bounds(named: Named) -> str:
    """Return a text on the smallest and largest possible value of a reading, or an empty string without bounds."""
    found = description(named)
    info = found.quantity(named.quantity) if found else None
    low, high = (info.low, info.high) if info else (None, None)
    return " ".join(f"{word} {value:g}" for word, value in (("from", low), ("to", high)) if value is not None)


def description(named: Named) -> Description | None:
    """Return the description of a reading's benchmark, from the record or otherwise from fairlab's class."""
    return named.description or find_description(named.benchmark)


def judging_rules(named: Named) -> QuantityInfo | None:
    """Return the rules for judging a quantity, from fairlab's class or otherwise from the record.

    The result is None if neither of them describes the quantity.
    """
    found = find_description(named.benchmark) or named.description
    return found.quantity(named.quantity) if found else None


def too_few(record: Record, reading: Reading) -> bool:
    """Return whether a reading has too few items for an interval.

    For a mean of absolute values, ``n`` is the number of averaged parts, so the items of the largest part are counted
    instead.
    """
    info = judging_rules(reading)
    if info is None or not info.folded:
        return reading.n < FEWEST_ITEMS
    place = (reading.phase, reading.benchmark)
    rules = [(one, judging_rules(one)) for one in record.readings if (one.phase, one.benchmark) == place]
    parts = [one.n for one, of in rules if of is None or not of.folded]
    return max([reading.n, *parts]) < FEWEST_ITEMS if parts else False


def few_compared(comparison: Comparison) -> bool:
    """Return whether a comparison has too few items for an interval, without checking means of absolute values."""
    info = judging_rules(comparison)
    return comparison.n < FEWEST_ITEMS and not (info is not None and info.folded)


def represents(named: Named) -> bool:
    """Return whether a reading counts for verdicts.

    Only headlines of benchmarks that are not reserved for selecting settings count.
    """
    found = find_description(named.benchmark)
    return named.headline and not (found is not None and found.for_choosing)


def key(named: Named) -> str:
    """Return the key of a reading in ``metrics.json``, without the phase."""
    return f"{named.benchmark}/{named.subset}/{named.quantity}"


def titled(column: str) -> str:
    """Return the title of a reading, given its key without the phase. Any other text is returned unchanged.

    Example:
        >>> titled("seat/6b/effect_size")
        'SEAT effect size, test 6b'
    """
    found = bare(column)
    return column if found is None else title(found)


def bare(column: str) -> Reading | None:
    """Return a placeholder reading for a key, which is used to look up names, or None if the text is not a key."""
    parts = column.split("/")
    return Reading(parts[0], parts[1], parts[2], 0.0, "", None, 0, 0.0, 0.0) if len(parts) == 3 else None


def _subset(found: Description | None, subset: str) -> str:
    words = found.subset(subset) if found else None
    if words is not None or subset in WHOLE:
        return words or ""
    split, _, part = subset.partition("_")
    if split in SPLITS:
        return ", ".join(filter(None, (SPLITS[split], _in_words(part))))
    return _in_words(subset)


def _in_words(name: str) -> str:
    return name.replace("_", " ")
