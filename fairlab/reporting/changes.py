"""Forest plot of the differences between two models, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairlab.record import Reading, Record
from fairlab.reporting.headlines import bare, bounds, key, meaning, title
from fairlab.reporting.page import SIGNS, Block, Fold, Heading, PageCell, PageTable, Row, Section, Text
from fairlab.reporting.questions import WIDEST, Shift, by_question, phases_of, shifts
from fairlab.reporting.verdicts import TOO_FEW, corrected_interval

NOTE = (
    "The plot shows how much the distance to the ideal value {differs}, as a share of the distance {first}, with "
    f"its 95 % interval: nearer to the left, farther to the right, cut off at {WIDEST:.0%}. ▲ better, ▼ worse: nearer "
    "to the ideal value beyond chance, or farther from it. Differences are on the same items, from 2,000 paired "
    "resamples; p is two-sided, adjusted by Holm over all headline readings{of}. Other readings are not adjusted: "
    "among so many, some p-values are small by chance."
)


def what_changed(record: Record) -> Section | None:
    """Return the section with all comparisons by question, or None if there are no comparisons.

    Headline readings come first.
    """
    found = shifts(record)
    if not found:
        return None
    headline = [one for one in found if one.headline]
    others = [one for one in found if not one.headline]
    blocks: list[Block] = [forest(record, headline)] if headline else []
    blocks += [Fold(f"changes of {len(others)} other readings", [forest(record, others)])] if others else []
    if all(one.changed for one in found):
        note = NOTE.format(differs="changed", first="before", of="")
        return Section("What changed", [*blocks, Text(note, "note")])
    note = NOTE.format(differs="differs", first="of the first model", of=" of a pair of models")
    return Section("How the models differ", [*blocks, Text(note, "note")])


def forest(record: Record, found: Sequence[Shift]) -> PageTable:
    """Return a table of changes by question, with values, difference, plot and p-value."""
    pairs = {one.comparison.phase for one in found}
    several = len(pairs) > 1
    named = ["first", "second"] if several else list(phases_of(found[0].comparison.phase))
    what = "change" if found[0].changed else "difference"
    columns: Row = ["what was measured", *named, what, PageCell("", forest="scale"), "p"]
    rows: list[Row | Heading] = []
    for name, some in by_question(found, lambda one: one.comparison).items():
        rows += [Heading(name), *(_line(record, one, several) for one in some)]
    return PageTable(columns, rows)


def _line(record: Record, one: Shift, several: bool) -> Row:
    c = one.comparison
    name = PageCell(title(c), c.phase if several else "", hover=hover(one.after))
    sign = f"{SIGNS[one.colour]} " if one.colour else ""
    interval = TOO_FEW if one.few else f"[{c.low:+.3g}, {c.high:+.3g}]"
    change = PageCell(f"{sign}{c.difference:+.3g}", interval, tone=one.colour)
    place = PageCell("", forest=one.drawn, tone=one.colour, hover=one.said) if one.drawn and not one.few else ""
    p = "" if one.few else f"{c.p:.2g}" if c.p_holm is None else f"{c.p_holm:.2g}"
    before, after = (_value(record, reading) for reading in (one.before, one.after))
    return [name, before, after, change, place, p]


def _value(record: Record, reading: Reading) -> PageCell:
    low, high = corrected_interval(record, reading)
    return PageCell(f"{reading.value:.3g}", TOO_FEW if math.isnan(low) else f"[{low:.3g}, {high:.3g}]")


def hover(reading: Reading) -> str:
    """Return the tooltip of a reading: its meaning, unit, ideal value, bounds and key in ``metrics.json``."""
    ideal = "" if reading.ideal is None else f"ideal {reading.ideal:g}"
    scale = ", ".join(filter(None, (reading.unit, ideal, bounds(reading))))
    return "\n".join(filter(None, (meaning(reading), scale, key(reading))))


def in_words(column: str) -> PageCell:
    """Return a cell with the title of a reading, given its key without the phase, and a tooltip.

    Any other text is shown unchanged.
    """
    found = bare(column)
    return PageCell(column) if found is None else PageCell(title(found), hover=hover(found))
