"""Bootstrap that resamples both runs and items."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.metrics.bootstrap import RESAMPLES

Array = NDArray[np.float64]


def nested_draws(sums: ArrayLike, sizes: ArrayLike | None = None, seed: int = 0) -> Array:
    """Return bootstrap draws (2,000,) of a mean over runs and items, with the same resampled items for all runs.

    Args:
        sums: Value of each of S runs on each of N items, or sum over the parts of an item, (S, N).
        sizes: Number of parts of each item, (N,); None if each item has one part.
        seed: Seed of the resampling.
    """
    values = np.asarray(sums, dtype=np.float64)
    rows, columns = values.shape
    parts = np.ones(columns) if sizes is None else np.asarray(sizes, dtype=np.float64)
    rng = np.random.default_rng(seed)
    of_rows = rng.multinomial(rows, np.full(rows, 1 / rows), size=RESAMPLES)
    of_columns = rng.multinomial(columns, np.full(columns, 1 / columns), size=RESAMPLES)
    return np.asarray(((of_rows @ values) * of_columns).sum(axis=1) / (rows * (of_columns @ parts)))
