"""Source classifiers: texts to named scores, whatever makes them.

Shape letters: N texts, F scores of a source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairlab.data.stream.formats import BadRow, found_in
from fairlab.files import sha256
from fairlab.methods.safety_ensemble.sources.cache import ScoreCache
from fairlab.methods.safety_ensemble.sources.word_classifier import WordClassifier, read_classifier
from fairlab.text.reading import read_table_rows, text_lines
from fairlab.text.words import TermFinder, word_pieces
from fairlab.types import DataUnavailable, FairlabError, need_extra

Array = NDArray[np.float64]
LONGEST = 20_000  # characters of a text that are scored; a classifier reads far fewer
MOST_FAILED = 10  # texts of a batch that a source may fail on, one by one, before it is given up
BATCH = 2_000  # texts handed to a source at a time, after which the cache is written
LISTS = Path(__file__).parent / "lists"  # word lists that come with fairlab
BUILT_IN = ("violence",)


class Source(Protocol):
    """What the ensemble asks of a classifier.

    Attributes:
        name: name of the source, unique within an ensemble.
        version: version of the source's weights or of whoever makes the scores; scores of another version are never
            mixed with these.
        outputs: names of the F scores.
    """

    name: str
    version: str
    outputs: tuple[str, ...]

    def score(self, texts: Sequence[str]) -> Array:
        """Scores (N, F); a row of nan for a text that it cannot score."""
        ...


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


class Profanity:
    """Probability that a text is offensive, by alt-profanity-check: a linear SVM on weighted words, calibrated.

    The package's weights are read where it is installed, and its code is not run: it would import scikit-learn.

    Raises:
        FairlabError: the package is not installed; in ``score``, when its files are not those expected.
    """

    name = "profanity"
    outputs = ("offensive",)

    def __init__(self) -> None:
        need_extra("safety", f"the source {self.name}", "profanity_check")
        self.version = metadata.version("alt-profanity-check")

    @cached_property
    def classifier(self) -> WordClassifier:
        """Reads the weights when it is first asked for."""
        found = find_spec("profanity_check")
        assert found is not None
        assert found.origin is not None
        return read_classifier(Path(found.origin).parent / "data")

    def score(self, texts: Sequence[str]) -> Array:
        """Scores (N, 1) in [0, 1]."""
        return self.classifier(texts)[:, None]


class Sentiment:
    """Sentiment by VADER's word list and rules; no safety classifier, but harm to somebody sounds negative.

    Raises:
        FairlabError: the package is not installed.
    """

    name = "sentiment"
    outputs = ("negative", "neutral", "positive", "compound")

    def __init__(self) -> None:
        need_extra("safety", f"the source {self.name}", "vaderSentiment")
        self.version = metadata.version("vaderSentiment")

    @cached_property
    def analyser(self) -> Any:
        """Reads the word list when it is first asked for."""
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

        return SentimentIntensityAnalyzer()

    def score(self, texts: Sequence[str]) -> Array:
        """Scores (N, 4): shares of words in [0, 1], and their sum in [-1, 1]."""
        found = [self.analyser.polarity_scores(text) for text in texts]
        return np.array([[one[key] for key in ("neg", "neu", "pos", "compound")] for one in found])


class WordList:
    """Share of a text's words that a list holds, and whether it holds any.

    Args:
        path: path of a file of one term a line, in which a line that begins with ``# `` says something of the list; or
            the name of a list that comes with fairlab: ``violence``.
        name: name of the source, unique within an ensemble.

    Raises:
        DataUnavailable: there is no such file.
        FairlabError: it holds no term.
    """

    outputs = ("share", "any")

    def __init__(self, *, path: str, name: str = "word_list") -> None:
        self.name = name
        file = LISTS / f"{path}.txt" if path in BUILT_IN else Path(path)
        if not file.is_file():
            raise DataUnavailable(f"{path} is no word list; give a file of one term a line, or {', '.join(BUILT_IN)}")
        terms = [line for line in text_lines(file) if word_pieces(line) and not line.startswith("# ")]
        if not terms:
            raise FairlabError(f"{file} holds no term; give a file of one term a line")
        self.finder = TermFinder(terms)
        self.version = sha256(file)

    def score(self, texts: Sequence[str]) -> Array:
        """Scores (N, 2) in [0, 1]."""
        counts = np.array([sum(1 for _ in self.finder.find(text)) for text in texts], dtype=np.float64)
        words = np.array([max(1, len(word_pieces(text))) for text in texts])
        return np.stack([np.minimum(counts / words, 1), counts > 0], axis=1)


class StoredScores:
    """Scores that were made elsewhere, such as by a closed API: a CSV or Parquet file with a column for the text.

    Args:
        path: path of the file; every column but that of the text holds one score.
        name: name of the source, unique within an ensemble.
        version: version of whoever made the scores; None takes the file's hash.
        column: name of the column that holds the text.
        outputs: names of the columns of scores to take; None takes all.

    Raises:
        DataUnavailable: there is no such file.
        FairlabError: it is no table, has no scores or lacks one of ``outputs``, a row without a text, or a text twice
            with different scores.
    """

    def __init__(
        self,
        *,
        path: str,
        name: str = "stored",
        version: str | None = None,
        column: str = "text",
        outputs: Sequence[str] | None = None,
    ) -> None:
        self.name = name
        file = Path(path)
        if not file.is_file():
            raise DataUnavailable(f"{path} is no file of scores; {how_to_store(column, outputs)}")
        self.version = version or sha256(file)
        rows = _table(file)
        if not rows or column not in rows[0] or len(rows[0]) < 2:
            raise FairlabError(f"{path} must hold rows with the column '{column}' and at least one column of scores")
        if missing := [name for name in outputs or () if name not in rows[0]]:
            raise FairlabError(f"{path} has no column '{missing[0]}'; {how_to_store(column, outputs)}")
        self.outputs = tuple(outputs or (key for key in rows[0] if key != column))
        self.held: dict[str, list[float]] = {}
        for number, row in enumerate(rows, start=1):
            if not row[column]:
                raise FairlabError(
                    f"{path}, row {number} has no text in the column '{column}'; put it in, or drop the row"
                )
            values = [_number(row[key], f"{path}, row {number}, column {key}") for key in self.outputs]
            if not np.array_equal(self.held.setdefault(str(row[column])[:LONGEST], values), values, equal_nan=True):
                raise FairlabError(f"{path}, row {number}: the text has other scores above; keep one of the rows")

    def score(self, texts: Sequence[str]) -> Array:
        """Scores (N, F); nan for a text that the file does not hold."""
        unknown = [np.nan] * len(self.outputs)
        return np.array([self.held.get(text, unknown) for text in texts], dtype=np.float64)


def how_to_store(column: str, outputs: Sequence[str] | None) -> str:
    """What a file of stored scores must hold, in words."""
    named = "its scores" if outputs is None else f"the scores {', '.join(outputs)}"
    return (
        f"score all texts of the data and their versions, and write a CSV or Parquet file with the column '{column}' "
        f"and {named}"
    )


def _table(file: Path) -> list[dict[str, Any]]:
    if file.suffix == ".parquet":
        return [item[1] for item in found_in(str(file))[""] if not isinstance(item, BadRow)]  # Parquet has no bad row
    return [row for _, row in read_table_rows(file)]


def _number(value: object, place: str) -> float:
    """A score; an empty cell is a missing one."""
    if value is None or value == "":
        return float("nan")
    try:
        return float(str(value))
    except ValueError as error:
        raise FairlabError(f"{place}: a score must be a number, not '{value}'") from error
