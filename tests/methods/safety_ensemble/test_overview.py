"""What a report shows of an ensemble."""

from __future__ import annotations

import numpy as np

from fairlab.data.safety import Judged, Predicted
from fairlab.data.safety_texts import SafetyText
from fairlab.methods.safety_ensemble.overview import ensemble_overview, reliability


def test_reliability_is_the_share_of_unsafe_texts_by_tenths_of_the_scores():
    scores = np.repeat(np.arange(10) / 10, 4)
    truth = np.tile([0, 1, 1, 1], 10)
    chosen = np.ones(40, dtype=bool)
    found = reliability(truth, scores, chosen)
    assert found["predicted"] == [k / 10 for k in range(10)]
    assert found["observed"] == [0.75] * 10
    truth[:4] = -1
    assert reliability(truth, scores, chosen & (scores < 0.15)) == {"predicted": [0.1], "observed": [0.75]}
    assert reliability(np.zeros(40), scores, chosen) == {"predicted": [], "observed": []}


def test_averages_and_gaps_by_hand():
    about = ["religion:Muslim", "religion:Muslim", "religion:Jewish", "age:old", "age:old", ""]
    harmful = [0, 0, 0, 0, 1, 0]
    texts = [
        SafetyText(f"text {k}", str(k), subgroup, {"hate": label})
        for k, (subgroup, label) in enumerate(zip(about, harmful, strict=True))
    ]
    folds = np.zeros((2, 6), dtype=np.int64)

    def scored(first: list[float], second: list[float]) -> Judged:
        part = Predicted(texts, folds, {"hate": np.array([first, second])})
        return Judged(
            {"test": part}, ["source"], np.array([[0.5, 0.7, 0.1, 0.4, 0.9, 0.9]]).T, {"hate": np.array([1.0])}
        )

    before = scored([0.2, 0.4, 0.8, 0.6, 0.9, 0.9], [0.4, 0.6, 0.8, 0.8, 0.9, 0.9])
    after = scored([0.3] * 6, [0.5] * 6)
    found = ensemble_overview({"before": before, "after": after})["hate"]
    religion, age = found["averages"]["religion"], found["averages"]["age"]
    assert (religion["subgroups"], age["subgroups"]) == (["Jewish", "Muslim"], ["old"])
    # Safe texts alone, over both repeats: the harmful text about old people does not count.
    assert religion["rows"] == ["source", "baseline", "debiased"]
    np.testing.assert_allclose(religion["values"], [[0.1, 0.6], [0.8, 0.4], [0.4, 0.4]])
    np.testing.assert_allclose(age["values"], [[0.4], [0.7], [0.4]])
