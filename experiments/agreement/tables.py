"""Tables of the page of agreement with official code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.rendering import markdown

RECORDS = Path(__file__).parent / "records"
MODELS = ("minilm_mlm", "mpnet", "smollm2", "tiny_mlm", "tiny_causal")
OFFICIAL = {
    "seat": "bias-bench, SEAT",
    "seat_p": "sent-bias, SEAT",
    "crows_pairs": "CrowS-Pairs, metric.py",
    "crows_pairs_meade": "bias-bench, CrowS-Pairs",
    "stereoset": "StereoSet",
    "stereoset_meade": "bias-bench, StereoSet",
}


def comparisons() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Model, kind, and what was found, of every record."""
    for model in MODELS:
        record = json.loads((RECORDS / f"{model}.json").read_text(encoding="utf-8"))
        for kind in OFFICIAL:
            if kind in record["kinds"]:
                yield model, kind, record["kinds"][kind]


def summary() -> str:
    """A row for each model and official code: how many values, how far apart, and the seconds of each."""
    rows = []
    for model, kind, found in comparisons():
        apart = max(abs(a - b) for key, (a, b) in found["values"].items() if not key.endswith("/p"))
        theirs, ours = found["seconds"]
        rows.append(
            [
                model,
                OFFICIAL[kind],
                ", ".join(found["types"]) or "all",
                str(len(found["values"])),
                f"{apart:.1g}",
                f"{theirs:.1f}",
                f"{ours:.1f}",
                f"{theirs / ours:.1f}",
            ]
        )
    header = ["model", "official code", "part", "values", "largest difference", "official, s", "fairlab, s", "ratio"]
    return markdown(header, rows)


def cells() -> str:
    """Every value, official and ours, with the difference."""
    rows = [
        [model, OFFICIAL[kind], f"`{key}`", f"{a:.5g}", f"{b:.5g}", f"{b - a:+.1g}"]
        for model, kind, found in comparisons()
        for key, (a, b) in found["values"].items()
    ]
    return markdown(["model", "official code", "reading", "official", "fairlab", "difference"], rows)


def counted() -> str:
    """How many values there are, and of how many models."""
    found = list(comparisons())
    values = sum(len(one["values"]) for _, _, one in found)
    return f"{values} values of {len({model for model, _, _ in found})} models."


def commits() -> str:
    """The commits of the checkouts, and of fairlab."""
    found = {(one["repository"], one["commit"]) for _, _, one in comparisons()}
    found |= {("fairlab", one["fairlab"]) for _, _, one in comparisons()}
    return markdown(["repository", "commit"], [[name, f"`{commit}`"] for name, commit in sorted(found)])


PAGES = {
    "experiments/agreement/README.md": {"summary": summary, "counted": counted, "cells": cells, "commits": commits}
}
