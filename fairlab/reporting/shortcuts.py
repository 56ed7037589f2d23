"""The page of a data set's shortcuts: n-grams that give labels away, where they stand, and the shortcut scores."""

from __future__ import annotations

import html
from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from safetensors.numpy import load_file

from fairlab.benchmarks.shortcuts import NAME
from fairlab.record import Record
from fairlab.reporting import plots
from fairlab.reporting.page import figure, section, table

Items = Mapping[str, NDArray[np.floating]]
BINS = 40


def shortcuts(record: Record) -> str:
    """Sections for every data set that was X-rayed, and the first beside the others; nothing where there is none."""
    found = {
        phase: load_file(file)
        for phase in dict.fromkeys(reading.phase for reading in record.readings if reading.benchmark == NAME)
        if (file := record.folder / "items" / phase / f"{NAME}.safetensors").exists()
    }
    beside = _beside(found) if len(found) > 1 else ""
    return beside + "".join(_one(phase, items) for phase, items in found.items())


def _labels(items: Items) -> list[str]:
    return [name.removeprefix("gamma/") for name in items if name.startswith("gamma/")]


def _grams(items: Items, label: str) -> dict[str, NDArray[np.floating]]:
    """N-grams of a label, by falling LMI."""
    start = f"lmi/{label}/"
    grams = {name.removeprefix(start): values for name, values in items.items() if name.startswith(start)}
    return dict(sorted(grams.items(), key=lambda pair: -float(pair[1][0])))


def _one(phase: str, items: Items) -> str:
    title = f"Shortcuts of {html.escape(phase)}" if phase else "Shortcuts"
    body = ""
    for label in _labels(items):
        rows = [
            [gram, f"{value:.0f}", f"{100 * share:.0f} %", f"{int(count):,}"]
            for gram, (value, share, count) in _grams(items, label).items()
        ]
        shown = table(["n-gram", "LMI, x 1e6", "of them with the label", "occurrences"], rows)
        body += f"<p><b>{html.escape(label)}</b></p>" + (shown if rows else "<p>No n-gram goes with it.</p>")
    maps = "".join(figure(drawn) for label in _labels(items) if (drawn := _map(label, items)) is not None)
    note = (
        "<p class='note'>Local mutual information of n-grams of the last field with a label (Schuster et al. 2019). "
        "The maps say where in a text a word stands, counted from 1, and what share of its occurrences there has the "
        "label. Below, shortcut scores of documents by label: 1 less the mean cosine to documents of other labels.</p>"
    )
    return section(title, body + note + maps + figure(_gammas(items)))


def _map(label: str, items: Items) -> go.Figure | None:
    """Share with the label by word and position; empty where the word never stands there."""
    start = f"map/{label}/"
    words = [gram for gram in _grams(items, label) if start + gram in items]
    if not words:
        return None
    counts, shares = (np.stack([items[start + word][k] for word in words]) for k in (0, 1))
    places = [str(k + 1) for k in range(counts.shape[1])]
    places[-1] += " on"
    drawn = go.Figure(
        go.Heatmap(
            z=np.where(counts > 0, shares, np.nan),
            x=places,
            y=words,
            customdata=counts,
            zmin=0,
            zmax=1,
            colorscale="RdBu_r",
            hovertemplate="%{y} at %{x}: %{z:.0%} of %{customdata}<extra></extra>",
        )
    )
    drawn.update_layout(title=f"Share with the label {label} by position")
    drawn.update_yaxes(autorange="reversed")
    return plots.laid_out(drawn, 140 + 18 * len(words))


def _gammas(items: Items) -> go.Figure:
    """Distribution of shortcut scores by label, as shares of its documents."""
    values = {label: items[f"gamma/{label}"] for label in _labels(items)}
    edges = np.histogram_bin_edges(np.concatenate(list(values.values())), BINS)
    drawn = go.Figure()
    for k, (label, some) in enumerate(values.items()):
        shares = np.histogram(some, edges)[0] / len(some)
        colour = plots.COLOURS[k % len(plots.COLOURS)]
        drawn.add_trace(go.Scatter(x=(edges[:-1] + edges[1:]) / 2, y=shares, name=label, line={"color": colour}))
    drawn.update_xaxes(title_text="shortcut score gamma")
    drawn.update_yaxes(title_text="share of documents")
    return plots.laid_out(drawn, 320)


def _beside(found: Mapping[str, Items]) -> str:
    """The first data set's n-grams, and what became of them in the others."""
    first = next(iter(found))
    body = ""
    for label in _labels(found[first]):
        rows = [
            [gram, *(_cell(items.get(f"lmi/{label}/{gram}")) for items in found.values())]
            for gram in _grams(found[first], label)
        ]
        body += f"<p><b>{html.escape(label)}</b></p>" + table(["n-gram", *found], rows)
    note = (
        "<p class='note'>LMI x 1e6 and share of occurrences with the label, of the n-grams that stand out in "
        f"{html.escape(first)}; empty where one is not among those that stand out.</p>"
    )
    return section("Shortcuts before and after", body + note)


def _cell(values: NDArray[np.floating] | None) -> str:
    return "" if values is None else f"{values[0]:.0f} ({100 * values[1]:.0f} %)"
