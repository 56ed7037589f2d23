"""Types of the values in a record that code reads by key; a record from another source may contain any value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlab.checks.values import faults
from fairlab.types import Seed

Number = float | None
Node = dict[str, Any]
CONFIG: dict[str, Any] = {
    "backbone": Node | str | None,  # records of experiments contain only a name
    **dict.fromkeys(("method", "data", "scale", "trainer", "augmentation", "rewriter", "llm"), Node | None),
    **dict.fromkeys(("benchmark", "logger", "source"), dict[str, Node | None] | None),
    "seed": Seed | None,
}
PROVENANCE: dict[str, Any] = {
    **dict.fromkeys(("data", "weights", "method", "rows", "rewriter", "choices"), Node | None),
    "sources": dict[str, Any] | None,
    "benchmarks": dict[str, dict[str, int | dict[str, str]]] | None,
    "stages": dict[str, dict[str, Number]],
    **dict.fromkeys(("wall_seconds", "processor_seconds"), Number),
}
WITHIN: dict[str, Any] = {  # values at nested keys
    "config.backbone.name": str | None,
    "config.method._target_": str,
    "config.scale.name": str,
    "provenance.method.title": str | None,
    "provenance.sources.sources": Node,
    "provenance.weights.sha256": str | None,
    "provenance.data.sha256": str | None,
}


def record_fault(content: Mapping[str, Any]) -> str:
    """Return one sentence about the first value of a record that has a wrong type, or an empty string.

    Any of the parts ``config``, ``provenance`` and ``history`` can be missing.
    """
    for part, kinds in (("config", CONFIG), ("provenance", PROVENANCE)):
        values = content.get(part, {})
        for key, kind in kinds.items():
            for fault in faults(f"{part}.{key}", values[key], kind, nodes=False) if key in values else ():
                return fault
    for place, kind in WITHIN.items():
        part, key, name = place.split(".")
        node = (content.get(part) or {}).get(key)
        if not isinstance(node, dict) or name not in node:
            continue
        for fault in faults(place, node[name], kind, nodes=False):
            return fault
    return _history_fault(content.get("history", []))


def _history_fault(history: Any) -> str:
    """Return one sentence about the first invalid row of a training history, or an empty string."""
    for number, row in enumerate(history):
        if not isinstance(row, dict) or not all(isinstance(value, int | float | None) for value in row.values()):
            return f"history[{number}] must be numbers by name, not {str(row)[:80]}"
    return ""
