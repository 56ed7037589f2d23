"""Table of the page on mending a model at a price."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.rendering import markdown

RECORD = Path(__file__).with_name("record.json")


def tried() -> str:
    """Return a row per method that was tried, by the readings that choose."""
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    rows = [
        [
            f"`{one['label']}`",
            f"{len(one['fairer'])} of {one['tested']}",
            str(len(one["worse"])),
            f"{100 * one['remaining']:.0f} %",
            one["utility"].removeprefix("stsb "),
            "yes" if one["kept"] else "not shown",
        ]
        for one in found["tried"]
    ]
    head = ["method", "fairer beyond chance", "less fair", "distance to fair left", "change of STS-B", "price kept"]
    return f"{markdown(head, rows)}\n\n> {found['sentence']}"


PAGES = {"docs/mend.md": {"tried": tried}}
