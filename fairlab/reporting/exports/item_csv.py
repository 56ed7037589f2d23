"""Export of item scores as a table that ``fairlab compare`` can read."""

from __future__ import annotations

import numpy as np

from fairlab.checks.escapes import as_csv, csv_cell
from fairlab.reporting.exports.measured_model import MeasuredModel
from fairlab.reporting.view.items import items_of

COLUMNS = ("id", "score", "task", "metric", "model", "text", "group")


def csv_files(model: MeasuredModel) -> dict[str, str]:
    """Return the content of the table by file name, or an empty dict if there are no scores.

    Scores that are not finite are left out.
    """
    rows = []
    for found in items_of(model.record):
        scores = found.scores.get(model.phase, np.zeros((0, 0)))
        for k, values in enumerate(scores):
            text = " ".join(found.texts[k]) if found.texts and found.free else ""
            group = found.groups[k] if found.groups else ""
            rows += [
                [found.ids[k], repr(float(value)), found.name, name, model.name, text, group]
                for name, value in zip(found.values, values, strict=True)
                if np.isfinite(value)
            ]
    if not rows:
        return {}
    return {"items.csv": as_csv([COLUMNS, *([csv_cell(row[0]), row[1], *map(csv_cell, row[2:])] for row in rows)])}
