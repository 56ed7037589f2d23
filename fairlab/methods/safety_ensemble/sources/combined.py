"""Several sources as one: each text is scored once, in batches, with a cache.

Shape letters: N texts, F scores of a source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairlab.methods.safety_ensemble.sources.base import LONGEST, Array, Source
from fairlab.methods.safety_ensemble.sources.score_cache import ScoreCache
from fairlab.types import FairlabError

MOST_FAILED = 10  # texts of a batch that a source may fail on, one by one, before it is given up
BATCH = 2_000  # texts handed to a source at a time, after which the cache is written


class Sources:
    """Several sources as one: every text's scores side by side.

    A text is scored once, however often it occurs, and never again where a cache holds it. Texts are cut at
    :data:`LONGEST` characters. A text that a source fails on is a missing score; a source that fails on all texts of a
    batch, or on more than a few, gives up.

    Args:
        sources: at least one source, all of different names.
        cache: file of scores by content; None keeps none.

    Attributes:
        features: names of all scores, ``source.output``.
        missing: for each source, the number of scores so far that it could not give.
        cut: number of texts so far that were cut.

    Raises:
        FairlabError: there are no sources or two of one name; in ``score``, when a source gives up or gives scores of
            another shape.
    """

    def __init__(self, sources: Sequence[Source], *, cache: str | Path | None = None) -> None:
        names = [source.name for source in sources]
        if not names or len(set(names)) < len(names):
            raise FairlabError(f"the ensemble needs sources of different names, not: {', '.join(names) or 'none'}")
        self.sources = list(sources)
        self.cache = ScoreCache(Path(cache)) if cache is not None else None
        self.features = [f"{source.name}.{output}" for source in sources for output in source.outputs]
        self.missing: dict[str, int] = dict.fromkeys(names, 0)
        self.cut = 0

    def score(self, texts: Sequence[str]) -> Array:
        """Scores (N, sum of F), nan where a source has none for a text."""
        shortened = [text[:LONGEST] for text in texts]
        self.cut += sum(len(text) > LONGEST for text in texts)
        distinct = list(dict.fromkeys(shortened))
        place = {text: k for k, text in enumerate(distinct)}
        rows = np.array([place[text] for text in shortened], dtype=np.int64)
        columns = [self._of(source, distinct) for source in self.sources]
        return np.concatenate(columns, axis=1)[rows] if distinct else np.empty((0, len(self.features)))

    def _of(self, source: Source, texts: list[str]) -> Array:
        scores = np.full((len(texts), len(source.outputs)), np.nan)
        held = self.cache.read(source, texts) if self.cache else {}
        for k, row in held.items():
            scores[k] = row
        asked = [k for k in range(len(texts)) if k not in held]
        for start in range(0, len(asked), BATCH):
            part = asked[start : start + BATCH]
            scores[part] = self._asked(source, [texts[k] for k in part])
            if self.cache:
                self.cache.write(source, [texts[k] for k in part], scores[part])
        self.missing[source.name] += int(np.isnan(scores).any(axis=1).sum())
        return scores

    def _asked(self, source: Source, texts: list[str]) -> Array:
        """Scores of a batch; nan for the few texts that the source fails on, however it does."""
        failed: list[Exception] = []
        scores = self._tried(source, texts, failed)
        if failed and len(failed) == len(texts):
            raise _gave_up(source, texts, failed[0])
        return scores

    def _tried(self, source: Source, texts: list[str], failed: list[Exception]) -> Array:
        try:
            scores = np.asarray(source.score(texts), dtype=np.float64)
        except FairlabError:
            raise
        except Exception as error:
            if len(texts) == 1:
                failed.append(error)
                return np.full((1, len(source.outputs)), np.nan)
            if len(failed) >= MOST_FAILED:
                raise _gave_up(source, texts, error) from error
            half = len(texts) // 2
            return np.concatenate([self._tried(source, part, failed) for part in (texts[:half], texts[half:])])
        if scores.shape != (len(texts), len(source.outputs)):
            raise FairlabError(
                f"the source {source.name} gave scores of shape {scores.shape} for {len(texts)} texts and "
                f"{len(source.outputs)} outputs; it must give one row a text"
            )
        return scores

    def facts(self) -> dict[str, object]:
        """Versions and outputs of the sources, a hash of them, texts cut and scores missing."""
        versions = {source.name: source.version for source in self.sources}
        return {
            "sources": versions,
            "features": self.features,
            "sha256": hashlib.sha256(repr((versions, self.features)).encode()).hexdigest(),
        }


def _gave_up(source: Source, texts: list[str], error: Exception) -> FairlabError:
    return FairlabError(
        f"the source {source.name} gave up on {len(texts)} texts ({type(error).__name__}: "
        f"{' '.join(str(error).split())[:200]}); what was scored before is in the cache; mend the source or "
        "leave it out"
    )
