"""The mb-index of several runs, rescaled to the range of these runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairlab.metrics.mb_index import min_max
from fairlab.record import Record

MB_INDEX, NORMALISED = "after/mb_index/all/mb_index", "mb_index/all/normalised"


def add_normalised(records: Sequence[Record]) -> None:
    """Add the normalised mb-index to each record, in memory: 0 for the lowest value of all runs, 1 for the highest.

    The bounds of the interval are scaled in the same way and can be outside 0 to 1. No reading is added if a run has no
    mb-index, or if all runs have the same mb-index.
    """
    found = [record.reading(MB_INDEX) for record in records]
    readings = [reading for reading in found if reading is not None]
    values = [reading.value for reading in readings]
    if len(readings) < len(records) or len(set(values)) < 2:
        return
    for record, reading in zip(records, readings, strict=True):
        value, low, high = min_max([reading.value, reading.low, reading.high], among=values).tolist()
        scaled = replace(reading, quantity="normalised", unit="share of the range", value=value, low=low, high=high)
        record.readings.append(scaled)
