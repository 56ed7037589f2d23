"""The classifier of words: by hand, and as alt-profanity-check gives it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fairlab.data.safety_readers import read_safety
from fairlab.methods.safety_ensemble.sources.profanity import Profanity
from fairlab.methods.safety_ensemble.sources.word_classifier import WordClassifier


def test_by_hand():
    classifier = WordClassifier(
        word=re.compile(r"\b\w\w+\b"),
        vocabulary={"fool": 0, "day": 1},
        idf=np.array([2.0, 1.5]),
        weights=np.array([[3.0, -1.0], [0.0, 0.0]]),
        intercepts=np.array([0.5, 0.0]),
        slopes=np.array([-2.0, -1.0]),
        shifts=np.array([0.25, 0.0]),
    )
    # "Fool" twice and "day" once: (4, 1.5) of length sqrt(18.25); the second classifier says a half of everything.
    margin = (3 * 4 - 1.5) / np.sqrt(18.25) + 0.5
    expected = (1 / (1 + np.exp(-2 * margin + 0.25)) + 0.5) / 2
    nothing = (1 / (1 + np.exp(-2 * 0.5 + 0.25)) + 0.5) / 2
    np.testing.assert_allclose(classifier(["A Fool, a FOOL's day", "", "unknown"]), [expected, nothing, nothing])


def test_as_the_package_gives_it():
    profanity_check = pytest.importorskip("profanity_check")
    texts = [text.text for text in read_safety("embedded/safety")]
    texts += ["", "?", "a", "the THE The", "été shit İstanbul", "\0", "fuck " * 50]
    found = Profanity().score(texts)
    assert found.shape == (len(texts), 1)
    assert np.ptp(found) > 0.5
    np.testing.assert_allclose(found[:, 0], profanity_check.predict_prob(texts), rtol=0, atol=1e-15)
