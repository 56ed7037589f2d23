"""Fast tokenization of long running text: every word is tokenized once and then looked up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise, zip_longest
from typing import cast

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

MOST_WORDS = 2**17  # maximum number of words kept, about 25 MB
JOINED = 500  # number of words tokenized as one text
SAMPLE = 200  # number of texts on which looking up is compared with tokenizing


class WordTokens:
    """Tokenizer of pieces of running text that adds no special tokens.

    Each word is tokenized with a preceding space, as in the middle of a text. Most tokenizers split at spaces first, so
    a word has the same tokens in every position. They also split at special tokens, so words joined by a special token
    can be tokenized in one call. The first texts are used to test whether the tokenizer behaves this way. If it does
    not, every text is tokenized as a whole, which takes several times as long.

    Args:
        tokenizer: Tokenizer that determines the ids.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self.looked_up: bool | None = None  # None until it has been tested
        self.between: tuple[str, int] | None = None  # a special token and its id, placed between words
        self._forget()

    def __call__(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return the token ids of every text."""
        if self.looked_up is None and texts:
            self._try_out(list(texts[:SAMPLE]))
        return self._from_words(texts) if self.looked_up else self._asked(texts)

    def _try_out(self, sample: Sequence[str]) -> None:
        expected = self._asked(sample)
        for between in (_special_token(self.tokenizer), None):
            self.between = between
            self._forget()
            self.looked_up = all(map(np.array_equal, self._from_words(sample), expected))
            if self.looked_up:
                return

    def _from_words(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        words = [text.split() for text in texts]
        numbers = np.fromiter(map(self.known.__getitem__, chain.from_iterable(words)), np.int64)
        self._learn()
        counts = self.counts[numbers]
        ends = np.cumsum(counts)
        # Start of each word's ids in the list of all ids, minus their start in this result; then add one per id.
        places = np.repeat(self.starts[numbers] - (ends - counts), counts) + np.arange(counts.sum())
        ids = self.flat[places]
        last_words = np.cumsum([len(some) for some in words], dtype=np.int64)
        if len(self.known) > MOST_WORDS:
            self._forget()
        bounds = [0, *np.concatenate([[0], ends])[last_words].tolist()]
        return [ids[start:end] for start, end in pairwise(bounds)]

    def _forget(self) -> None:
        self.known = _Known()
        self.counts, self.starts, self.flat = (np.empty(0, np.int64) for _ in range(3))

    def _learn(self) -> None:
        """Tokenize the words that were numbered since the last call."""
        if not self.known.new:
            return
        lots = [self.known.new[start : start + JOINED] for start in range(0, len(self.known.new), JOINED)]
        self.known.new = []
        for counts, ids in self._encode_joined(lots):
            self.counts = np.concatenate([self.counts, counts])
            self.flat = np.concatenate([self.flat, ids])
        self.starts = np.cumsum(self.counts) - self.counts

    def _encode_joined(self, lots: Sequence[list[str]]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield, for every list of words, the number of ids of each word and all ids."""
        rows = (
            [] if self.between is None else self._encoded([self.between[0].join(f" {w}" for w in lot) for lot in lots])
        )
        for lot, ids in zip_longest(lots, rows):
            if self.between is not None:
                ends = np.flatnonzero(np.append(ids, self.between[1]) == self.between[1])
                if len(ends) == len(lot):  # otherwise the special token occurs in the text
                    yield np.diff(ends, prepend=-1) - 1, ids[ids != self.between[1]]
                    continue
            alone = self._asked(lot)
            yield np.array([len(row) for row in alone], np.int64), np.concatenate(alone)

    def _asked(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        if not texts:
            return []
        return self._encoded([" " + " ".join(text.split()) for text in texts])

    def _encoded(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            found = self.tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        else:  # skip the wrapper, which takes longer than the tokenizer itself and sets these at every call
            backend.no_truncation()
            backend.no_padding()
            found = [encoding.ids for encoding in backend.encode_batch_fast(texts, add_special_tokens=False)]
        return [np.array(ids, np.int64) for ids in found]


def _special_token(tokenizer: PreTrainedTokenizerBase) -> tuple[str, int] | None:
    """Return a special token that can separate words, with its id, or None if there is none."""
    for name in ("sep_token", "eos_token", "bos_token"):
        token = getattr(tokenizer, name, None)
        if token is not None:
            return str(token), cast("int", tokenizer.convert_tokens_to_ids(str(token)))
    return None


class _Known(dict[str, int]):
    """Mapping from requested words to numbers. A new word gets the next number."""

    def __init__(self) -> None:
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.new.append(word)
        return number


def tokenizer_sha256(tokenizer: PreTrainedTokenizerBase) -> str:
    """Return a hash of all parts that determine the ids of a fast tokenizer.

    For other tokenizers, the hash covers the vocabulary and the class.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        content = {"class": type(tokenizer).__name__, "vocabulary": sorted(tokenizer.get_vocab().items())}
    else:
        content = json.loads(backend.to_str())
        for state in ("truncation", "padding"):  # state of the last call, not of the tokenizer
            content.pop(state, None)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
