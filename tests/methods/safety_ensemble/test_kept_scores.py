"""Scores of the folds' models, put together by hand."""

from __future__ import annotations

import numpy as np

from fairlab.data.safety_texts import SafetyText
from fairlab.methods.safety_ensemble.kept_scores import KeptScores
from fairlab.methods.safety_ensemble.passes import Part


def test_a_text_is_scored_by_the_model_of_its_fold_and_others_by_the_mean():
    """Two folds of a text each, a text that is never measured, and a data set that no fold divides."""
    texts = [SafetyText(name, name, "", {}) for name in "abc"]
    folds = np.array([[0, 1, -1], [1, 0, -1]])
    kept = KeptScores(["hate"], folds, {"test": texts, "validation": texts, "more": texts[:1]})
    for repeat, own in enumerate(folds):
        for fold in (0, 1):
            test = own == fold
            score = (1 + fold + 2 * repeat) / 10  # 0.1 to 0.4
            both = np.array([[score], [score / 2]])  # calibrated and not
            scores = {"test": both, "validation": both + 0.5, "more": both}
            contributions = np.array([1.0, 0.0]) if fold else None
            kept.add("hate", repeat, Part(test, (own == 1 - fold), test), (scores, contributions))
    judged = kept.judged(["x", "y"], np.array([[1.0, 0], [2.0, 0], [3.0, 0]]))
    test, validation, more = (judged.parts[name] for name in ("test", "validation", "more"))
    assert [text.text for text in test.texts] == ["a", "b"]
    np.testing.assert_allclose(test.scores["hate"], [[0.1, 0.2], [0.4, 0.3]])
    np.testing.assert_allclose(test.uncalibrated["hate"], [[0.05, 0.1], [0.2, 0.15]])
    np.testing.assert_allclose(validation.scores["hate"], [[0.7, 0.6], [0.8, 0.9]])
    np.testing.assert_allclose(more.scores["hate"], [[0.15], [0.35]])
    assert test.folds.tolist() == [[0, 1], [1, 0]]
    assert more.folds.tolist() == [[0], [0]]
    assert judged.source_scores.tolist() == [[1.0, 0], [2.0, 0]]
    assert judged.contributions["hate"].tolist() == [1.0, 0.0]
