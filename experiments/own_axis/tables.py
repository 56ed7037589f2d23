"""Table for docs/own_axis.md: results of the page's two commands with seed 42."""

from __future__ import annotations

from pathlib import Path

from experiments.rendering import markdown, significant
from fairlab.record import Record
from fairlab.reporting.headlines import titled

RECORDS = Path(__file__).parent / "records"


def both_axes() -> str:
    """Return a table of all headline readings before and after training, with p-values adjusted for all headlines."""
    rows = []
    for folder in sorted(RECORDS.iterdir()):
        record = Record.load(folder)
        readings = {reading.key: reading for reading in record.readings}
        changes = {(one.benchmark, one.subset, one.quantity): one for one in record.comparisons}
        for after in (one for one in record.readings if one.headline and one.phase == "after"):
            name = after.key.partition("/")[2]
            change = changes.get((after.benchmark, after.subset, after.quantity))
            rows.append(
                [
                    folder.name,
                    titled(name),
                    significant(readings[f"before/{name}"]),
                    significant(after),
                    "" if change is None or change.p_holm is None else f"{change.p_holm:.3f}",
                    str(after.n),
                ]
            )
    return markdown(["axis", "result", "before", "after", "p, adjusted", "n"], rows)


PAGES = {"docs/own_axis.md": {"both axes": both_axes}}
