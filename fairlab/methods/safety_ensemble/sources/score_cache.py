"""Cache of source scores in one file, keyed by the text and the version of the source."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairlab.types import FairlabError

AT_ONCE = 500  # keys per query
VALUE = np.dtype(np.float64)
IN_MEMORY = ":memory:"  # SQLite's name of a file that exists only in memory


class Named(Protocol):
    """Source attributes that the cache needs."""

    name: str
    version: str
    outputs: tuple[str, ...]


class ScoreCache:
    """Cache of scores that several processes can read and write.

    It stores hashes of the texts instead of the texts.

    Args:
        path: Path of the file, which is created if missing; or :data:`IN_MEMORY`.

    Raises:
        FairlabError: The file is not a cache of scores.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        with self._one_sentence():
            self.connection = sqlite3.connect(path, timeout=60)
            self.connection.execute("CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, value BLOB)")

    @contextmanager
    def _one_sentence(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise FairlabError(
                f"{self.path} is not a cache of scores, or it is damaged; give another cache file, or remove this one"
            ) from error

    def read(self, source: Named, texts: Sequence[str]) -> dict[int, NDArray[np.float64]]:
        """Return the cached scores of texts, by the texts' positions."""
        place = {self._key(source, text): k for k, text in enumerate(texts)}
        keys = list(place)
        held: dict[int, NDArray[np.float64]] = {}
        for start in range(0, len(keys), AT_ONCE):
            part = keys[start : start + AT_ONCE]
            query = f"SELECT key, value FROM scores WHERE key IN ({','.join('?' * len(part))})"
            with self._one_sentence():
                for key, value in self.connection.execute(query, part):
                    # Anything else comes from a damaged file and is computed again.
                    if isinstance(value, bytes) and len(value) == VALUE.itemsize * len(source.outputs):
                        held[place[key]] = np.frombuffer(value, VALUE)
        return held

    def write(self, source: Named, texts: Sequence[str], scores: NDArray[np.float64]) -> None:
        """Store scores (N, F), except rows with missing scores, which will be computed again."""
        whole = np.asarray(np.isfinite(scores).all(axis=1)).tolist()
        rows = [
            (self._key(source, text), np.ascontiguousarray(row).tobytes())
            for text, row, kept in zip(texts, scores, whole, strict=True)
            if kept
        ]
        with self._one_sentence(), self.connection:
            self.connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows)

    @staticmethod
    def _key(source: Named, text: str) -> bytes:
        of = "\0".join([source.name, source.version, *source.outputs, text])
        return hashlib.sha256(of.encode("utf-8", "surrogatepass")).digest()
