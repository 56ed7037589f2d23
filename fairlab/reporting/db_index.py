"""Report section on the bias of a dataset: clusters, each cluster's nearest categories of abuse, and the db-index.

No texts are shown, because the dataset may be confidential and the comparison set is abusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from fairlab.benchmarks.db_index import NEAREST, DBIndexBenchmark
from fairlab.checks.foreign import read_tensors
from fairlab.record import Record
from fairlab.reporting.charts import Marks, Panel, figure
from fairlab.reporting.page import Block, PageCell, PageTable, Section, Text, measured

Items = Mapping[str, NDArray[np.floating]]
NAME = DBIndexBenchmark.description.name
PUBLISHED = Path(__file__).parent / "papers" / "biasers.yaml"


def data_bias(record: Record) -> list[Section]:
    """Return one section per dataset with a db-index, followed by the published numbers."""
    shown = []
    for phase in record.phases:
        file = record.folder / "items" / phase / f"{NAME}.safetensors"
        if file.exists() and any(reading.phase == phase and reading.benchmark == NAME for reading in record.readings):
            shown.append(_dataset_section(record, phase, read_tensors(file)))
    if not shown:
        return []
    table_1 = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))["table_1"]
    rows = [[name, *(f"{value:.2f}" for value in values)] for name, values in table_1["rows"].items()]
    published: list[Block] = [
        Text(f"Published (Mondal and Lipizzi 2024, table 1): {table_1['setting']}."),
        PageTable(["dataset", "db-index"], rows),
        Text(
            "Values depend on the embedding and on the comparison set; compare datasets within one run, and compare "
            "only directions with the paper.",
            "note",
        ),
    ]
    return [*shown, Section("Published numbers", published)]


def _dataset_section(record: Record, phase: str, items: Items) -> Section:
    title = f"Data bias of {phase}" if phase else "Data bias"
    readings = {(r.subset, r.quantity): r for r in record.readings if r.benchmark == NAME and r.phase == phase}
    whole = readings["all", "expectation"]
    categories = [name.removeprefix("share/") for name in items if name.startswith("share/")]
    categories.sort(key=lambda name: -items[f"share/{name}"][0])
    total = items["sizes"].sum()
    rows: list[list[PageCell | str]] = []
    for place, size in enumerate(items["sizes"]):
        reading = readings.get((f"cluster_{place + 1:02}", "expectation"))
        value = measured(reading.value, reading.low, reading.high, ".4f") if reading else "undefined"
        near = [_share(items[f"nearest/{name}"][place]) for name in categories]
        rows.append([str(place + 1), f"{int(size):,} ({size / total:.0%})", value, *near])
    base = [_share(items[f"share/{name}"][0]) for name in categories]
    rows.append(["all", f"{int(total):,}", measured(whole.value, whole.low, whole.high, ".4f"), *base])
    compared = len(items["of_entries"])
    note = (
        f"Mean cosine to {compared:,} abusive entries, with 95 % intervals that resample target and comparison entries "
        f"and hold the clusters fixed. Right: categories of the {min(NEAREST, compared)} comparison entries nearest to "
        "each cluster; in the last line, of the whole comparison set. The index of all is the unweighted mean over "
        "clusters. No text is shown."
    )
    header = ["cluster", "entries", "db-index", *(f"nearest: {name}" for name in categories)]
    return Section(title, [PageTable(header, rows), Text(note, "note"), *_figures(items, whole.value)])


def _share(percent: float) -> PageCell:
    return PageCell(f"{percent:.0f} %", heat=float(percent) / 100)


def _figures(items: Items, value: float) -> list[Block]:
    """Draw a histogram of the db-index over comparison entries, and the mean silhouette by number of clusters."""
    counts, edges = np.histogram(items["of_entries"], bins=40)
    middles, tall = ((edges[:-1] + edges[1:]) / 2).tolist(), counts.tolist()
    expected = Marks("expectation", [value] * 2, [0, max(tall)], colour=1, dashed=True)
    marks = [Marks("comparison entries", middles, tall), expected]
    panels = [Panel("", marks, "db-index by one comparison entry", "comparison entries", y_held=[0.0])]
    if len(items["silhouettes"]):
        tried, fits = items["silhouettes"].T.tolist()
        panels.append(Panel("", [Marks("", tried, fits, "both")], "clusters tried", "mean silhouette"))
    return [figure(panels)]
