"""Several sources combined into one: each text is scored once, in batches, with a cache.

Shape letters: N texts, F scores of a source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from fairlab.checks.time_limits import TooSlow, time_limit
from fairlab.methods.safety_ensemble.sources.base import LONGEST, Array, Source
from fairlab.methods.safety_ensemble.sources.score_cache import ScoreCache
from fairlab.types import FairlabError

SECONDS = 5.0  # maximum time that a source may take for a text
SHORT = 2_000  # maximum characters of a text in a batch; a longer text could delay the others
MOST_FAILED = 10  # maximum number of failing texts in a batch before the source is abandoned
BATCH = 2_000  # number of texts sent to a source at a time, after which the cache is written


class Sources:
    """Combination of several sources, which joins all scores of each text.

    A text is scored once, however often it occurs, and a cached text is not scored again. Texts are truncated to
    :data:`LONGEST` characters. If a source fails on a text, the score is missing. If it fails on all texts of a batch,
    or on more than a few, an error is raised.

    Args:
        sources: At least one source, all with different names.
        cache: File that caches the scores of texts; None disables the cache.

    Attributes:
        features: Names of all scores, ``source.output``.
        seconds: Maximum time that a source may take for a text; if it is slower, the score is missing.
        missing: Number of missing scores of each source so far.
        cut: Number of texts truncated so far.

    Raises:
        FairlabError: There are no sources, or two have the same name. In ``score``, a source fails on too many texts or
            returns scores of a wrong shape.
    """

    def __init__(self, sources: Sequence[Source], *, cache: str | Path | None = None) -> None:
        names = [source.name for source in sources]
        if not names or len(set(names)) < len(names):
            raise FairlabError(f"the ensemble needs sources of different names, not: {', '.join(names) or 'none'}")
        self.sources = list(sources)
        self.cache = ScoreCache(Path(cache)) if cache is not None else None
        self.features = [f"{source.name}.{output}" for source in sources for output in source.outputs]
        self.seconds = SECONDS
        self._warm: set[str] = set()  # sources that have certainly loaded their weights
        self.missing: dict[str, int] = dict.fromkeys(names, 0)
        self.cut = 0

    def score(self, texts: Sequence[str], *, turned: bool = False) -> Array:
        """Return the scores of all sources, (N, sum of F), with NaN for missing scores.

        Args:
            texts: N texts to score.
            turned: Whether the texts are rewrites to reference groups, which some sources do not score.
        """
        shortened = [text[:LONGEST] for text in texts]
        distinct = list(dict.fromkeys(shortened))
        place = {text: k for k, text in enumerate(distinct)}
        rows = np.array([place[text] for text in shortened], dtype=np.int64)
        columns = [
            np.full((len(distinct), len(source.outputs)), np.nan)
            if turned and not getattr(source, "asks_of_turned", True)
            else self._score_source(source, distinct)
            for source in self.sources
        ]
        if not turned:
            self.cut += sum(len(text) > LONGEST for text in texts)
            for source, found in zip(self.sources, columns, strict=True):
                self.missing[source.name] += int(np.isnan(found).any(axis=1).sum())
        return np.concatenate(columns, axis=1)[rows] if distinct else np.empty((0, len(self.features)))

    def _score_source(self, source: Source, texts: list[str]) -> Array:
        scores = np.full((len(texts), len(source.outputs)), np.nan)
        held = self.cache.read(source, texts) if self.cache else {}
        for k, row in held.items():
            scores[k] = row
        asked = [k for k in range(len(texts)) if k not in held]
        for start in range(0, len(asked), BATCH):
            part = asked[start : start + BATCH]
            scores[part] = self._score_batch(source, [texts[k] for k in part])
            if self.cache:
                self.cache.write(source, [texts[k] for k in part], scores[part])
        return scores

    def _score_batch(self, source: Source, texts: list[str]) -> Array:
        """Score a batch, with NaN for texts on which the source fails or takes too long."""
        failed: list[Exception] = []
        scores = np.full((len(texts), len(source.outputs)), np.nan)
        short = [k for k, text in enumerate(texts) if len(text) <= SHORT]
        for places in ([short] if short else []) + [[k] for k, text in enumerate(texts) if len(text) > SHORT]:
            scores[places] = self._try_score(source, [texts[k] for k in places], failed)
        if failed and len(failed) == len(texts):
            raise _failure(source, texts, failed[0])
        return scores

    def _try_score(self, source: Source, texts: list[str], failed: list[Exception]) -> Array:
        try:
            with nullcontext() if getattr(source, "own_limit", False) else time_limit(self.seconds * len(texts)):
                scores = np.asarray(source.score(texts), dtype=np.float64)
        except FairlabError:
            raise
        except Exception as error:
            if isinstance(error, TooSlow) and source.name not in self._warm:
                self._warm.add(source.name)
                source.score(["a text"])  # the delay may be due to loading the weights instead of a text
                return self._try_score(source, texts, failed)
            if len(texts) == 1 and isinstance(error, TooSlow):
                return np.full((1, len(source.outputs)), np.nan)
            if len(texts) == 1:
                failed.append(error)
                return np.full((1, len(source.outputs)), np.nan)
            if len(failed) >= MOST_FAILED:
                raise _failure(source, texts, error) from error
            half = len(texts) // 2
            return np.concatenate([self._try_score(source, part, failed) for part in (texts[:half], texts[half:])])
        if scores.shape != (len(texts), len(source.outputs)):
            raise FairlabError(
                f"the source {source.name} gave scores of shape {scores.shape} for {len(texts)} texts and "
                f"{len(source.outputs)} outputs; it must give one row per text"
            )
        return scores

    def facts(self) -> dict[str, object]:
        """Return the versions and outputs of the sources, and a hash of both."""
        versions = {source.name: source.version for source in self.sources}
        return {
            "sources": versions,
            "features": self.features,
            "sha256": hashlib.sha256(repr((versions, self.features)).encode()).hexdigest(),
        }


def _failure(source: Source, texts: list[str], error: Exception) -> FairlabError:
    return FairlabError(
        f"the source {source.name} failed on {len(texts)} texts ({type(error).__name__}: "
        f"{' '.join(str(error).split())[:200]}); the scores so far are in the cache; fix the source or "
        "leave it out"
    )
