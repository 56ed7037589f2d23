"""Label accuracy of a bag-of-words probe: a logistic regression on words and word pairs.

Source: Gururangan et al. 2018, "Annotation Artifacts in Natural Language Inference Data", section 2, for probing one
field of a pair.
Shape letters: N texts, L labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.text.surface_tokens import surface_tokens

FOLDS = 5
FEWEST_OF_LABEL = 50  # minimum number of documents per label
FEW = 100  # up to this number of texts, words that occur only once are kept


def too_little(labels: Sequence[str], texts: Sequence[str]) -> str:
    """Return the reason why a probe cannot be trained, or an empty text if it can."""
    if not labels:
        return "there are no texts"
    if len(set(labels)) < 2:
        return "it needs two labels, but all rows have the same"
    rarest = min(sorted(set(labels)), key=labels.count)
    if labels.count(rarest) >= FEWEST_OF_LABEL and len(set(texts)) >= FOLDS:
        return ""
    return (
        f"it needs {FEWEST_OF_LABEL} documents of every label and {FOLDS} texts, and '{rarest}' has "
        f"{labels.count(rarest)}"
    )


def out_of_fold(texts: Sequence[str], labels: Sequence[str], seed: int = 0) -> NDArray[np.float64]:
    """Return out-of-fold probabilities (N, L) of the sorted labels. No model saw a copy of the text in training.

    Args:
        texts: Texts whose labels are predicted.
        labels: Labels of the texts, with at least two distinct values.
        seed: Seed of the five folds.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    groups = np.unique([text.strip().casefold() for text in texts], return_inverse=True)[1]
    truth, documents, names = np.array(labels), np.array(texts, dtype=object), sorted(set(labels))
    found = np.zeros((len(texts), len(names)))
    for train, test in folds.split(documents, truth, groups):
        known = sorted(set(truth[train]))
        columns = [names.index(name) for name in known]
        if len(known) < 2:
            found[np.ix_(test, columns)] = 1.0
        else:
            found[np.ix_(test, columns)] = _fit(documents[train], truth[train]).predict_proba(documents[test])
    return found


def probe(texts: Sequence[str], labels: Sequence[str], seed: int = 0) -> NDArray[np.float64]:
    """Return whether a bag of words predicts each label (N,) correctly, out of fold."""
    names = np.array(sorted(set(labels)))
    return (names[out_of_fold(texts, labels, seed).argmax(axis=1)] == np.array(labels)).astype(float)


def probe_gain(texts: Sequence[str], labels: Sequence[str], seed: int = 0) -> float:
    """Return the accuracy of the probe minus the share of the most frequent label, in percentage points."""
    return float(100 * (probe(texts, labels, seed).mean() - commonest_share(labels)))


def commonest_share(labels: Sequence[str]) -> float:
    """Return the share of the most frequent label."""
    return max(labels.count(name) for name in set(labels)) / len(labels)


def transferred(
    texts: Sequence[str], labels: Sequence[str], others: Sequence[str], truth: Sequence[str]
) -> NDArray[np.float64]:
    """Return whether a probe trained on some texts predicts the label of each other text correctly, (N,)."""
    model = _fit(np.array(texts, dtype=object), np.array(labels))
    return (model.predict(np.array(others, dtype=object)) == np.array(truth)).astype(float)


def _fit(texts: NDArray[Any], labels: NDArray[Any]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words = TfidfVectorizer(analyzer=_bag, min_df=2 if len(texts) > FEW else 1)
    return make_pipeline(words, LogisticRegression(max_iter=300)).fit(texts, labels)


def _bag(text: str) -> list[str]:
    """Return the words and word pairs of a text, or one empty string if it has no words."""
    tokens = surface_tokens(text)
    return [*tokens, *(" ".join(pair) for pair in pairwise(tokens))] or [""]
