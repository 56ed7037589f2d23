"""Calibration: conversion of log odds to probabilities with a fitted line (Platt scaling).

Source: Platt 1999, "Probabilistic Outputs for Support Vector Machines".
Shape letters: N texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
UNCHANGED = (1.0, 0.0)


def calibration_line(logits_N: Array, truth_N: NDArray[np.int64]) -> tuple[float, float]:
    """Fit the line that maps a model's log odds to calibrated log odds.

    Args:
        logits_N: Log odds of a model.
        truth_N: True labels, 0 or 1.

    Returns:
        Slope and intercept. If all labels are equal or the fitted slope is not positive, slope and intercept are 1 and
        0, so log odds stay unchanged.
    """
    from sklearn.linear_model import LogisticRegression

    if len(set(truth_N)) < 2:
        return UNCHANGED
    line = LogisticRegression(C=1e6).fit(logits_N[:, None], truth_N)
    slope, intercept = float(line.coef_[0, 0]), float(line.intercept_[0])
    return (slope, intercept) if slope > 0 else UNCHANGED


def calibrated(logits_N: Array, slope: float, intercept: float) -> Array:
    """Return the calibrated probabilities (N,) of log odds (N,).

    Example:
        >>> calibrated(np.array([0.0, 2.0]), 1.0, -2.0).round(3).tolist()
        [0.119, 0.5]
    """
    return sigmoid(slope * logits_N + intercept)


def sigmoid(values: NDArray[Any]) -> NDArray[Any]:
    """Return the probabilities of log odds, without overflow.

    SciPy's function is not used, because importing it takes longer.

    Example:
        >>> sigmoid(np.array([-1e4, 0.0, 1e4])).tolist()
        [0.0, 0.5, 1.0]
    """
    return np.asarray(np.exp(-np.logaddexp(0, -values)))
