"""Words of similar meaning, from WordNet if its files are installed, or else by their vectors from an encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NEAREST = 5


class WordNetSynonyms:
    """Synonyms of a word: the lemmas of all its senses in WordNet, read with NLTK.

    Raises:
        LookupError: NLTK or WordNet's files are not installed.
    """

    name = "wordnet"

    def __init__(self) -> None:
        try:
            from nltk.corpus import wordnet
        except ImportError as error:
            raise LookupError("NLTK is not installed") from error
        wordnet.ensure_loaded()
        self.wordnet = wordnet

    def __call__(self, word: str) -> list[str]:
        """Return the synonyms of a word that consist only of letters and blanks, sorted."""
        lemmas = {lemma.name() for sense in self.wordnet.synsets(word) for lemma in sense.lemmas()}
        found = {lemma.replace("_", " ").replace("-", " ").lower() for lemma in lemmas}
        return sorted(one for one in found if one != word and one.replace(" ", "").isalpha())


class NearWords:
    """Nearest words of a vocabulary by the cosine of their vectors; they may be of another part of speech.

    Args:
        vocabulary: Lower-case words, V of them.
        vectors: Vectors of the words, (V, D).
        above: Cosine above which words count as near; opposites can exceed it, too.
    """

    name = "embeddings"

    def __init__(self, vocabulary: Sequence[str], vectors: NDArray[np.float32], *, above: float) -> None:
        self.vocabulary = list(vocabulary)
        self.vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        self.above = above
        self.places = {word: place for place, word in enumerate(self.vocabulary)}

    def __call__(self, word: str) -> list[str]:
        """Return up to five other words, nearest first, without inflections.

        The list is empty for an unknown word.
        """
        if word not in self.places:
            return []
        cosines = self.vectors @ self.vectors[self.places[word]]
        near = [self.vocabulary[place] for place in np.argsort(-cosines, kind="stable") if cosines[place] > self.above]
        return [one for one in near if not _alike(one, word)][:NEAREST]


def _alike(one: str, other: str) -> bool:
    """Return whether two words are equal except for an ending, as inflections are."""
    shorter = min(len(one), len(other))
    return one[: max(3, shorter - 1)] == other[: max(3, shorter - 1)]
