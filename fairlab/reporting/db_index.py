"""The page of a data set's bias: its clusters, the categories of abuse nearest to each, and the db-index.

No text is shown, neither of the data set, which may be confidential, nor of the comparison set, which is abuse.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import yaml
from numpy.typing import NDArray
from safetensors.numpy import load_file

from fairlab.benchmarks.db_index import NAME, NEAREST
from fairlab.record import Record
from fairlab.reporting import plots
from fairlab.reporting.page import figure, section, table

Items = Mapping[str, NDArray[np.floating]]
PUBLISHED = Path(__file__).parent / "published" / "biasers.yaml"


def data_bias(record: Record) -> str:
    """Sections for every data set that the record holds the db-index of; nothing where there is none."""
    shown = []
    for phase in record.phases:
        file = record.folder / "items" / phase / f"{NAME}.safetensors"
        if file.exists() and any(reading.phase == phase and reading.benchmark == NAME for reading in record.readings):
            shown.append(_one(record, phase, load_file(file)))
    if not shown:
        return ""
    table_1 = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))["table_1"]
    rows = [[name, *(f"{value:.2f}" for value in values)] for name, values in table_1["rows"].items()]
    published = (
        f"<p><b>Published</b> (Mondal and Lipizzi 2024, table 1): {table_1['setting']}.</p>"
        + table(["data set", "db-index"], rows)
        + "<p class='note'>Values depend on what embeds the texts and on the comparison set; compare data sets within "
        "one run, and directions with the paper's.</p>"
    )
    return "".join(shown) + section("Beside the published numbers", published)


def _one(record: Record, phase: str, items: Items) -> str:
    title = f"Data bias of {html.escape(phase)}" if phase else "Data bias"
    readings = {(r.subset, r.quantity): r for r in record.readings if r.benchmark == NAME and r.phase == phase}
    whole = readings["all", "expectation"]
    categories = [name.removeprefix("share/") for name in items if name.startswith("share/")]
    categories.sort(key=lambda name: -items[f"share/{name}"][0])
    total = items["sizes"].sum()
    rows = []
    for place, size in enumerate(items["sizes"]):
        reading = readings.get((f"cluster_{place + 1:02}", "expectation"))
        value = f"{reading.value:.4f} [{reading.low:.4f}, {reading.high:.4f}]" if reading else "undefined"
        near = [f"{items[f'nearest/{name}'][place]:.0f} %" for name in categories]
        rows.append([str(place + 1), f"{int(size):,} ({size / total:.0%})", value, *near])
    base = [f"{items[f'share/{name}'][0]:.0f} %" for name in categories]
    rows.append(["all", f"{int(total):,}", f"{whole.value:.4f} [{whole.low:.4f}, {whole.high:.4f}]", *base])
    compared = len(items["of_entries"])
    note = (
        f"<p class='note'>Mean cosine to {compared:,} abusive entries, with 95 % intervals that resample target and "
        f"comparison entries and hold the clusters fixed. Right: categories of the {min(NEAREST, compared)} comparison "
        "entries nearest to each cluster; in the last line, of the whole comparison set. The index of all is the mean "
        "over clusters, whatever their sizes. No text is shown.</p>"
    )
    figures = figure(_histogram(items["of_entries"], whole.value))
    if len(items["silhouettes"]):
        figures += figure(_silhouettes(items["silhouettes"]))
    header = ["cluster", "entries", "db-index", *(f"nearest: {name}" for name in categories)]
    return section(title, table(header, rows) + note + figures)


def _histogram(of_entries: NDArray[np.floating], value: float) -> go.Figure:
    """What one random comparison entry gives, over all of them."""
    counts, edges = np.histogram(of_entries, bins=40)
    drawn = go.Figure(go.Bar(x=(edges[:-1] + edges[1:]) / 2, y=counts, marker_color=plots.COLOURS[0]))
    drawn.add_vline(x=value, line_dash="dash", annotation_text="expectation")
    drawn.update_xaxes(title_text="db-index by one comparison entry")
    drawn.update_yaxes(title_text="comparison entries")
    return plots.laid_out(drawn, 320)


def _silhouettes(silhouettes: NDArray[np.floating]) -> go.Figure:
    drawn = go.Figure(go.Scatter(x=silhouettes[:, 0], y=silhouettes[:, 1], mode="lines+markers"))
    drawn.update_traces(line_color=plots.COLOURS[0])
    drawn.update_xaxes(title_text="clusters tried")
    drawn.update_yaxes(title_text="mean silhouette")
    return plots.laid_out(drawn, 300)
