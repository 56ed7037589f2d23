"""Checks of the scores from which an ensemble is trained.

Scores are arrays (N, F), with NaN for missing scores, and labels arrays (N,), with -1 for unlabelled texts. Shape
letters: N texts, F source scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairlab.data.safety_texts import SafetyText
from fairlab.methods.safety_ensemble.model import Array
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores
from fairlab.types import FairlabError

FEWEST = 20  # minimum number of texts on which a score that equals the label is taken for the label


def refuse_silent_sources(sources: Sources, scores: Array) -> None:
    """Raise FairlabError if a source, such as a file with scores of other texts, has no score for any text."""
    for source, missing in _missing_by_source(sources, scores):
        if missing.all():
            raise silent(source, len(scores), "leave it out")


def silent(source: Source, count: int, remedy: str) -> FairlabError:
    """Return the error for a source without a score for any of ``count`` texts."""
    return FairlabError(
        f"the source {source.name} has no score of any of the {count:,} texts; give scores of these texts, or {remedy}"
    )


def refuse_partly_covered_sets(sources: Sequence[Source], texts: Sequence[SafetyText], remedy: str) -> None:
    """Raise FairlabError if a source covers no text, or some texts of a counterfactual set but not the others.

    The median would replace the other scores, and the difference between the texts would count as bias. ``remedy`` ends
    the message.
    """
    for source in sources if texts else ():
        missing = np.array([not source.covers([text.text]) for text in texts], dtype=np.bool_)
        if missing.all():
            raise silent(source, len(texts), remedy)
        if partly := _mixed_sets(texts, missing):
            raise FairlabError(
                f"the source {source.name} has no score of {missing.sum():,} of {len(texts):,} texts; in "
                f"{len(partly):,} sets of versions (such as the set '{partly[0]}'), it has scores of only some texts, "
                "so the variance within a set would measure missing scores; add rows for these texts, with empty cells "
                f"for unknown scores, or {remedy}"
            )


def warn_of_mixed_sets(sources: Sources, texts: Sequence[SafetyText], scores: Array) -> list[str]:
    """Return a warning for each source that scored some texts of a counterfactual set but not the others."""
    found = []
    for source, missing in _missing_by_source(sources, scores):
        if partly := _mixed_sets(texts, np.asarray(missing.any(axis=1))):
            found.append(
                f"{source.name} lacks scores of some texts of {len(partly):,} counterfactual sets: medians replace "
                "them, and variances within sets (ACV) include this difference"
            )
    return found


def _missing_by_source(sources: Sources, scores: Array) -> Iterator[tuple[Source, NDArray[np.bool_]]]:
    """Yield each source, and whether each of its scores of each text is missing."""
    ends = np.cumsum([len(source.outputs) for source in sources.sources])
    yield from zip(sources.sources, np.split(np.isnan(scores), ends[:-1], axis=1), strict=True)


def _mixed_sets(texts: Sequence[SafetyText], missing: NDArray[np.bool_]) -> list[str]:
    """Return the names of the sets that have both texts without a score and texts with one."""
    found: dict[str, set[bool]] = {}
    for text, one in zip(texts, missing.tolist(), strict=True):
        found.setdefault(text.key, set()).add(one)
    return [key for key, kinds in found.items() if len(kinds) == 2]


def refuse_labels_as_scores(sources: Sources, scores: Array, truth: Mapping[str, NDArray[np.int64]]) -> None:
    """Raise FairlabError if a stored score equals the label of a harm for all of at least :data:`FEWEST` texts.

    A table of stored scores may also contain the labels, and models that read the labels would seem perfect. Other
    sources cannot read the labels.
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
