"""Checks of the scores from which an ensemble is trained.

Shape letters: N texts, F source scores.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fairlab.methods.safety_ensemble.model import Array
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores
from fairlab.types import FairlabError

FEWEST = 20  # minimum number of texts on which a score that equals the label is taken for the label


def refuse_silent_sources(sources: Sources, scores: Array) -> None:
    """Raise an error if a source, such as a file with scores of other texts, has no score for any text.

    Args:
        sources: Sources of the scores.
        scores: Scores of the texts, (N, F), with NaN for missing scores.

    Raises:
        FairlabError: A source has no score for any text.
    """
    start = 0
    for source in sources.sources:
        end = start + len(source.outputs)
        if np.isnan(scores[:, start:end]).all():
            raise silent(source, len(scores))
        start = end


def silent(source: Source, count: int) -> FairlabError:
    """Return the error for a source without a score for any of ``count`` texts."""
    return FairlabError(
        f"the source {source.name} has no score of any of the {count:,} texts; give scores of these texts, or leave it "
        "out"
    )


def refuse_labels_as_scores(sources: Sources, scores: Array, truth: Mapping[str, NDArray[np.int64]]) -> None:
    """Raise an error if a stored score equals the label of a harm for all of at least :data:`FEWEST` texts.

    A table of stored scores may also contain the labels, and models that read the labels would seem perfect. Other
    sources cannot read the labels.

    Args:
        sources: Sources of the scores.
        scores: Scores of the texts, (N, F), with NaN for missing scores.
        truth: Labels of each harm, (N,), with -1 for unlabelled texts.

    Raises:
        FairlabError: A score equals a label.
    """
    stored = tuple(f"{source.name}." for source in sources.sources if isinstance(source, StoredScores))
    for harm, labels in truth.items():
        for name, column in zip(sources.features, scores.T, strict=True):
            if not name.startswith(stored):
                continue
            known = (labels >= 0) & ~np.isnan(column)
            if known.sum() >= FEWEST and (column[known] == labels[known]).all():
                raise FairlabError(
                    f"the score {name} equals the label of {harm} for all {known.sum():,} texts, as if it were the "
                    "label; name the columns of scores by source.stored.outputs=[NAME,NAME], or leave the source out"
                )
