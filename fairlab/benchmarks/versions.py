"""Versions of benchmark definitions: fairlab's current versions, and whether two readings can be compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from fairlab.data.published.tasks import TASKS
from fairlab.record import Reading

VERSION = re.compile(r"^    version: ClassVar\[int\] = (\d+)", re.MULTILINE)
OF_TASKS = "classification"  # the benchmark whose readings are named after tasks


@cache
def _versions() -> Mapping[str, int]:
    """Return versions by module. They are read from the source, because importing all benchmarks takes seconds."""
    texts = {file.stem: file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("*.py")}
    return {name: int(found[1]) for name, text in texts.items() if (found := VERSION.search(text))}


def present_version(benchmark: str) -> int | None:
    """Return the current version of one of fairlab's own benchmarks, or None for other names.

    The name may be with or without a protocol.

    Example:
        >>> present_version("rte_probe"), present_version("mnli"), present_version("of_my_own")
        (1, 1, None)
    """
    name = benchmark.partition("@")[0]
    task, _, kind = name.rpartition("_")
    module = OF_TASKS if name in TASKS else kind if task in TASKS else name
    return _versions().get(module, _versions().get(module.partition("_")[0]))


def definition(reading: Reading) -> int:
    """Return the version of a reading's definition, which is 1 for records from before versions were introduced."""
    return reading.version or 1


def outdated(reading: Reading) -> str:
    """Return a short remark if a reading has an outdated or newer version, otherwise an empty string.

    Example:
        >>> outdated(Reading("stsb", "dev", "spearman", 80.0, "x 100", 100.0, 9, 79.0, 81.0, version=2))
        'version 2 of its definition, newer than the 1 of this fairlab'
    """
    present, own = present_version(reading.benchmark), definition(reading)
    if present is None or own == present:
        return ""
    if own > present:
        return f"version {own} of its definition, newer than the {present} of this fairlab"
    return f"version {own} of its definition, now {present}"


def other_definition(first: Reading, second: Reading) -> str:
    """Return a sentence, with a remedy, if two readings have different definitions, otherwise an empty string."""
    versions = sorted([definition(first), definition(second)])
    if versions[0] == versions[1]:
        return ""
    remedy = f"measure version {versions[0]} again"
    return f"{first.benchmark} was measured with versions {versions[0]} and {versions[1]} of its definition; {remedy}"
