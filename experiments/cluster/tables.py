"""Tables for the page about the simulated cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.cluster import memory
from experiments.rendering import markdown
from fairlab.files import COMPACT, read_record

RECORD = Path(__file__).with_name(COMPACT)
TRIALS, FINISHED = "trials", "finished"
FIRST = 20  # number of losses that are compared; later ones diverge, because rounding errors accumulate


def record() -> dict[str, Any]:
    """Return the committed outcomes of all runs."""
    return json.loads(read_record(RECORD))


def summary() -> str:
    """Return a table of the numbers of runs and finished runs, by paper and launcher."""
    outcomes = record()["outcomes"]
    rows = []
    for launcher, paper in dict.fromkeys((one["launcher"], one["paper"]) for one in outcomes):
        of_paper = [one for one in outcomes if (one["launcher"], one["paper"]) == (launcher, paper)]
        data = [one for one in of_paper if one["run"].startswith("data ")]
        runs = [one for one in of_paper if one not in data]
        through = [sum(one["stage"] == FINISHED for one in some) for some in (data, runs)]
        rows.append([launcher, paper, f"{through[0]} of {len(data)}", f"{through[1]} of {len(runs)}"])
    return markdown(["launcher", "paper", "finished data jobs", "finished runs"], rows)


def outcomes() -> str:
    """Return a table of all runs, with the last stage, the seconds and the reason for a failure."""
    rows = [
        [*(one[key] for key in ("launcher", "paper", "run", "stage")), seconds(one["seconds"]), one["why"]]
        for one in record()["outcomes"]
    ]
    return markdown(["launcher", "paper", "run", "stage reached", "seconds", "reason for stopping there"], rows)


def seconds(count: float) -> str:
    """Format a number of seconds without decimals, or return an empty text for 0."""
    return f"{count:.0f}" if count else ""


def trials() -> str:
    """Return a table of the trials' losses, and their differences from the single-process run with the same parts."""
    found = {one["run"]: one["losses"] for one in record()["outcomes"] if one["paper"] == TRIALS and one["losses"]}
    parts = found.get("parts", [])
    rows = [
        [name, str(len(losses)), f"{losses[0]:.5f}", f"{losses[-1]:.5f}", apart(losses[:FIRST], parts[:FIRST])]
        for name, losses in found.items()
    ]
    return markdown(
        [
            "run",
            "losses recorded",
            "first loss",
            "last loss",
            f"largest relative difference of the first {FIRST} losses",
        ],
        rows,
    )


def apart(losses: list[float], others: list[float]) -> str:
    """Return the largest relative difference between losses.

    The result is empty if the runs did not start with the same loss.
    """
    if not others or abs(losses[0] - others[0]) > 1e-3 * abs(others[0]):
        return ""
    return f"{max(abs(a - b) / abs(b) for a, b in zip(losses, others, strict=False)):.1g}"


PAGES = {
    "experiments/cluster/README.md": {"summary": summary, "trials": trials, "outcomes": outcomes},
    "docs/multi_gpu.md": {"memory": memory.table},
}
