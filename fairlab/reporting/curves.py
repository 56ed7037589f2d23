"""Line charts of a training run over steps, or of an augmentation over rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlab.reporting.charts import Marks, Panel, figure
from fairlab.reporting.page import Figure


def training_curves(history: Sequence[Mapping[str, float]]) -> Figure:
    """Draw the loss and its components over training steps, as lines for training and points for validation."""
    parts = dict.fromkeys(name.partition("/")[2] for row in history for name in row if name.endswith("loss"))
    marks = []
    for colour, part in enumerate(parts):
        for split, kind, size in (("train", "line", 3.2), ("validation", "dots", 4.5)):
            rows = [(row["step"], row[f"{split}/{part}"]) for row in history if row.get(f"{split}/{part}") is not None]
            if rows:
                steps, values = zip(*rows, strict=True)
                marks.append(Marks(f"{split} {part.replace('_', ' ')}", steps, values, kind, colour, size=size))
    return figure([Panel("", marks, "training step", "loss", y_held=[0.0])])


def rounds(history: Sequence[Mapping[str, float]]) -> Figure:
    """Draw union polarity accuracy and the share of rewritten texts over the rounds of a prompt search."""
    names = {"accuracy": "union polarity accuracy", "rewritten": "texts the model rewrote"}
    x = [row["round"] for row in history]
    marks = [Marks(name, x, [row[key] for row in history], "both", k) for k, (key, name) in enumerate(names.items())]
    return figure([Panel("", marks, "round", "%", y_held=[0.0, 100.0])])


def objective(history: Sequence[Mapping[str, float]]) -> Figure:
    """Draw RAZOR's objective, the number of negations and the probe's gain over the rounds, in one panel each."""
    names = {
        "objective": "mean similarity across labels",
        "negations": "negations in all texts",
        "gain": "gain of a bag of words, points",
    }
    names = {key: name for key, name in names.items() if key in history[0]}
    x = [row["round"] for row in history]
    panels = [
        Panel(name, [Marks("", x, [row[key] for row in history], "both", k)], "round")
        for k, (key, name) in enumerate(names.items())
    ]
    return figure(panels)
