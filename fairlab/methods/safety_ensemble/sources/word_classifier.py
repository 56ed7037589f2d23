"""Linear SVM on tf-idf-weighted words, with the weights of the package alt-profanity-check, in NumPy.

The files of the package are pickled scikit-learn objects. They are read with stubs in place of scikit-learn's classes.
Shape letters: N texts, P pairs of a text and a word in it, K calibrated classifiers, V words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.trust import loading
from fairlab.methods.safety_ensemble.calibration import sigmoid
from fairlab.types import FairlabError

Array = NDArray[np.float64]
# Settings of the vectorizer that affect the weighting. Stop words are not in the vocabulary.
EXPECTED = {
    "analyzer": "word",
    "lowercase": True,
    "strip_accents": None,
    "ngram_range": (1, 1),
    "norm": "l2",
    "sublinear_tf": False,
    "binary": False,
}


@dataclass(frozen=True)
class WordClassifier:
    """Classifier that averages the calibrated probabilities of K classifiers.

    Attributes:
        word: Regular expression that matches a word.
        vocabulary: Index of each known word.
        idf: Inverse document frequency of each word, (V,).
        weights, intercepts: Parameters of the SVMs, (K, V) and (K,).
        slopes, shifts: Calibration of the SVMs, (K,) each; the probability is the logistic function of -(slope * margin
            + shift).
    """

    word: re.Pattern[str]
    vocabulary: dict[str, int]
    idf: Array
    weights: Array
    intercepts: Array
    slopes: Array
    shifts: Array

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return the probability that each text is offensive, (N,)."""
        counts = [self._counts(text) for text in texts]
        text_P = np.repeat(np.arange(len(texts)), [len(one) for one in counts])
        word_P = np.array([word for one in counts for word, _ in one], dtype=np.int64)
        values_P = np.array([count for one in counts for _, count in one]) * self.idf[word_P]
        values_P /= np.sqrt(np.bincount(text_P, values_P**2, minlength=len(texts)))[text_P]
        found = np.zeros(len(texts))
        for weights_V, intercept, slope, shift in zip(
            self.weights, self.intercepts, self.slopes, self.shifts, strict=True
        ):
            margins = np.bincount(text_P, values_P * weights_V[word_P], minlength=len(texts)) + intercept
            found += sigmoid(-(slope * margins + shift))
        return found / len(self.weights)

    def _counts(self, text: str) -> list[tuple[int, int]]:
        """Return the index and count of each known word in a text, sorted by index."""
        found = (self.vocabulary.get(word) for word in self.word.findall(text.lower()))
        return sorted(Counter(number for number in found if number is not None).items())


def read_classifier(folder: Path) -> WordClassifier:
    """Load the classifier from the two files in a folder.

    Raises:
        FairlabError: The files cannot be read, or belong to an unsupported version.
    """
    with loading(f"the classifier in {folder}"):
        words, model = (_read(folder / f"{name}.joblib") for name in ("vectorizer", "model"))
        if other := [name for name, value in EXPECTED.items() if getattr(words, name) != value]:
            raise FairlabError(f"{folder}: {other[0]} differs from alt-profanity-check 1.9; install that version")
        parts = model.calibrated_classifiers_
        lines = [part.calibrators[0] for part in parts]
        return WordClassifier(
            word=re.compile(words.token_pattern),
            vocabulary=words.vocabulary_,
            idf=words._tfidf.idf_,
            weights=np.concatenate([part.estimator.coef_ for part in parts]),
            intercepts=np.concatenate([part.estimator.intercept_ for part in parts]),
            slopes=np.array([line.a_ for line in lines]),
            shifts=np.array([line.b_ for line in lines]),
        )


class _Stub:
    """Stub for every class of scikit-learn, which accepts attributes and runs no code."""


def _read(file: Path) -> Any:
    from joblib.numpy_pickle import NumpyUnpickler

    class Reader(NumpyUnpickler):
        def find_class(self, module: str, name: str) -> Any:
            return _Stub if module.partition(".")[0] == "sklearn" else super().find_class(module, name)

    with file.open("rb") as stored:
        return Reader(str(file), stored, ensure_native_byte_order=True).load()
