"""Interactive figures of a run for loggers that display them; pages draw with :mod:`fairlab.reporting.charts`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairlab.record import Reading
from fairlab.reporting.headlines import title, wrapped

if TYPE_CHECKING:
    import plotly.graph_objects as go

BEFORE, AFTER = "#9aa5b1", "#1f6f8b"
# Colour-blind safe palette (Okabe and Ito).
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
BARS_PER_LINE = 4


def laid_out(figure: go.Figure, height: int) -> go.Figure:
    """Apply the common layout to a figure, and return the figure."""
    figure.update_layout(
        height=height,
        template="plotly_white",
        margin={"l": 60, "r": 20, "t": 70, "b": 50},
        font={"family": "system-ui, sans-serif", "size": 13},
        legend={"orientation": "h", "y": -0.25},
    )
    return figure


def bars(rows: Sequence[Mapping[str, Reading]]) -> go.Figure:
    """Draw the headline readings of every model or phase with 95 % intervals, each reading on its own axis."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

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
    """Draw the loss and its parts over training steps, with lines for training and points for validation."""
    import plotly.graph_objects as go

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
