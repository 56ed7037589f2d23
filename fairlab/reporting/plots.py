"""Plots of a run, as plotly figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from fairlab.record import Reading
from fairlab.reporting.headlines import title, wrapped
from fairlab.types import NEUTRAL

BEFORE, AFTER = "#9aa5b1", "#1f6f8b"
# Colour-blind safe (Okabe and Ito); neutral is grey, further attributes take the next colour.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
NEUTRAL_COLOUR = "#7f7f7f"
MAX_PROJECTED = 150
BARS_PER_LINE = 4

Array = NDArray[np.floating]


def laid_out(figure: go.Figure, height: int) -> go.Figure:
    """The figure with the look that all figures share."""
    figure.update_layout(
        height=height,
        template="plotly_white",
        margin={"l": 60, "r": 20, "t": 70, "b": 50},
        font={"family": "system-ui, sans-serif", "size": 13},
        legend={"orientation": "h", "y": -0.25},
    )
    return figure


def bars(rows: Sequence[Mapping[str, Reading]]) -> go.Figure:
    """Headline readings of every model or phase with their 95 % intervals, each reading on its own axis."""
    first = [next(iter(row.values())) for row in rows]
    titles = [wrapped(title(reading)) for reading in first]
    lines = math.ceil(len(rows) / BARS_PER_LINE)
    figure = make_subplots(
        rows=lines, cols=min(len(rows), BARS_PER_LINE), subplot_titles=titles, vertical_spacing=0.35 / lines
    )
    phases = list(dict.fromkeys(phase for row in rows for phase in row))
    colours = dict(zip(phases, [BEFORE, AFTER, *COLOURS], strict=False))
    for place, row in enumerate(rows):
        where = {"row": place // BARS_PER_LINE + 1, "col": place % BARS_PER_LINE + 1}
        for phase, reading in row.items():
            error = {
                "type": "data",
                "symmetric": False,
                "array": [reading.high - reading.value],
                "arrayminus": [reading.value - reading.low],
            }
            bar = go.Bar(
                x=[phase],
                y=[reading.value],
                error_y=error,
                name=phase,
                marker_color=colours[phase],
                showlegend=False,
                text=[f"{reading.value:.3g}"],
                textposition="inside",
                insidetextanchor="start",
            )
            figure.add_trace(bar, **where)
        figure.update_yaxes(title_text=first[place].unit, **where)
    return laid_out(figure, 80 + 300 * lines).update_layout(margin_t=90)  # room for titles of three lines


def curves(history: Sequence[dict[str, float]]) -> go.Figure:
    """Loss and its parts over training steps, training as lines and validation as points."""
    figure = go.Figure()
    parts = dict.fromkeys(name.partition("/")[2] for row in history for name in row if name.endswith("loss"))
    for part, colour in zip(parts, COLOURS, strict=False):
        for split, mode in (("train", "lines"), ("validation", "markers")):
            rows = [(row["step"], row[f"{split}/{part}"]) for row in history if f"{split}/{part}" in row]
            if rows:
                steps, values = zip(*rows, strict=True)
                marker = {"size": 10, "symbol": "diamond"}
                figure.add_trace(
                    go.Scatter(
                        x=steps,
                        y=values,
                        mode=mode,
                        name=f"{split} {part.replace('_', ' ')}",
                        line={"color": colour, "width": 1.5},
                        marker=marker,
                    )
                )
    figure.update_xaxes(title_text="training step")
    figure.update_yaxes(title_text="loss", rangemode="tozero")
    return laid_out(figure, 380)


def rounds(history: Sequence[Mapping[str, float]]) -> go.Figure:
    """Union polarity accuracy, and share of texts rewritten, over the rounds of prompt search."""
    figure = go.Figure()
    names = {"accuracy": "union polarity accuracy", "rewritten": "texts the model rewrote"}
    for (key, name), colour in zip(names.items(), COLOURS, strict=False):
        figure.add_trace(
            go.Scatter(
                x=[row["round"] for row in history],
                y=[row[key] for row in history],
                mode="lines+markers",
                name=name,
                line={"color": colour},
            )
        )
    figure.update_xaxes(title_text="round", dtick=1)
    figure.update_yaxes(title_text="%", range=[0, 105])
    return laid_out(figure, 380)


def objective(history: Sequence[Mapping[str, float]]) -> go.Figure:
    """The objective of RAZOR and the negations in all texts over its rounds, each on an axis of its own."""
    names = {"objective": "mean similarity across labels", "negations": "negations in all texts"}
    figure = make_subplots(rows=1, cols=2, subplot_titles=list(names.values()))
    for column, (key, colour) in enumerate(zip(names, COLOURS, strict=False), start=1):
        line = go.Scatter(
            x=[row["round"] for row in history],
            y=[row[key] for row in history],
            mode="lines+markers",
            showlegend=False,
            line={"color": colour},
        )
        figure.add_trace(line, row=1, col=column)
        figure.update_xaxes(title_text="round", row=1, col=column)
    return laid_out(figure, 340)


def sweep(name: str, values: Sequence[float], columns: Mapping[str, Sequence[tuple[float, float, float]]]) -> go.Figure:
    """Readings as (value, low, high) against a setting, each on an axis of its own."""
    figure = make_subplots(rows=1, cols=len(columns), subplot_titles=list(columns))
    for place, (column, points) in enumerate(columns.items(), start=1):
        centre, low, high = (np.array(part) for part in zip(*points, strict=True))
        error = {"type": "data", "symmetric": False, "array": high - centre, "arrayminus": centre - low}
        line = go.Scatter(x=list(values), y=centre, error_y=error, mode="lines+markers", name=column, showlegend=False)
        line.line.color = COLOURS[(place - 1) % len(COLOURS)]
        figure.add_trace(line, row=1, col=place)
        figure.update_xaxes(title_text=name, row=1, col=place)
    return laid_out(figure, 380)


def distance_scatter(attributes: Sequence[str], before: Array, after: Array, texts: Sequence[str]) -> go.Figure:
    """Distance to neutral of the first attribute against the second, one point a group; the diagonal is fair."""
    figure = go.Figure()
    for distances, name, colour in ((before, "before", BEFORE), (after, "after", AFTER)):
        figure.add_trace(
            go.Scatter(
                x=distances[:, 0],
                y=distances[:, 1],
                mode="markers",
                name=name,
                text=list(texts),
                marker={"color": colour, "size": 7, "opacity": 0.7},
                hovertemplate="%{text}<br>%{x:.3f}, %{y:.3f}<extra>" + name + "</extra>",
            )
        )
    top = float(max(before.max(), after.max())) * 1.05
    figure.add_trace(
        go.Scatter(x=[0, top], y=[0, top], mode="lines", name="equal distance", line={"color": "#444", "dash": "dot"})
    )
    figure.update_xaxes(title_text=f"distance of '{attributes[0]}' to neutral", range=[0, top])
    figure.update_yaxes(title_text=f"distance of '{attributes[1]}' to neutral", range=[0, top])
    return laid_out(figure, 480)


def offsets(before: Array, after: Array) -> tuple[Array, Array]:
    """First two principal components of f(S^a) - f(S^n), fitted before, applied to both: (N, 1 + A, 2)."""
    centred = [embeddings - embeddings[:, :1] for embeddings in (before, after)]
    _, _, directions = np.linalg.svd(centred[0].reshape(-1, before.shape[-1]), full_matrices=False)
    return centred[0] @ directions[:2].T, centred[1] @ directions[:2].T


def tsne(before: Array, after: Array, seed: int) -> tuple[Array, Array]:
    """One t-SNE map of the embeddings before and after together, as in figure 2 of the CCD paper."""
    from sklearn.manifold import TSNE

    stacked = np.concatenate([before, after])
    flat = stacked.reshape(-1, before.shape[-1])
    points = TSNE(perplexity=min(30, (len(flat) - 1) / 3), init="pca", random_state=seed).fit_transform(flat)
    shaped = points.reshape(*stacked.shape[:-1], 2)
    return shaped[: len(before)], shaped[len(before) :]


def projection(attributes: Sequence[str], before: Array, after: Array, texts: Sequence[Sequence[str]]) -> go.Figure:
    """Two panels on one scale, before and after, of points (N, 1 + A, 2): a colour per version, text on hover."""
    figure = make_subplots(rows=1, cols=2, subplot_titles=["before", "after"], shared_xaxes="all", shared_yaxes="all")
    names = [NEUTRAL, *attributes]
    colours = [NEUTRAL_COLOUR, *(COLOURS[k % len(COLOURS)] for k in range(len(attributes)))]
    for column, points in enumerate((before, after), start=1):
        for version in [*range(1, len(names)), 0]:
            figure.add_trace(
                go.Scatter(
                    x=points[:, version, 0],
                    y=points[:, version, 1],
                    mode="markers",
                    name=names[version],
                    legendgroup=names[version],
                    showlegend=column == 1,
                    text=[row[version] for row in texts],
                    hovertemplate="%{text}<extra>" + names[version] + "</extra>",
                    marker={"color": colours[version], "size": 6, "opacity": 0.75},
                ),
                row=1,
                col=column,
            )
    return laid_out(figure, 460)


def lines(setting: str, readings: Mapping[str, Mapping[str, Sequence[tuple[float, float, float, float]]]]) -> go.Figure:
    """Readings as (setting, value, low, high) in lines by name, each reading on an axis of its own."""
    rows = math.ceil(len(readings) / 2)
    figure = make_subplots(
        rows=rows, cols=min(len(readings), 2), subplot_titles=[wrapped(name, 50) for name in readings]
    )
    for place, of_reading in enumerate(readings.values()):
        where = {"row": place // 2 + 1, "col": place % 2 + 1}
        for number, (name, points) in enumerate(of_reading.items()):
            if not points:
                continue
            x, centre, low, high = (np.array(part) for part in zip(*points, strict=True))
            error = {"type": "data", "symmetric": False, "array": high - centre, "arrayminus": centre - low}
            colour = COLOURS[number % len(COLOURS)]
            line = go.Scatter(x=x, y=centre, error_y=error, mode="lines+markers", name=name, line={"color": colour})
            line.update(legendgroup=name, showlegend=place == 0 and len(of_reading) > 1)
            figure.add_trace(line, **where)
        figure.update_xaxes(title_text=setting, **where)
    return laid_out(figure, 60 + 300 * rows)


def trade_off(
    names: Sequence[str], points: Sequence[tuple[float, float]], texts: Sequence[str], front: Sequence[int]
) -> go.Figure:
    """Distances to the ideal of two readings against each other; the places in ``front`` are joined."""
    figure = go.Figure()
    x, y = zip(*points, strict=True)
    marker = {"color": BEFORE, "size": 9}
    figure.add_trace(go.Scatter(x=x, y=y, mode="markers", text=list(texts), name="runs", marker=marker))
    figure.add_trace(
        go.Scatter(
            x=[x[k] for k in front],
            y=[y[k] for k in front],
            mode="lines+markers",
            text=[texts[k] for k in front],
            name="no other is nearer in both",
            line={"color": COLOURS[1], "shape": "hv"},
            marker={"size": 10},
        )
    )
    figure.update_xaxes(title_text=wrapped(f"{names[0]}, distance to ideal", 90), rangemode="tozero")
    figure.update_yaxes(title_text=wrapped(f"{names[1]}, distance to ideal", 45), rangemode="tozero")
    return laid_out(figure, 440)


def parallel(settings: Mapping[str, Sequence[str]], readings: Mapping[str, Sequence[float]]) -> go.Figure:
    """A line for each run through its settings, in the order they were given, and its readings."""
    axes: list[dict[str, object]] = []
    for name, values in settings.items():
        ticks = list(dict.fromkeys(values))
        places = [ticks.index(value) for value in values]
        axes.append({"label": name, "values": places, "tickvals": list(range(len(ticks))), "ticktext": ticks})
    axes += [{"label": wrapped(name), "values": list(values)} for name, values in readings.items()]
    colour = {"color": next(iter(readings.values())), "colorscale": "Viridis", "showscale": True}
    drawn = go.Figure(go.Parcoords(dimensions=axes, line=colour, labelside="bottom"))
    return laid_out(drawn, 460).update_layout(margin_b=100)  # room for names of several lines
