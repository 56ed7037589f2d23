"""Perplexity over texts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairlab.metrics.bootstrap import ratio_of_means


def perplexity(
    log_likelihoods: NDArray[np.floating], tokens: NDArray[np.floating], axis: int = -1
) -> NDArray[np.floating]:
    """Return the exponential of the mean negative log-likelihood per token, from sums and token counts."""
    return np.exp(-ratio_of_means(log_likelihoods, tokens, axis=axis))
