"""What a report shows of an ensemble."""

from __future__ import annotations

import numpy as np
import pytest

from fairlab.data.safety import Judged, Predicted
from fairlab.data.safety_texts import SafetyText
from fairlab.methods.safety_ensemble.overview import ensemble_overview, largest_gaps, reliability


def test_reliability_is_the_share_of_unsafe_texts_by_tenths_of_the_scores():
    scores = np.repeat(np.arange(10) / 10, 3)
    truth = np.tile([0, 1, 1], 10)
    chosen = np.ones(30, dtype=bool)
    found = reliability(truth, scores, chosen)
    assert found["predicted"] == [k / 10 for k in range(10)]
    assert found["observed"] == [0.6667] * 10
    truth[:3] = -1
    assert reliability(truth, scores, chosen & (scores < 0.15)) == {"predicted": [0.1], "observed": [0.6667]}
    assert reliability(np.zeros(30), scores, chosen) == {"predicted": [], "observed": []}


def test_averages_and_gaps_by_hand():
    about = ["religion:Muslim", "religion:Muslim", "religion:Jewish", "age:old", "age:old", "age:young", ""]
    about.append("religion:Muslim")  # without a label
    labels = [{"hate": label} for label in (0, 0, 0, 0, 1, 0, 0)] + [{}]
    texts = [
        SafetyText(f"text {k}", str(k), subgroup, label)
        for k, (subgroup, label) in enumerate(zip(about, labels, strict=True))
    ]
    folds = np.zeros((2, 8), dtype=np.int64)

    def scored(first: list[float], second: list[float], share: float) -> Judged:
        part = Predicted(texts, folds, {"hate": np.array([first, second])})
        of_source = np.array([[0.5, 0.7, 0.1, 0.4, 0.9, 0.9, 0.9, 0.9]]).T
        return Judged({"test": part}, ["source"], of_source, {"hate": np.array([share])})

    before = scored([0.2, 0.4, 0.8, 0.6, 0.9, 0.9, 0.9, 0.9], [0.4, 0.6, 0.8, 0.8, 0.9, 0.9, 0.9, 0.9], 0.25)
    after = scored([0.3] * 8, [0.5] * 8, 0.75)
    found = ensemble_overview({"before": before, "after": after})["hate"]
    religion, age = found["averages"]["religion"], found["averages"]["age"]
    assert (religion["subgroups"], age["subgroups"]) == (["Jewish", "Muslim"], ["old", "young"])
    # Safe texts alone, over both repeats: the harmful text about old people does not count.
    assert religion["rows"] == ["source", "baseline", "debiased"]
    np.testing.assert_allclose(religion["values"], [[0.1, 0.6], [0.8, 0.4], [0.4, 0.4]])
    np.testing.assert_allclose(age["values"], [[0.4, 0.9], [0.7, 0.9], [0.4, 0.4]])
    assert found["contributions"] == {"before": [0.25], "after": [0.75]}
    assert found["gaps"] == {"features": [0.5], "before": 0.3, "after": 0.0}  # means over religion and age


def test_the_largest_gaps_by_hand():
    """Of seven sets of two texts, the five with the largest gaps are shown, unless they have no label."""
    sizes = [0.05, 0.35, 0.1, 0.3, 0.2, 0.25, 0.15]
    texts = [
        SafetyText(f"{who} {k} " + "x" * 700, str(k), f"religion:{who}", {} if k == 1 else {"hate": 0})
        for k in range(7)
        for who in ("Muslim", "Jewish")
    ]
    texts.append(SafetyText("about nobody", "8", "", {"hate": 1}))
    after = [0.5 + sign * size for size in sizes for sign in (1, -1)] + [0.0]
    judged = {
        name: Judged({"test": Predicted(texts, np.zeros((1, 15)), {"hate": np.array([scores])})}, [], np.empty(0), {})
        for name, scores in (("before", [0.25] * 15), ("after", after))
    }
    found = largest_gaps(judged)["hate"]
    assert list(found) == ["religion:Jewish", "religion:Muslim"]
    for sign, entries in zip((-1, 1), found.values(), strict=True):
        assert [entry["key"] for entry in entries] == ["3", "5", "4", "6", "2"]
        assert [entry["gap"] for entry in entries] == pytest.approx([sign * k for k in (0.3, 0.25, 0.2, 0.15, 0.1)])
        assert [len(entry["text"]) for entry in entries] == [600] * 5
        assert (entries[0]["truth"], entries[0]["before"]) == (0, 0.25)
        assert entries[0]["after"] == pytest.approx(0.5 + sign * 0.3)
