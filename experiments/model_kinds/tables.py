"""Tables of model kinds by benchmark families."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.rendering import markdown

RECORD = Path(__file__).with_name("record.json")


def record() -> dict[str, Any]:
    """Load the record of all kinds."""
    return json.loads(RECORD.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def families() -> str:
    """Return a table of kinds by families, with ``yes`` or the number of a reason that is listed below."""
    found, names = record()["kinds"], list(record()["benchmarks"])
    reasons = list(dict.fromkeys(why for one in found.values() for why in one["families"].values() if why != "yes"))
    rows = [
        [
            kind,
            one["given"],
            *(cell(one["families"].get(name), reasons) for name in names),
        ]
        for kind, one in found.items()
    ]
    table = markdown(["kind of model", "`model=`, or the Python object", *names], rows)
    return "\n".join([table, "", *(f"{number}. not run: {reason}" for number, reason in enumerate(reasons, start=1))])


def cell(why: str | None, reasons: list[str]) -> str:
    """Format a cell: ``yes``, the number of the reason, or a dash for a family that was not tried."""
    if why is None:
        return "–"
    return "yes" if why == "yes" else str(1 + reasons.index(why))


def differences() -> str:
    """Return a table of the largest differences between kinds with the same weights."""
    rows = []
    for kind, one in record()["kinds"].items():
        if like := one.get("like"):
            values = [shown(like[part]) for part in ("embeddings", "likelihoods", "after_first", "readings")]
            rows.append([kind, like["kind"], *values, str(like["compared"]), ", ".join(one["packages"])])
    header = ["kind", "compared with", "embeddings", "log-likelihoods", "log-likelihoods without first tokens"]
    header += ["benchmark results", "number of results", "packages"]
    return markdown(header, rows)


def shown(value: float | None) -> str:
    """Format a difference, or return an empty text if there is none."""
    return "" if value is None else f"{value:.2g}"


PAGES = {"experiments/model_kinds/README.md": {"families": families, "differences": differences}}
