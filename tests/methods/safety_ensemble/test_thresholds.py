"""Thresholds that meet a target, by hand."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from fairlab.benchmarks.safety import Safety
from fairlab.methods.safety_ensemble.exported.export import load_ensemble
from fairlab.methods.safety_ensemble.thresholds import ThresholdTarget, rates_at, read_target, threshold
from fairlab.types import FairlabError
from tests.methods.safety_ensemble.conftest import data, ensemble

SCORES, TRUTH = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 0, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("of", "value", "cut"),
    [
        ("precision", 0.7, 0.3),
        ("precision", 0.75, 0.3),
        ("precision", 0.9, 0.5),
        ("false_positive_rate", 0.4, 0.3),
        ("false_positive_rate", 1 / 3, 0.3),
        ("false_positive_rate", 0.1, 0.5),
    ],
)
def test_the_lowest_score_that_meets_the_target(of, value, cut):
    assert threshold(SCORES, TRUTH, ThresholdTarget(of, value), "hate") == cut


def test_rates_by_hand():
    assert rates_at(np.array(SCORES), TRUTH, 0.3) == (3 / 4, 1.0, 1 / 3)
    assert rates_at(np.array(SCORES), TRUTH, 0.9) == (1.0, 0.0, 0.0)


def test_targets_that_cannot_be():
    with pytest.raises(FairlabError, match=r"no threshold reaches a precision of 0.9 for hate .*the best is 0.50"):
        threshold([0.1, 0.9], [1, 0], ThresholdTarget("precision", 0.9), "hate")
    with pytest.raises(FairlabError, match=r"no threshold reaches a false_positive_rate of 0.1 .*the best is 0.50"):
        threshold([0.1, 0.2, 0.9], [1, 0, 0], ThresholdTarget("false_positive_rate", 0.1), "hate")
    for value in (0.5, 0.3):
        with pytest.raises(FairlabError, match=rf"flags every text has a precision of 0.50 for hate, .* {value:g};"):
            threshold([0.1, 0.9], [0, 1], ThresholdTarget("precision", value), "hate")
    assert threshold([0.1, 0.9], [0, 1], ThresholdTarget("precision", 0.51), "hate") == 0.9
    with pytest.raises(FairlabError, match="fewer than two labels for hate"):
        threshold([0.1, 0.9], [0, 0], ThresholdTarget("precision", 0.9), "hate")
    for given, sentence in (
        ({"recall": 0.5}, "must give precision or false_positive_rate, not recall"),
        ({"precision": 1.5}, "precision must be above 0 and below 1"),
        ({"precision": 0}, "precision must be above 0 and below 1"),
        ({}, "must give one of precision, false_positive_rate"),
    ):
        with pytest.raises(FairlabError, match=sentence):
            read_target(given)
    assert read_target(None) is None


def test_a_threshold_comes_from_labelled_seeds_and_the_average_of_repeats():
    """The two versions and the unlabelled seed score highest; as safe texts they would leave no threshold."""
    method = ensemble(target={"precision": 0.6})
    rows = [({"toxicity": k}, True) for k in (0, 0, 1, 1)] + [({"toxicity": 1}, False)] * 2 + [({}, True)]
    texts = [SimpleNamespace(labels=labels, seed=seed) for labels, seed in rows]
    scores = np.array([[0.0, 0.3, 0.5, 0.8, 0.9, 0.9, 0.9], [0.2, 0.5, 0.7, 1.0, 1.0, 1.0, 1.0]])
    parts = {"validation": SimpleNamespace(texts=texts, scores={"toxicity": scores})}
    method.judged = {"after": SimpleNamespace(parts=parts)}
    assert method._threshold("toxicity", method.target) == pytest.approx(0.4)


@pytest.mark.slow
def test_a_threshold_is_chosen_on_validation_measured_and_exported(tmp_path):
    method = ensemble(target={"false_positive_rate": 0.2})
    method.fit(data())
    cut = method.thresholds["toxicity"]
    for name in ("validation", "test"):
        part = method.judged["after"].parts[name]
        seeds = np.array([text.seed for text in part.texts])
        truth = np.array([text.labels["toxicity"] for text in part.texts])[seeds]
        rates = rates_at(part.scores["toxicity"].mean(axis=0)[seeds], truth, cut)
        if name == "validation":
            assert rates[2] <= 0.2
    found = Safety(of="test", threshold=0.5).measure(method.judged["after"])
    by_name = {one.quantity: one.value for one in found.readings if one.subset == "toxicity"}
    assert by_name["threshold"] == cut
    assert by_name["recall_at_threshold"] == pytest.approx(rates[1])
    assert by_name["false_positive_rate_at_threshold"] == pytest.approx(rates[2])
    gaps = [one for one in found.readings if one.quantity == "equalised_odds_gap_at_threshold"]
    assert gaps
    at = Safety(of="test", threshold=cut).measure(method.judged["after"])
    expected = {one.subset: one.value for one in at.readings if one.quantity == "equalised_odds_gap"}
    assert {one.subset: one.value for one in gaps} == expected
    method.export(tmp_path, "")
    assert load_ensemble(tmp_path).thresholds == {"toxicity": cut}
    description = json.loads((tmp_path / "ensemble.json").read_text())
    description["harms"]["toxicity"]["threshold"] = "high"
    (tmp_path / "ensemble.json").write_text(json.dumps(description))
    with pytest.raises(FairlabError, match=r"a threshold outside 0\.\.1"):
        load_ensemble(tmp_path)
