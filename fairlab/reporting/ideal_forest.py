"""Forest plot of the headline readings of single models, with intervals around the ideal value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fairlab.record import DATA, Reading, Record
from fairlab.reporting.changes import hover
from fairlab.reporting.headlines import represents, title
from fairlab.reporting.page import Heading, PageCell, PageTable, Row, Section, Text, Whisker
from fairlab.reporting.questions import by_question
from fairlab.reporting.verdicts import EVEN, FEW, OFF, OPEN, SIZE, corrected_interval, reading_verdicts

SHOWN = {
    OFF: "off beyond chance",
    EVEN: "even within its margin",
    OPEN: "inconclusive",
    SIZE: "size alone",
    FEW: "too few items",
}
MARGIN = 1.1  # width of a plot, relative to the farthest end of an interval
NOTE = (
    "The centre is the ideal value, and the lines are 95 % intervals. Rows with the same unit share a scale, which "
    "ends a little beyond the farthest interval."
)


def from_the_ideal(record: Record) -> Section | None:
    """Return the section that plots headline readings relative to their ideal values.

    The result is None if no headline reading has an ideal value, or if the record compares models: :func:`what_changed`
    in :mod:`fairlab.reporting.changes` draws comparisons.
    """
    found = [r for r in record.readings if represents(r) and r.ideal is not None and r.phase != DATA]
    if not found or record.comparisons:
        return None
    shown = {one.reading.key: "; ".join([SHOWN[one.kind], *one.marks]) for one in reading_verdicts(record)}
    several = len({reading.phase for reading in found}) > 1
    widest = _scales(record, found)
    rows: list[Row | Heading] = []
    for name, some in by_question(found, lambda reading: reading).items():
        rows.append(Heading(name))
        rows += [_row(record, one, shown.get(one.key, ""), several, widest.get(one.unit, 1.0)) for one in some]
    columns: Row = ["what was measured", "value", PageCell("", forest="ideal"), "what is shown"]
    return Section("From the ideal value", [PageTable(columns, rows), Text(NOTE, "note")])


def _row(record: Record, reading: Reading, shown: str, several: bool, widest: float) -> Row:
    low, high = corrected_interval(record, reading)
    few = math.isnan(low)
    value = PageCell(f"{reading.value:.4g}", "too few items" if few else f"[{low:.4g}, {high:.4g}]")
    name = PageCell(title(reading), reading.phase if several else "", hover=hover(reading))
    drawn = "" if few else PageCell("", forest=whisker(reading.value, low, high, reading.ideal or 0.0, widest))
    return [name, value, drawn, shown]


def _scales(record: Record, found: Sequence[Reading]) -> dict[str, float]:
    """Return, by unit, the distance from the ideal value to the end of the plot."""
    widest: dict[str, float] = {}
    for reading in found:
        scale = scale_of([reading.value, *corrected_interval(record, reading)], reading.ideal or 0.0)
        widest[reading.unit] = max(widest.get(reading.unit, 0.0), scale)
    return {unit: width or 1.0 for unit, width in widest.items()}


def scale_of(ends: Iterable[float], ideal: float) -> float:
    """Return the distance from the ideal value to the end of a plot that contains all finite ends."""
    return MARGIN * max((abs(end - ideal) for end in ends if math.isfinite(end)), default=0.0)


def whisker(value: float, low: float, high: float, ideal: float, widest: float) -> Whisker:
    """Return the positions of the bounds and the value, as shares of the plot's width. The ideal value is at 0.5."""
    return Whisker(*(min(1.0, max(0.0, 0.5 + (place - ideal) / (2 * widest))) for place in (low, value, high)))
