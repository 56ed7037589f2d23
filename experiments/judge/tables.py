"""Table of simulated coverage for the page on comparisons, from ``coverage.json``."""

from __future__ import annotations

import json
from typing import Any

from experiments.judge.coverage import FILE
from experiments.rendering import markdown


def coverage() -> str:
    """Return a table with one row per simulation and one column per number of items.

    A dash means that the case was not simulated, and ``none`` that pages print no interval.
    """
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    shares: dict[tuple[str, str, str], dict[int, float | None]] = {}
    for one in content["rows"]:
        shares.setdefault((one["kind"], one["what"], one["measure"]), {})[one["n"]] = one["share"]
    items = sorted({one["n"] for one in content["rows"]})
    rows = [[*names, *(_shown(of[n]) if n in of else "–" for n in items)] for names, of in shares.items()]
    return markdown(["statistic", "simulated data", "reported share", *(f"{n} items" for n in items)], rows)


def _shown(share: float | None) -> str:
    return "none" if share is None else f"{share:.3f}"


PAGES = {"docs/comparing.md": {"coverage": coverage}}
