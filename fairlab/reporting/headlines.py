"""What a measured number is called where people read it, by what its benchmark says of itself."""

from __future__ import annotations

import textwrap

from fairlab.benchmarks.finding import find_description
from fairlab.record import Comparison, Reading
from fairlab.types import Description

Named = Reading | Comparison

SPLITS = {"dev": "development set", "test": "test set", "train": "training set", "validation": "validation set"}
WHOLE = ("all", "text")  # subsets that need no word


def title(named: Named) -> str:
    """Return a short name in words.

    Example:
        >>> title(Reading("cced", "embedded", "gap", 0.1, "", 0.0, 9, 0.0, 0.2))
        'CCED gap, embedded sentences'
        >>> title(Reading("crows_pairs@meade", "race_color", "ties", 0.1, "", None, 9, 0.0, 0.2))
        'CrowS-Pairs (meade) ties, race color'
    """
    found = description(named)
    info = found.quantity(named.quantity) if found else None
    label = info.label if info else _in_words(named.quantity)
    benchmark = benchmark_title(named)
    one_word = " " not in label and benchmark.casefold() in label.casefold()  # pseudo-perplexity says it already
    said = label if one_word else f"{benchmark} {label}"
    return ", ".join(filter(None, (said, _subset(found, named.subset))))


def benchmark_title(named: Named) -> str:
    """Return the name of a benchmark as its authors write it, with a protocol that is not the default."""
    name, _, protocol = named.benchmark.partition("@")
    found = description(named)
    words = found.title if found else _in_words(name)
    return f"{words} ({_in_words(protocol)})" if protocol else words


def meaning(named: Named) -> str:
    """Return what the number says, and which value is fair or best; empty if nothing more than the title is known."""
    found = description(named)
    info = found.quantity(named.quantity) if found else None
    return info.meaning if info else ""


def bounds(named: Named) -> str:
    """Return between which values the number lies, in words; empty if it has no bounds."""
    found = description(named)
    info = found.quantity(named.quantity) if found else None
    low, high = (info.low, info.high) if info else (None, None)
    return " ".join(f"{word} {value:g}" for word, value in (("from", low), ("to", high)) if value is not None)


def description(named: Named) -> Description | None:
    """Return what a benchmark says of itself: as its record holds it, else as fairlab's own class does."""
    return named.description or find_description(named.benchmark)


def key(named: Named) -> str:
    """Return benchmark, subset and quantity, as in ``metrics.json`` but for the phase."""
    return f"{named.benchmark}/{named.subset}/{named.quantity}"


def titled(column: str) -> str:
    """Return what the key of a reading is called, without its phase; any other text as it is.

    Example:
        >>> titled("seat/6b/effect_size")
        'SEAT effect size, test 6b'
    """
    found = bare(column)
    return column if found is None else title(found)


def bare(column: str) -> Reading | None:
    """Return a reading that has nothing but its key, to be named; None if the text is no key."""
    parts = column.split("/")
    return Reading(parts[0], parts[1], parts[2], 0.0, "", None, 0, 0.0, 0.0) if len(parts) == 3 else None


def wrapped(text: str, width: int = 26) -> str:
    """Break a title into short lines, for a figure."""
    return "<br>".join(textwrap.wrap(text, width))


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
