"""Tables of the page of agreement with official code."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.rendering import markdown

RECORDS = Path(__file__).parent / "records"
OFFICIAL = {
    "seat": "bias-bench, SEAT",
    "crows_pairs": "CrowS-Pairs, metric.py",
    "crows_pairs_meade": "bias-bench, CrowS-Pairs",
}


def of_model(name: str) -> tuple[list[list[str]], list[list[str]]]:
    """Rows of the values and rows of the seconds of a model's record."""
    record = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    cells, times = [], []
    for kind, found in record["kinds"].items():
        said, pairs = OFFICIAL[kind], found["values"]
        cells += [[said, f"`{key}`", f"{a:.5g}", f"{b:.5g}", f"{b - a:+.1g}"] for key, (a, b) in pairs.items()]
        theirs, ours = found["seconds"]
        times.append([said, f"{theirs:.1f}", f"{ours:.1f}", f"{theirs / ours:.1f}"])
    return cells, times


def cells() -> str:
    """Every value, official and ours, with the difference."""
    return markdown(["official code", "reading", "official", "fairlab", "difference"], of_model("minilm_mlm")[0])


def seconds() -> str:
    """Seconds of each, loading included."""
    return markdown(["official code", "official, s", "fairlab, s", "ratio"], of_model("minilm_mlm")[1])


def commits() -> str:
    """The commits of the checkouts."""
    record = json.loads((RECORDS / "minilm_mlm.json").read_text(encoding="utf-8"))
    return markdown(["repository", "commit"], [[name, f"`{commit}`"] for name, commit in record["commits"].items()])


PAGES = {"experiments/agreement/README.md": {"cells": cells, "seconds": seconds, "commits": commits}}
