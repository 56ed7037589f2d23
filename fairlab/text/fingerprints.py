"""Hashes of texts, which show whether a model is evaluated on texts of its training data."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairlab.files import save_arrays
from fairlab.text.sentences import SENTENCE_END

FILE = "trained_on.safetensors"  # in a run's folder
WORDS = re.compile(r"\w+")
FEWEST = 3  # minimum number of words of a text; shorter ones occur in many collections by chance
MOST = 2**20  # maximum number of hashes kept
EVERY = 2**64 - 1
_BLANKS = {code: " " for code in range(128) if not WORDS.match(chr(code))}


def fingerprint(text: str) -> int | None:
    """Return a 64-bit hash of a text's words, or None if there are fewer than :data:`FEWEST`.

    Case, punctuation and blanks are ignored.

    Example:
        >>> fingerprint("He left  early.") == fingerprint("he left, early")
        True
    """
    return _hash(words_of(text))


def words_of(text: str) -> list[str]:
    """Return the words of a text, with case and Unicode form normalized."""
    if text.isascii():  # same result, several times faster
        return text.lower().translate(_BLANKS).split()
    return WORDS.findall(unicodedata.normalize("NFKC", text).casefold())


def _hash(words: list[str]) -> int | None:
    if len(words) < FEWEST:
        return None
    return int.from_bytes(hashlib.blake2b(" ".join(words).encode(errors="replace"), digest_size=8).digest())


class Fingerprints:
    """Hashes of a collection of texts in bounded memory: only the ``most`` smallest hashes are kept.

    Hashes are practically random, so the texts with the smallest hashes are a random sample. Two collections are
    compared within the range of hashes that both have kept.

    Args:
        most: Number of hashes kept, of 8 bytes each; up to three times this number is held during collection.

    Attributes:
        highest: Largest hash that would be kept; the hashes are only a sample if it is below :data:`EVERY`.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.highest = EVERY
        self._kept: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._new = array("Q")

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> Fingerprints:
        """Return the hashes of texts."""
        found = cls()
        found.add(texts)
        return found

    @classmethod
    def from_running_texts(cls, texts: Iterable[str]) -> Fingerprints:
        """Return the hashes of running texts and of each of their sentences."""
        found = cls()
        found.add_running(texts)
        return found

    def add(self, texts: Iterable[str]) -> None:
        """Add the hashes of texts."""
        for text in texts:
            self._add(words_of(text))

    def _add(self, words: list[str]) -> None:
        found = _hash(words)
        if found is not None and found <= self.highest:
            self._new.append(found)
            self._fold_many()

    def add_running(self, texts: Iterable[str]) -> None:
        """Add the hashes of running texts and of each of their sentences."""
        for text in texts:
            sentences = [words_of(sentence) for sentence in SENTENCE_END.split(text)]
            if len(sentences) > 1:
                self._add(list(chain.from_iterable(sentences)))
            for words in sentences:
                self._add(words)

    def take(self, other: Fingerprints) -> None:
        """Add all hashes of another collection."""
        self.highest = min(self.highest, other.highest)
        for start in range(0, len(other.hashes), self.most):
            some = other.hashes[start : start + self.most]
            self._new.frombytes(some[some <= self.highest].tobytes())
            self._fold_many()

    def _fold_many(self) -> None:
        if len(self._new) >= max(1, self.most // 4):
            self._fold()

    def _fold(self) -> None:
        both = np.concatenate([self._kept, np.frombuffer(self._new, np.uint64)])
        both.sort()  # in place; numpy's union takes several times the memory
        first = both <= np.uint64(self.highest)
        first[1:] &= both[1:] != both[:-1]
        self._kept = both[first]
        self._new = array("Q")
        if len(self._kept) > self.most:
            self._kept = self._kept[: self.most].copy()
            self.highest = int(self._kept[-1])

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """Return the kept hashes, unique and sorted."""
        self._fold()
        return self._kept

    @property
    def sampled(self) -> bool:
        """Return whether only some of the hashes are kept, because there were too many."""
        self._fold()
        return self.highest < EVERY

    def within(self, other: Fingerprints) -> tuple[int, int]:
        """Return the number of texts that can be compared with another collection, and how many of them it contains."""
        own, others = self.hashes, other.hashes
        comparable = own[own <= np.uint64(min(self.highest, other.highest))]
        return len(comparable), len(np.intersect1d(comparable, others, assume_unique=True))

    def save(self, folder: Path) -> None:
        """Write the fingerprints to a run's folder."""
        save_arrays({"hashes": self.hashes, "highest": np.array([self.highest], np.uint64)}, folder / FILE)

    @classmethod
    def load(cls, folder: Path) -> Fingerprints | None:
        """Load the fingerprints of a run, or return None if they are missing or damaged."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        found = cls()
        try:
            content = load_file(folder / FILE)
            found._kept, found.highest = content["hashes"].astype(np.uint64), int(content["highest"][0])
        except (OSError, SafetensorError, KeyError, IndexError):
            return None
        return found
