"""Table of simulated coverage on the page of comparisons, from ``coverage.json``."""

from __future__ import annotations

import json
from typing import Any

from experiments.judge.coverage import FILE
from experiments.rendering import markdown


def coverage() -> str:
    """One row per simulation, with one column per number of items; dashes stand where none was simulated."""
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    shares: dict[tuple[str, str, str], dict[int, float]] = {}
    for one in content["rows"]:
        shares.setdefault((one["kind"], one["what"], one["measure"]), {})[one["n"]] = one["share"]
    items = sorted({one["n"] for one in content["rows"]})
    rows = [[*names, *(f"{of[n]:.3f}" if n in of else "–" for n in items)] for names, of in shares.items()]
    return markdown(["what is judged", "data", "share of repeats", *(f"n {n}" for n in items)], rows)


PAGES = {"docs/comparing.md": {"coverage": coverage}}
