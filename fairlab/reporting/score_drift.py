"""Drift between two files of scores.

The scores of harms and sources, labels and variances over versions are compared.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairlab.checks.json_text import from_json
from fairlab.methods.safety_ensemble.exported.columns import MISSING, SOURCES
from fairlab.metrics.shift import ScoreShift, shift
from fairlab.text.reading import text_lines
from fairlab.types import DataUnavailable, FairlabError

VARIANCE, ACV = "_variance", "ACV"
FEWEST = 30  # minimum number of values per column and file; with fewer, only distances above 0.35 would be significant


@dataclass
class ScoreFile:
    """Numbers in a file of scores.

    Attributes:
        rows: Number of rows.
        bad: Number of rows that could not be scored.
        missing: Number of rows for which a source had no score.
        columns: Numbers in each column, by name; the columns of sources are named ``source NAME``.
    """

    rows: int = 0
    bad: int = 0
    missing: int = 0
    columns: dict[str, array[float]] = field(default_factory=dict)


def read_scores(path: Path) -> ScoreFile:
    """Read a file written by ``fairlab score``, line by line.

    Raises:
        DataUnavailable: The file does not exist.
        FairlabError: A line is not a scored row with an id, or no line contains a number.
    """
    if not path.is_file():
        raise DataUnavailable(f"there is no file {path}; give one written by fairlab score")
    found = ScoreFile()
    for number, line in enumerate(text_lines(path), start=1):
        try:
            row = from_json(line)
        except ValueError as error:
            raise FairlabError(f"{path}, line {number} is not JSON ({error}); score the texts again") from error
        if not isinstance(row, dict) or not isinstance(row.get("id"), str):
            raise FairlabError(f"{path}, line {number} has no id; give a file written by fairlab score")
        found.rows += 1
        found.bad += "error" in row
        found.missing += MISSING in row
        for name, value in _numbers(row):
            found.columns.setdefault(name, array("d")).append(value)
    if not found.columns:
        raise FairlabError(f"{path} holds no scores; give a file written by fairlab score")
    return found


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    sources = row.get(SOURCES)
    nested = {f"source {name}": value for name, value in sources.items()} if isinstance(sources, dict) else {}
    for name, value in {**row, **nested}.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield (f"{ACV} of {name.removesuffix(VARIANCE)}" if name.endswith(VARIANCE) else name), float(value)


def drifts(before: ScoreFile, after: ScoreFile) -> dict[str, ScoreShift]:
    """Return the shift of each column that has at least :data:`FEWEST` numbers in both files.

    Raises:
        FairlabError: No column has enough numbers in both files.
    """
    names = [name for name in before.columns if name in after.columns]
    found = {
        name: shift(before.columns[name], after.columns[name])
        for name in names
        if min(len(before.columns[name]), len(after.columns[name])) >= FEWEST
    }
    if names and not found:
        most = max(min(len(before.columns[name]), len(after.columns[name])) for name in names)
        raise FairlabError(f"no column has {FEWEST} numbers in both files, at most {most}; score more texts")
    if not found:
        raise FairlabError("the files have no column of numbers in common; give scores by the same ensemble")
    return found


def drift_table(before: ScoreFile, after: ScoreFile, found: Mapping[str, ScoreShift]) -> str:
    """Format the drift as a Markdown table."""
    counts = " and ".join(
        f"{one.rows:,} rows ({one.bad:,} not read, {one.missing:,} without a score of some source)"
        for one in (before, after)
    )
    rows = [
        f"| {name} | {one.n[0]:,} | {one.n[1]:,} | {one.means[0]:.4g} | {one.means[1]:.4g} | {one.change:+.3g} "
        f"{_interval(one.change_interval)} | {one.distance:.3f} {_interval(one.distance_interval)} | {one.chance:.3f} "
        f"| {one.detectable:.3f} | {'yes' if one.beyond_chance else 'no'} |"
        for name, one in found.items()
    ]
    few = sorted((before.columns.keys() & after.columns.keys()) - found.keys())
    only = sorted(before.columns.keys() ^ after.columns.keys())
    return "\n".join(
        [
            f"{counts}.",
            "",
            "| column | n | n later | mean | mean later | change | distance | by chance | detectable | beyond chance |",
            "|---|---|---|---|---|---|---|---|---|---|",
            *rows,
            "",
            "Distance is the Kolmogorov-Smirnov distance: 0 if no score moved, 1 if all did. Two samples of these "
            "sizes stay below *by chance* 95 times in 100 if no score moved; a true distance of *detectable* is "
            f"recognised as beyond chance at least 8 times in 10, and a smaller one may be missed. {ACV} is the mean "
            "variance of the scores of a text and its versions for other subgroups. Brackets are 95 % intervals.",
            *(["", f"Left out, with fewer than {FEWEST} numbers in a file: {', '.join(few)}."] if few else []),
            *(["", f"In only one file: {', '.join(only)}."] if only else []),
        ]
    )


def drift_json(before: ScoreFile, after: ScoreFile, found: Mapping[str, ScoreShift]) -> str:
    """Format the drift as JSON."""
    counts = [{"rows": one.rows, "bad": one.bad, "missing": one.missing} for one in (before, after)]
    columns = {name: {**asdict(one), "beyond_chance": one.beyond_chance} for name, one in found.items()}
    return json.dumps({"files": counts, "columns": columns}, indent=1) + "\n"


def _interval(bounds: tuple[float, float]) -> str:
    return f"[{bounds[0]:.3g}, {bounds[1]:.3g}]"
