"""Utility of embeddings: Spearman correlation of cosines with human similarity scores on STS-B.

Source: Cer et al. 2017, "SemEval-2017 Task 1"; the zero-shot protocol that is usual for sentence encoders.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.classification import CORRELATIONS
from fairlab.benchmarks.readings import Items, Quantity, evenly, outcome, quantity
from fairlab.data.published.download import locate
from fairlab.data.published.stsb import ScoredPair, read_sts
from fairlab.metrics.classification import spearman
from fairlab.protocols import Benchmark
from fairlab.record import NotRun, Outcome
from fairlab.types import KEPT, DataUnavailable, Description, ItemTexts

SOURCE = "glue/STS-B/dev.tsv"
CITATION = """\
@inproceedings{cer2017semeval,
  title = {{SemEval}-2017 Task 1: Semantic Textual Similarity Multilingual and Crosslingual Focused Evaluation},
  author = {Cer, Daniel and Diab, Mona and Agirre, Eneko and Lopez-Gazpio, I{\\~n}igo and Specia, Lucia},
  booktitle = {Proceedings of the 11th International Workshop on Semantic Evaluation},
  year = {2017}
}
"""


class STSB(Benchmark):
    """Spearman correlation, times 100, on the development pairs.

    Args:
        path: Path of ``dev.tsv``; None to use ``FAIRLAB_DATA`` or a download.
        limit: Maximum number of pairs, spread evenly over the file; None for all.
    """

    version: ClassVar[int] = 1
    description = Description(
        "stsb",
        "STS-B",
        "Do cosines of embeddings agree with people's judgement of similarity?",
        {name: replace(CORRELATIONS[name], headline=name == "spearman") for name in ("spearman", "pearson")},
        topic=KEPT,
        citation=CITATION,
        needs=("embeddings",),
        sources=(SOURCE,),
    )

    def __init__(self, path: str | None = None, limit: int | None = None) -> None:
        self.path = path
        self.limit = limit

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure all pairs. ``before`` holds the ``items`` of an earlier measurement."""
        try:
            pairs = self._pairs()
        except DataUnavailable as error:
            return Outcome(not_run=[NotRun(self.name, "dev", str(error))])
        texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
        first, second = backbone.embed(texts, progress=self.name).chunk(2)
        cosines = torch.cosine_similarity(first, second, dim=1).numpy()
        scores = np.array([pair.score for pair in pairs])
        earlier = [_quantity(before["cosines"], scores)] if before else []
        return outcome(self.description, [_quantity(cosines, scores)], earlier, items={"cosines": cosines})

    def _pairs(self) -> list[ScoredPair]:
        return evenly(read_sts(locate(SOURCE, self.path)), self.limit)

    def texts(self) -> list[ItemTexts]:
        """Return both sentences of every pair."""
        pairs = self._pairs()
        ids = [f"{k + 1} (people: {pair.score:g} of 5)" for k, pair in enumerate(pairs)]
        return [ItemTexts("cosines", ["cosine"], ids, [[pair.first, pair.second] for pair in pairs])]


def _quantity(cosines: NDArray[np.floating], scores: NDArray[np.floating]) -> Quantity:
    return quantity(spearman_points, cosines, scores, subset="dev", name="spearman")


def spearman_points(
    cosines: NDArray[np.floating], scores: NDArray[np.floating], axis: int = -1
) -> NDArray[np.floating]:
    """Return the Spearman correlation times 100."""
    return 100 * spearman(cosines, scores, axis)
