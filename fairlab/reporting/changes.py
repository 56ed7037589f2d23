"""What changed between two models: the verdict, and the forest plot of changes with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from fairlab.record import Comparison, Reading, Record
from fairlab.reporting.headlines import key, meaning, title
from fairlab.reporting.page import SIGNS, Block, Fold, Heading, PageCell, PageTable, Row, Section, Text, measured
from fairlab.reporting.questions import WIDEST, Shift, by_question, shifts

NOTE = (
    "The plot shows by how much the distance to the ideal value changed, as a share of the distance before, with its "
    f"95 % interval: to the left nearer, to the right farther, cut off at {WIDEST:.0%}. ▲ better, ▼ worse: moved "
    "beyond chance, and nearer to the ideal value, or farther from it. Differences are on the same items, from 2,000 "
    "paired resamples; p is two-sided, adjusted by Holm over all headline readings. Other readings are not adjusted: "
    "among many of them some p-values are small by chance."
)


def what_changed(record: Record) -> Section | None:
    """Every comparison, those of headline readings first and by question; None where there is none."""
    found = shifts(record)
    if not found:
        return None
    several = len({one.comparison.phase for one in found}) > 1
    blocks: list[Block] = []
    for name, some in by_question((one for one in found if one.comparison.headline), _named).items():
        blocks += [Heading(name), forest(some, several=several)]
    others = [one for one in found if not one.comparison.headline]
    if others:
        tables = [
            block
            for name, some in by_question(others, _named).items()
            for block in (Heading(name), forest(some, several=several))
        ]
        blocks.append(Fold(f"changes of {len(others)} other readings", tables))
    return Section("What changed", [*blocks, Text(NOTE, "note")])


def forest(found: Sequence[Shift], *, several: bool = False) -> PageTable:
    """A line for each change: both values, the difference, where it lies in the plot, and its p-value.

    Args:
        found: the changes.
        several: whether they are between several pairs of models, so that each line must say which.
    """
    columns: Row = ["what was measured", "before", "after", "change", PageCell("", forest="scale"), "p"]
    if several:
        columns = [columns[0], "first", "second", *columns[3:]]
    return PageTable(columns, [_line(one, several) for one in found])


def _line(one: Shift, several: bool) -> Row:
    c = one.comparison
    name = PageCell(title(c), c.phase if several else "", hover=hover(one.after))
    sign = f"{SIGNS[one.tone]} " if one.tone else ""
    change = PageCell(f"{sign}{c.difference:+.3g}", f"[{c.low:+.3g}, {c.high:+.3g}]", tone=one.tone)
    place = PageCell("", forest=one.drawn, tone=one.tone, hover=one.said) if one.drawn else ""
    p = f"{c.p:.2g}" if c.p_holm is None else f"{c.p_holm:.2g}"
    before, after = (measured(r.value, r.low, r.high, ".3g") for r in (one.before, one.after))
    return [name, before, after, change, place, p]


def hover(reading: Reading) -> str:
    """What a reading means, its unit and ideal value, and its key in ``metrics.json``."""
    ideal = "" if reading.ideal is None else f"ideal {reading.ideal:g}"
    return "\n".join(filter(None, (meaning(reading), ", ".join(filter(None, (reading.unit, ideal))), key(reading))))


def _named(one: Shift) -> Comparison:
    return one.comparison
