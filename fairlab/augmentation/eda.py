"""EDA: copies of a text in which words are replaced, inserted, swapped or deleted.

Source: Wei and Zou 2019, "EDA: Easy Data Augmentation Techniques for Boosting Performance on Text Classification
Tasks", section 2.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal

from fairlab.backbones.embedded_encoder import EMBEDDED, embedded_encoder
from fairlab.text.synonyms import NearWords, WordNetSynonyms
from fairlab.types import Count, FairlabError, Share

NOT_LETTERS = re.compile(r"[^a-z ]")
COMMON = 8000  # words of the encoder's vocabulary, which is sorted by frequency
NEAR = 0.55  # minimum cosine; our choice, from inspecting twenty words that are in no dataset
TRIES = 10  # words tried for an insertion
STOP_WORDS = frozenset(  # closed classes, compiled for this module
    "a an the this that these those my your his her its our their i me you he him she it we us they them who whom "
    "whose which what and or but nor so yet if then than as because while although though until unless of in on at by "
    "for with about against between into through during before after above below to from up down out off over under "
    "again once here there when where why how all any both each few more most other some such no not only own same too "
    "very can could will would shall should may might must am is are was were be been being have has had having do "
    "does did doing just now".split()
)


class EDA:
    """Augmentation that adds copies of every example with random changes to the last text and the same label.

    A copy is made by one of four operations: a proportion ``alpha`` of the words (at least one) are replaced by
    synonyms, the same number of synonyms is inserted, the same number of word pairs is swapped, or each word is deleted
    with probability ``alpha``. Texts are first lower-cased and stripped of all characters except letters, as in the
    authors' code. A text without letters gives no copies. Copies depend only on the seed and the text.

    Args:
        alpha: Proportion of the words that a copy changes, in [0, 1].
        num_aug: Number of copies per example, at least 1.
        synonyms: Source of synonyms: ``wordnet``, ``embeddings`` (nearby words by ``encoder``), or ``auto``, which uses
            WordNet if it is installed.
        encoder: Encoder whose word vectors determine nearby words: ``minilm``, or the folder or hub name of another
            encoder.
        seed: Seed of all random choices.

    Raises:
        FairlabError: WordNet is requested but not installed.
    """

    title = "easy data augmentation (EDA)"
    limits = "Random edits may change the meaning or the label, and are not checked."
    citation = """@inproceedings{wei2019eda,
  title = {{EDA}: Easy Data Augmentation Techniques for Boosting Performance on Text Classification Tasks},
  author = {Wei, Jason and Zou, Kai},
  booktitle = {Proceedings of EMNLP-IJCNLP},
  year = {2019}
}"""
    name = "eda"

    def __init__(
        self,
        *,
        alpha: Share,
        num_aug: Count,
        synonyms: Literal["auto", "wordnet", "embeddings"],
        encoder: str = EMBEDDED,
        seed: int = 0,
    ) -> None:
        self.alpha = alpha
        self.num_aug = num_aug
        self.kind = synonyms
        self.encoder = encoder
        self.seed = seed

    @cached_property
    def synonyms(self) -> Callable[[str], list[str]]:
        """Return the function from a word to its synonyms."""
        if self.kind != "embeddings":
            try:
                return WordNetSynonyms()
            except LookupError as error:
                if self.kind == "wordnet":
                    raise FairlabError(
                        "WordNet is not installed; run python -m nltk.downloader wordnet, or give "
                        "augmentation.synonyms=embeddings"
                    ) from error
        return near_words(self.encoder)

    def more(self, fields: Sequence[str], label: str) -> list[tuple[list[str], str]]:
        """Return copies of an example.

        An example whose last text has no letters has no copies.
        """
        words = cleaned(fields[-1])
        if not words:
            return []
        draw = random.Random(f"{self.seed} {fields[-1]}")
        operations = [self.replaced, self.inserted, self.swapped, self.deleted]
        chosen = [operations[k % 4] for k in range(4 * (self.num_aug // 4 + 1))]
        draw.shuffle(chosen)
        texts = [" ".join(operation(words, draw)) for operation in chosen[: self.num_aug]]
        return [([*fields[:-1], text], label) for text in texts]

    def replaced(self, words: Sequence[str], draw: random.Random) -> list[str]:
        """Replace every occurrence of some words, except stop words, by a synonym."""
        found, left = list(words), self._count(words)
        candidates = sorted(set(words) - STOP_WORDS)
        draw.shuffle(candidates)
        for word in candidates:
            if left and (synonyms := self.synonyms(word)):
                synonym = draw.choice(synonyms)
                found = [synonym if one == word else one for one in found]
                left -= 1
        return found

    def inserted(self, words: Sequence[str], draw: random.Random) -> list[str]:
        """Insert synonyms of random words at random positions.

        At most ten words are tried per insertion.
        """
        found = list(words)
        for _ in range(self._count(words)):
            tried = (self.synonyms(draw.choice(list(words))) for _ in range(TRIES))
            if synonyms := next(filter(None, tried), []):
                found.insert(draw.randint(0, len(found)), draw.choice(synonyms))
        return found

    def swapped(self, words: Sequence[str], draw: random.Random) -> list[str]:
        """Swap the words at two random positions, several times."""
        found = list(words)
        for _ in range(self._count(words) if len(found) > 1 else 0):
            one, other = draw.sample(range(len(found)), 2)
            found[one], found[other] = found[other], found[one]
        return found

    def deleted(self, words: Sequence[str], draw: random.Random) -> list[str]:
        """Delete each word with probability ``alpha``, but keep at least one."""
        return [word for word in words if draw.random() >= self.alpha] or [draw.choice(list(words))]

    def _count(self, words: Sequence[str]) -> int:
        return max(1, int(self.alpha * len(words)))


def cleaned(text: str) -> list[str]:
    """Return the words of a text in lower case, without characters other than letters."""
    return NOT_LETTERS.sub(" ", text.lower().replace("'", "").replace("’", "").replace("-", " ")).split()


def near_words(name: str = EMBEDDED) -> NearWords:
    """Return a lookup of nearby words, based on an encoder's word vectors for its most frequent whole words."""
    encoder = embedded_encoder(name)
    vocabulary = sorted(encoder.tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    kept = [entry for entry in vocabulary if entry[0].isascii() and entry[0].isalpha() and len(entry[0]) > 2][:COMMON]
    model: Any = encoder.model
    vectors = model.get_input_embeddings().weight.detach()[[place for _, place in kept]]
    return NearWords([word for word, _ in kept], vectors.numpy(), above=NEAR)
