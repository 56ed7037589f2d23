"""Equalised odds (equalized odds): gaps between slices in the true and false positive rates.

Source: Hardt et al. 2016, "Equality of Opportunity in Supervised Learning".
Shape letters: N examples, K slices, B rows of weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlab.metrics.sliced_averages import SAFE, UNSAFE, largest_gap, sliced_averages

Array = NDArray[np.float64]


def equalised_odds_gap(
    scores: ArrayLike,
    slices: ArrayLike,
    truth: ArrayLike,
    threshold: float,
    count: int,
    weights: ArrayLike | None = None,
) -> Array:
    """Return the larger of the gaps between slices in true and false positive rate, in [0, 1]; 0 is fair.

    A true label with examples in fewer than two slices is ignored. The result is NaN if this applies to both labels.
    """
    named = np.asarray(scores) >= threshold
    gaps = np.stack(
        [largest_gap(sliced_averages(named, slices, truth, of, count, weights)[0]) for of in (SAFE, UNSAFE)]
    )
    return np.where(np.isnan(gaps).all(axis=0), np.nan, np.nan_to_num(gaps, nan=-np.inf).max(axis=0))
