"""Forest plot of single models: headline readings with their intervals about the ideal value."""

from __future__ import annotations

import math

from fairlab.record import DATA, Reading, Record
from fairlab.reporting.changes import hover
from fairlab.reporting.headlines import judging_rules, represents, title
from fairlab.reporting.page import Heading, PageCell, PageTable, Row, Section, Text, Whisker
from fairlab.reporting.questions import by_question
from fairlab.reporting.verdicts import EVEN, FEW, OFF, OPEN, SIZE, corrected_interval, reading_verdicts

SHOWN = {
    OFF: "off beyond chance",
    EVEN: "even within its margin",
    OPEN: "neither is shown",
    SIZE: "size alone",
    FEW: "too few items",
}
NOTE = (
    "The centre is the ideal value; the width of the plot is the range that the number can have, else twice the "
    "interval's farther end. Lines are 95 % intervals."
)


def from_the_ideal(record: Record) -> Section | None:
    """Return the section of headline readings that have an ideal value; None if there is none, or models are compared.

    Changes are drawn by :func:`fairlab.reporting.changes.what_changed`.
    """
    found = [r for r in record.readings if represents(r) and r.ideal is not None and r.phase != DATA]
    if not found or record.comparisons:
        return None
    kinds = {one.reading.key: one.kind for one in reading_verdicts(record)}
    several = len({reading.phase for reading in found}) > 1
    rows: list[Row | Heading] = []
    for name, some in by_question(found, lambda reading: reading).items():
        rows += [Heading(name), *(_row(record, reading, kinds.get(reading.key, ""), several) for reading in some)]
    columns: Row = ["what was measured", "value", PageCell("", forest="ideal"), "what is shown"]
    return Section("From the ideal value", [PageTable(columns, rows), Text(NOTE, "note")])


def _row(record: Record, reading: Reading, kind: str, several: bool) -> Row:
    low, high = corrected_interval(record, reading)
    few = math.isnan(low)
    value = PageCell(f"{reading.value:.4g}", "too few items" if few else f"[{low:.4g}, {high:.4g}]")
    name = PageCell(title(reading), reading.phase if several else "", hover=hover(reading))
    return [name, value, "" if few else PageCell("", forest=_whisker(reading, low, high)), SHOWN.get(kind, "")]


def _whisker(reading: Reading, low: float, high: float) -> Whisker:
    """Return the places of bounds and value as shares of the plot's width; the ideal value is at one half."""
    ideal, info = reading.ideal or 0.0, judging_rules(reading)
    bounds = (info.low, info.high) if info is not None else (None, None)
    ends = bounds if None not in bounds else (2 * low - ideal, 2 * high - ideal, reading.value)
    widest = max((abs(end - ideal) for end in ends if end is not None), default=0.0) or 1.0
    return Whisker(*(min(1.0, max(0.0, 0.5 + (place - ideal) / (2 * widest))) for place in (low, reading.value, high)))
