"""Utility of embeddings: Spearman correlation of cosines with human similarity on STS-B.

Source: Cer et al. 2017, "SemEval-2017 Task 1"; the zero-shot protocol usual for sentence encoders.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.readings import Items, Quantity, evenly, outcome, quantity
from fairlab.data.published.download import locate
from fairlab.data.published.stsb import read_sts
from fairlab.metrics.classification import spearman
from fairlab.record import NotRun, Outcome
from fairlab.types import DataUnavailable


class STSB:
    """Spearman correlation, times 100, on the development pairs.

    Args:
        path: path of ``dev.tsv``; None takes ``FAIRLAB_DATA`` or a download.
        limit: most pairs, spread evenly over the file; None takes all.
    """

    version: ClassVar[int] = 1

    name = "stsb"

    def __init__(self, path: str | None = None, limit: int | None = None) -> None:
        self.path = path
        self.limit = limit

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure; ``before`` holds the ``items`` of an earlier measurement."""
        try:
            pairs = evenly(read_sts(locate("glue/STS-B/dev.tsv", self.path)), self.limit)
        except DataUnavailable as error:
            return Outcome(not_run=[NotRun(self.name, "dev", str(error))])
        texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
        first, second = backbone.embed(texts, progress=self.name).chunk(2)
        cosines = torch.cosine_similarity(first, second, dim=-1).numpy()
        scores = np.array([pair.score for pair in pairs])
        earlier = [_quantity(before["cosines"], scores)] if before else []
        return outcome(self.name, [_quantity(cosines, scores)], earlier, items={"cosines": cosines})


def _quantity(cosines: NDArray[np.floating], scores: NDArray[np.floating]) -> Quantity:
    return quantity(
        spearman_points,
        cosines,
        scores,
        subset="dev",
        name="spearman",
        unit="Spearman x 100",
        ideal=100.0,
        headline=True,
    )


def spearman_points(
    cosines: NDArray[np.floating], scores: NDArray[np.floating], axis: int = -1
) -> NDArray[np.floating]:
    """Spearman correlation times 100."""
    return 100 * spearman(cosines, scores, axis)
