"""Utility of embeddings: Spearman correlation of cosines with human similarity on STS-B.

Source: Cer et al. 2017, "SemEval-2017 Task 1"; the zero-shot protocol usual for sentence encoders.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.measured import measured
from fairlab.data.sources import locate
from fairlab.data.sts import read_sts
from fairlab.metrics.correlation import spearman
from fairlab.record import NotRun, Outcome
from fairlab.types import DataUnavailable


class STSB:
    """Spearman correlation, times 100, on the development pairs; ``spearman_change`` against an earlier measurement.

    Args:
        path: of ``dev.tsv``; None takes ``FAIRLAB_DATA`` or a download.
    """

    name = "stsb"

    def __init__(self, path: str | None = None) -> None:
        self.path = path

    def measure(self, backbone: Backbone, before: Mapping[str, NDArray[np.float32]] | None = None) -> Outcome:
        """Measure; ``before`` holds the ``items`` of an earlier measurement."""
        try:
            pairs = read_sts(locate("glue/STS-B/dev.tsv", self.path))
        except DataUnavailable as error:
            return Outcome(not_run=[NotRun(self.name, "dev", str(error))])
        texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
        first, second = backbone.embed(texts, progress="stsb").chunk(2)
        cosines = torch.cosine_similarity(first, second, dim=-1).numpy()
        scores = np.array([pair.score for pair in pairs])
        reading = partial(measured, benchmark=self.name, subset="dev", unit="Spearman x 100")
        readings = [reading(spearman_points, cosines, scores, quantity="spearman", ideal=100.0, headline=True)]
        if before:
            samples = (cosines, scores, before["cosines"])
            readings.append(reading(change, *samples, quantity="spearman_change", ideal=None))
        return Outcome(readings, items={"cosines": cosines})


def spearman_points(
    cosines: NDArray[np.floating], scores: NDArray[np.floating], axis: int = -1
) -> NDArray[np.floating]:
    """Spearman correlation times 100."""
    return 100 * spearman(cosines, scores, axis)


def change(
    cosines: NDArray[np.floating], scores: NDArray[np.floating], before: NDArray[np.floating], axis: int = -1
) -> NDArray[np.floating]:
    """Difference of two encoders' correlations with the same scores."""
    return spearman_points(cosines, scores, axis) - spearman_points(before, scores, axis)
