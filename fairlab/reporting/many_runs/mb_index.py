"""Comparison of fine-tuned causal language models by their mb-index, with the effect of augmentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairlab.benchmarks.kept_items import kept_arrays
from fairlab.benchmarks.mb_index import MBIndex, mb_draws
from fairlab.checks.foreign import read_tensors
from fairlab.metrics.bootstrap import percentile_interval, two_sided_p
from fairlab.metrics.mb_index import min_max
from fairlab.record import Record
from fairlab.reporting.tables.rendering import Printed, markdown

NAME = MBIndex.description.name
NORMALISED = f"{NAME}/all/normalised"
AFTER = f"after/{NAME}"
KEYS = {
    "perplexity": f"{AFTER}/reference/perplexity",
    "stereotype score": f"{AFTER}/continuations/stereotype_score",
    "nonsensical, %": f"{AFTER}/continuations/nonsensical",
    "ss by likelihood, %": f"{AFTER}/likelihoods/ss",
    "mb-index": f"{AFTER}/all/mb_index",
    "normalised": f"after/{NORMALISED}",
}


def add_normalised(records: Sequence[Record]) -> None:
    """Add the normalised mb-index to each record, in memory: 0 for the lowest value of all runs, 1 for the highest.

    The bounds of the interval are scaled in the same way and can be outside 0 to 1. No reading is added if a run has no
    mb-index, or if all runs have the same mb-index.
    """
    found = [record.reading(KEYS["mb-index"]) for record in records]
    readings = [reading for reading in found if reading is not None]
    values = [reading.value for reading in readings]
    if len(readings) < len(records) or len(set(values)) < 2:
        return
    for record, reading in zip(records, readings, strict=True):
        value, low, high = min_max([reading.value, reading.low, reading.high], among=values).tolist()
        scaled = replace(reading, quantity="normalised", unit="share of the range", value=value, low=low, high=high)
        record.readings.append(scaled)


def compare_models(records: Sequence[Record]) -> dict[str, Any]:
    """Return one row per run, and the changes in mb-index from original to augmented data of the same sample size.

    Args:
        records: Records of finished runs that were trained on entries.
    """
    ordered = sorted(records, key=lambda record: (of_data(record, "augmented"), of_data(record, "sample")))
    add_normalised(ordered)
    rows = []
    for record in ordered:
        values = {name: record.reading(key) for name, key in KEYS.items()}
        rows.append(
            {"model": sample_title(record), "entries": record.provenance["data"]["train_entries"]}
            | {name: [r.value, r.low, r.high] for name, r in values.items() if r is not None}
        )
    pairs = [
        (before, after)
        for before in ordered
        for after in ordered
        if of_data(before, "sample") == of_data(after, "sample")
        and not of_data(before, "augmented")
        and of_data(after, "augmented")
    ]
    return {"models": rows, "changes": [change for pair in pairs for change in _changes(*pair)]}


def _changes(before: Record, after: Record) -> list[dict[str, Any]]:
    """Return the difference in mb-index between two runs on the same contexts and reference entries.

    The result is empty if a run has no mb-index or no stored items.
    """
    files = [record.folder / "items" / "after" / f"{NAME}.safetensors" for record in (before, after)]
    readings = [record.reading(KEYS["mb-index"]) for record in (before, after)]
    first, second = readings
    if first is None or second is None or not all(file.is_file() for file in files):
        return []
    with kept_arrays(after.folder):
        earlier, later = (mb_draws(read_tensors(file)) for file in files)
        low, high = percentile_interval(later - earlier)
    difference = second.value - first.value
    models = {"from": sample_title(before), "to": sample_title(after)}
    return [models | {"mb-index": [difference, low, high], "p": two_sided_p(later - earlier)}]


def of_data(record: Record, key: str) -> Any:
    """Return a data setting of a run."""
    return record.config["data"][key]


def sample_title(record: Record) -> str:
    """Return the title of a run, such as ``sample of 10, augmented``."""
    return f"sample of {of_data(record, 'sample')}, {'augmented' if of_data(record, 'augmented') else 'original'}"


def rendered_models(found: dict[str, Any]) -> str:
    """Format the result of :func:`compare_models` as Markdown."""
    columns = ["model", "entries", *KEYS]
    lines = [[_format_value(row.get(column)) for column in columns] for row in found["models"]]
    parts = [markdown(columns, [[Printed(entry) for entry in line] for line in lines])]
    parts += [
        f"mb-index from {change['from']} to {change['to']}: {_format_value(change['mb-index'])}, p {change['p']:.2g}"
        for change in found["changes"]
    ]
    parts.append(
        "95 % intervals in brackets. The mb-index falls as the number of entries rises, so compare only models tuned "
        "on the same number of entries."
    )
    return "\n\n".join(parts) + "\n"


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        middle, low, high = value
        return f"{middle:.4g} [{low:.4g}, {high:.4g}]"
    return "" if value is None else str(value)
