"""Tables of the page on what language models write."""

from __future__ import annotations

from pathlib import Path

from experiments.rendering import ideal, markdown, significant
from fairlab.record import Record

RECORDS = Path(__file__).parent / "records"
DETECTABLE = "detectable_"


def smollm2() -> str:
    """Return the readings of BBQ over all categories, by likelihood and by chat."""
    rows = [
        [one.key, significant(one), one.unit, ideal(one), str(one.n)]
        for name in ("bbq_own", "bbq_chat")
        for one in Record.load(RECORDS / name).readings
        if one.subset == "all"
    ]
    return markdown(["reading", "value", "unit", "ideal", "n"], rows)


def decisions() -> str:
    """Return the differences of decisions between groups."""
    return differences("decisions")


def texts() -> str:
    """Return the differences between groups in written texts."""
    return differences("refusals", "counterfactual", "bold", "honest")


def audit() -> str:
    """Return the readings of the audit of own prompts."""
    found = Record.load(RECORDS / "audit").readings
    rows = [[one.key, significant(one), one.unit, ideal(one), str(one.n)] for one in found]
    return markdown(["reading", "value", "unit", "ideal", "n"], rows)


def differences(*benchmarks: str) -> str:
    """Return the readings of benchmarks, each with the smallest difference that would have been found."""
    readings = Record.load(RECORDS / "smollm2").readings
    smallest = {one.key: one.value for one in readings if one.quantity.startswith(DETECTABLE)}
    rows = []
    for one in readings:
        shown = one.ideal is not None or one.subset == "all"
        if one.benchmark not in benchmarks or one.quantity.startswith(DETECTABLE) or not shown:
            continue
        found = smallest.get(f"{one.benchmark}/{one.subset}/{DETECTABLE}{one.quantity}")
        rows.append([one.key, significant(one), "" if found is None else f"{found:.3g}", one.unit, str(one.n)])
    return markdown(["reading", "value", "smallest detectable", "unit", "n"], rows)


PAGES = {"docs/writing.md": {"smollm2": smollm2, "decisions": decisions, "texts": texts, "audit": audit}}
