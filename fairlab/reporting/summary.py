"""The few lines a finished run prints."""

from __future__ import annotations

import math
from pathlib import Path

from fairlab.record import Reading, Record


def print_summary(record: Record) -> None:
    """Print what moved, what it cost, and where the report is."""
    for line in summary_lines(record):
        print(line)
    report = record.folder / "report.html"
    print(f"report: {report.relative_to(Path.cwd()) if report.is_relative_to(Path.cwd()) else report}")


def summary_lines(record: Record) -> list[str]:
    """One line per headline measure before and after, then whether a fall in gap is a collapse."""
    lines = [change_line(first, second) for first, second in record.pairs() if second and first.headline]
    lines += collapse_verdicts(record)
    not_run = {f"not run: {entry.benchmark} {entry.subset}: {entry.reason}": None for entry in record.not_run}
    return [*lines, *not_run]


def change_line(before: Reading, after: Reading) -> str:
    """``cced winogender gap 0.0412 -> 0.0071 (-83%), 95 % 0.0065..0.0078, n 240``; a difference if ideal is not 0."""
    name = f"{before.benchmark} {before.subset} {before.quantity}"
    relative = before.ideal == 0 and before.value
    change = f"{after.value / before.value - 1:+.0%}" if relative else f"{after.value - before.value:+.2f}"
    interval = f"95 % {after.low:.4g}..{after.high:.4g}"
    return f"{name:<24} {before.value:.4g} -> {after.value:.4g} ({change}), {interval}, n {after.n}"


def collapse_verdicts(record: Record) -> list[str]:
    """For every set of CCED, how much distance was kept, and whether the gap fell by collapse alone.

    Collapse alone: the gap fell, but over the mean distance it fell by less than a tenth, or no distance is left.
    """
    readings = {reading.key: reading.value for reading in record.readings}
    verdicts = []
    for reading in record.readings:
        if reading.phase != "after" or reading.quantity != "distance_kept":
            continue
        place = f"{reading.benchmark}/{reading.subset}"
        before, after = (readings[f"{phase}/{place}/gap_over_distance"] for phase in ("before", "after"))
        change = after / before - 1 if before else math.nan
        verdict = f"cced {reading.subset} keeps {reading.value:.0%} of the distance to neutral; "
        verdict += f"gap over distance {change:+.0%}"
        fell = readings[f"after/{place}/gap_kept"] < 1
        if fell and not (change <= -0.1 and reading.value > 0.01):
            verdict += ": the gap fell by collapse alone"
        verdicts.append(verdict)
    return verdicts
