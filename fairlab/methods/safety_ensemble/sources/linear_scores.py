"""Linear scores of sentence vectors: classifiers trained on labelled texts, and directions in which texts differ.

Shape letters: N texts, D vector components, F scores.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.trust import loading
from fairlab.types import DataUnavailable, FairlabError

Array = NDArray[np.float64]
REMEDY = "make it with python -m experiments.ensemble.teach"


@dataclass(frozen=True)
class LinearScores:
    """Named linear functions of a sentence vector.

    Attributes:
        outputs: Names of the F scores.
        weights: Coefficients, (D, F).
        intercepts: Intercepts, (F,).
        encoder: SHA-256 of the weights of the encoder that computes the vectors.
    """

    outputs: tuple[str, ...]
    weights: Array
    intercepts: Array
    encoder: str

    def scores(self, vectors_ND: Array) -> Array:
        """Return the scores (N, F) for sentence vectors."""
        return np.asarray(vectors_ND @ self.weights + self.intercepts)


def read_linear(file: Path, encoder: str) -> LinearScores:
    """Read linear scores from a safetensors file.

    Args:
        file: File with the tensors ``weights`` and ``intercepts`` and the metadata ``outputs`` and ``encoder``.
        encoder: SHA-256 of the weights of the encoder in use.

    Raises:
        DataUnavailable: The file does not exist.
        FairlabError: The file contains no linear scores, or was made for another encoder.
    """
    from safetensors import safe_open

    if not file.is_file():
        raise DataUnavailable(f"{file} is not a file of linear scores; {REMEDY}, or set linear=null")
    with loading(f"the linear scores {file}"), safe_open(file, framework="numpy") as held:
        metadata = held.metadata() or {}
        tensors = {name: held.get_tensor(name) for name in held.keys()}  # noqa: SIM118
    outputs = _names(metadata.get("outputs"))
    weights, intercepts = tensors.get("weights"), tensors.get("intercepts")
    if (
        not outputs
        or weights is None
        or intercepts is None
        or weights.shape[1:] != intercepts.shape != ()
        or intercepts.shape != (len(outputs),)
        or not (np.isfinite(weights).all() and np.isfinite(intercepts).all())
    ):
        raise FairlabError(f"{file} holds no linear scores; {REMEDY}")
    if metadata.get("encoder") != encoder:
        raise FairlabError(f"{file} was made for another encoder; {REMEDY} for this one, or set linear=null")
    return LinearScores(outputs, weights.astype(np.float64), intercepts.astype(np.float64), encoder)


def _names(written: str | None) -> tuple[str, ...]:
    """Parse a JSON list of distinct names; return an empty tuple for anything else."""
    try:
        found: Sequence[object] = json.loads(written or "[]")
    except ValueError:
        return ()
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found) or len(set(found)) < len(found):
        return ()
    return tuple(map(str, found))
