"""Token ids of much running text: every word is tokenized once and then looked up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import chain

from transformers import PreTrainedTokenizerBase

MOST_WORDS = 2**18  # kept, about 50 MB
SAMPLE = 200  # texts on which looking up is compared with tokenizing


class WordTokens:
    """Token ids without special tokens, as the tokenizer gives them.

    Most tokenizers split at blanks first, so that a word has the same tokens wherever it stands, with the blank before
    it or without. Whether that is so of this one is tried out on the first texts; where it is not, and for texts with
    other blanks than single spaces, the tokenizer is asked as usual. Looking up is several times as fast.

    Args:
        tokenizer: the tokenizer.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self.known: dict[str, list[int]] = {}
        self.looked_up: bool | None = None  # None until it has been tried out

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of every text."""
        if self.looked_up is None and texts:
            sample = list(texts[:SAMPLE])
            self.looked_up = True
            self.looked_up = self(sample) == self._asked(sample)
        if not self.looked_up:
            return self._asked(texts)
        words = [text.split(" ") for text in texts]
        # The first word has no blank before it; a key with a line break tells the two kinds apart.
        keys = [["\n" + some[0], *some[1:]] for some in words]
        self._learn(keys)
        odd = [k for k, text in enumerate(texts) if "\n" in text or "\t" in text or "  " in text]
        found = [self._ids(some) for some in keys]
        for k, ids in zip(odd, self._asked([texts[k] for k in odd]), strict=True):
            found[k] = ids
        return found

    def _ids(self, keys: list[str]) -> list[int]:
        return list(chain.from_iterable(map(self.known.__getitem__, keys)))

    def _learn(self, keys: list[list[str]]) -> None:
        """Tokenize words that are not known yet."""
        if len(self.known) > MOST_WORDS:
            self.known.clear()
        missing = list(set(chain.from_iterable(keys)) - self.known.keys())
        asked = [key[1:] if key.startswith("\n") else f" {key}" for key in missing]
        self.known.update(zip(missing, self._asked(asked), strict=True))

    def _asked(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        ids: list[list[int]] = self.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        return ids


def tokenizer_sha256(tokenizer: PreTrainedTokenizerBase) -> str:
    """Hash of all that decides a fast tokenizer's ids; of another one's vocabulary and class."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        content = {"class": type(tokenizer).__name__, "vocabulary": sorted(tokenizer.get_vocab().items())}
    else:
        content = json.loads(backend.to_str())
        for state in ("truncation", "padding"):  # of the last call, not of the tokenizer
            content.pop(state, None)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
