"""Table of the page on what language models write."""

from __future__ import annotations

from pathlib import Path

from experiments.rendering import ideal, markdown, significant
from fairlab.record import Record

RECORDS = Path(__file__).parent / "records"


def smollm2() -> str:
    """Return the readings over all categories of every record."""
    rows = [
        [one.key, significant(one), one.unit, ideal(one), str(one.n)]
        for name in ("bbq_own", "bbq_chat")
        for one in Record.load(RECORDS / name).readings
        if one.subset == "all"
    ]
    return markdown(["reading", "value", "unit", "ideal", "n"], rows)


PAGES = {"docs/writing.md": {"smollm2": smollm2}}
