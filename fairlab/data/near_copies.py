"""Groups of counterfactual sets that contain near-duplicates of each other and so must be in the same fold.

Shape letters: N texts, T distinct trigrams.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from fairlab.rewriting.identities import Identities

LEAST = 0.5  # minimum Jaccard similarity of the word trigrams of near-duplicates
AT_ONCE = 500  # number of texts compared with all others at a time
WORD = re.compile(r"\w+")


def set_groups(keys: Sequence[str], texts: Sequence[str], identities: Identities) -> dict[str, int]:
    """Return the group of each counterfactual set, by key. Sets with near-duplicates of each other are in one group.

    Args:
        keys: Key of each text's counterfactual set, (N,).
        texts: Texts to compare, (N,).
        identities: Words for identities, which are masked before texts are compared.

    Example:
        >>> set_groups(["a", "b", "c"], ["I hate Muslims so much.", "I hate Jews so much", "Hi."], Identities())
        {'a': 0, 'b': 0, 'c': 1}
    """
    place = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    pairs = near_copies([identities.blinded(text) for text in texts])
    ends = [[place[keys[k]] for k in column] for column in zip(*pairs, strict=True)] if pairs else [[], []]
    joined = csr_matrix((np.ones(len(pairs)), ends), shape=(len(place), len(place)))
    _, groups = connected_components(joined, directed=False)
    return {key: int(groups[k]) for key, k in place.items()}


def near_copies(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs of texts, by index, whose word trigrams have a Jaccard similarity of at least :data:`LEAST`.

    Case, punctuation and spaces are ignored. A text of fewer than three words is compared as a whole.

    Example:
        >>> near_copies(["One two three four.", "one two, three four", "Two three four five six"])
        [(0, 1)]
    """
    numbers: dict[tuple[str, ...], int] = {}
    found = [sorted({numbers.setdefault(one, len(numbers)) for one in _trigrams(text)}) for text in texts]
    sizes = np.array([len(some) for some in found])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = np.fromiter(chain.from_iterable(found), np.int64)
    held_NT = csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(texts), len(numbers)))
    pairs: list[tuple[int, int]] = []
    for start in range(0, len(texts), AT_ONCE):
        shared = (held_NT[start : start + AT_ONCE] @ held_NT.T).tocoo()
        first, second = shared.row + start, shared.col
        near = (shared.data >= LEAST * (sizes[first] + sizes[second] - shared.data)) & (first < second)
        pairs += zip(first[near].tolist(), second[near].tolist(), strict=True)
    return sorted(pairs)


def _trigrams(text: str) -> Iterable[tuple[str, ...]]:
    words = WORD.findall(text.casefold())
    return {tuple(words[k : k + 3]) for k in range(max(1, len(words) - 2))}
