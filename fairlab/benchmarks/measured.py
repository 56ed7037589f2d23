"""Readings with their interval, from per-item samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.metrics.bootstrap import Statistic, bootstrap_interval
from fairlab.record import Outcome, Reading


class Benchmark(Protocol):
    """What a training run asks of a benchmark."""

    name: str

    def measure(self, backbone: Backbone, before: Mapping[str, NDArray[np.float32]] | None = None) -> Outcome:
        """Measure a backbone; ``before`` holds the ``items`` of an earlier measurement, for paired readings."""
        ...


def measured(
    statistic: Statistic,
    *samples: ArrayLike,
    benchmark: str,
    subset: str,
    quantity: str,
    unit: str,
    ideal: float | None,
    headline: bool = False,
) -> Reading:
    """A reading: the statistic of the samples, its bootstrap interval over their items, and their number."""
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    low, high = bootstrap_interval(statistic, *arrays)
    value = float(statistic(*arrays))
    return Reading(benchmark, subset, quantity, value, unit, ideal, len(arrays[0]), low, high, headline=headline)
