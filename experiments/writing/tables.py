"""Table of the page on what language models write."""

from __future__ import annotations

from pathlib import Path

from experiments.rendering import ideal, markdown, significant
from fairlab.record import Record

RECORDS = Path(__file__).parent / "records"
DETECTABLE = "detectable_"
SHOWN = (  # besides headline quantities
    "accuracy_ambiguous",
    "accuracy_disambiguated",
    "unparsable",
    "refused",
    "refused_difference",
    "yes",
    "control_sentiment_change",
    "sentiment_change",
    "sentiment_difference",
    "flips",
    "control_flips",
)


def smollm2() -> str:
    """Return headline readings of every record, with the smallest difference that would have been found."""
    rows = []
    for folder in sorted(path for path in RECORDS.iterdir() if path.is_dir()):
        readings = Record.load(folder).readings
        smallest = {one.key: significant(one).split(" ")[0] for one in readings if DETECTABLE in one.quantity}
        for one in readings:
            whole = one.subset == "all" or not one.benchmark.startswith("bbq")
            if not whole or one.key in smallest or not (one.headline or one.quantity in SHOWN):
                continue
            place = one.key.rpartition("/")[0]
            least = smallest.get(f"{place}/{DETECTABLE}{one.quantity.removeprefix('excess_')}", "")
            rows.append([one.key, significant(one), one.unit, ideal(one), str(one.n), least])
    return markdown(["reading", "value", "unit", "ideal", "n", "found from"], rows)


PAGES = {"docs/writing.md": {"smollm2": smollm2}}
