"""The measures of a safety ensemble: readings by hand, paired changes, and harms without labels."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from fairlab.benchmarks.readings import Quantity
from fairlab.benchmarks.safety import OfHarm, Safety, no_skill
from fairlab.benchmarks.safety_quantities import _mean_of_defined
from fairlab.data.safety import Judged, Predicted
from fairlab.data.safety_texts import SafetyText
from fairlab.types import FairlabError

TEXTS = [
    SafetyText("a", "1", "Religion:Islam", {"hate": 0}),
    SafetyText("b", "1", "Religion:Judaism", {"hate": 0}, seed=False),
    SafetyText("c", "2", "Religion:Islam", {"hate": 1}),
    SafetyText("d", "2", "Religion:Judaism", {"hate": 1}, seed=False),
    SafetyText("e", "3", "", {"hate": 1}),
    SafetyText("f", "4", "Religion:Islam", {"hate": 0}),
    SafetyText("g", "5", "", {}),
]


def judged(scores):
    folds = np.array([[0, 0, 1, 1, 0, 1, 0]])
    part = Predicted(TEXTS, folds, {"hate": np.array([scores])})
    return Judged({"test": part}, ["one"], np.arange(len(TEXTS))[:, None].astype(float), {})


def test_readings_by_hand():
    scores = [0.4, 0.8, 0.9, 0.5, 0.6, 0.7, 0.99]
    part = judged(scores).parts["test"]
    truth = np.array([text.labels.get("hate", -1) for text in TEXTS])
    of_harm = OfHarm(part, "hate", truth, 0.5)
    quantities = of_harm.quantities(part.scores["hate"])
    # With versions fold 0 has b (safe, .8) above e; fold 1 has d (unsafe, .5) below f.
    folds = [([0, 0, 1], [0.4, 0.8, 0.6]), ([1, 1, 0], [0.9, 0.5, 0.7])]
    expected = statistics.fmean(average_precision_score(truth, score) for truth, score in folds)
    assert {(one.subset, one.name): (pytest.approx(one.value), one.n) for one in quantities} == {
        # Fold 0 holds a (safe, .4) and e (unsafe, .6); fold 1 holds c (unsafe, .9) and f (safe, .7): both rank right.
        ("hate", "average_precision"): (1.0, 4),
        ("hate", "auc"): (1.0, 4),
        ("hate", "base_rate"): (0.5, 4),
        ("hate", "average_precision_counterfactual"): (expected, 6),
        # Sets of two: variances .2^2 each, on both sides of .5 in the first alone; f is alone in its set.
        ("hate", "acv"): (0.04, 2),
        ("hate", "acv_safe"): (0.04, 1),
        ("hate", "acv_unsafe"): (0.04, 1),
        ("hate", "flip_rate"): (50.0, 2),
        ("hate_religion", "acv"): (0.04, 2),
        ("hate_religion_islam", "sliced_average_safe"): ((0.4 + 0.7) / 2, 2),
        ("hate_religion_judaism", "sliced_average_safe"): (0.8, 1),
        ("hate_religion", "largest_gap_safe"): (0.8 - 0.55, 5),
        ("hate_religion_islam", "sliced_average_unsafe"): (0.9, 1),
        ("hate_religion_judaism", "sliced_average_unsafe"): (0.5, 1),
        ("hate_religion", "largest_gap_unsafe"): (0.9 - 0.5, 5),
        # Above .5 are one of two safe texts about Islam and the one about Judaism; all unsafe ones are.
        ("hate_religion", "equalised_odds_gap"): (0.5, 5),
    }
    headlines = [(one.subset, one.name) for one in quantities if one.headline]
    assert headlines == [("hate", name) for name in ("average_precision", "average_precision_counterfactual", "acv")]
    assert of_harm.alone == 1
    both = replace(part, uncalibrated={"hate": 1 - part.scores["hate"]})
    compared = [("average_precision", 1.0), ("acv", 0.04), ("acv_uncalibrated", 0.04)]
    assert [(one.name, pytest.approx(one.value)) for one in of_harm.compared(both)] == compared
    of_one_label = OfHarm(part, "hate", np.where(truth == 1, -1, truth), 0.5)
    assert [one.name for one in of_one_label.compared(both)] == ["acv", "acv_uncalibrated"]
    raw = of_harm.uncalibrated(part.scores["hate"])
    assert [one.name for one in raw] == ["acv_uncalibrated", "acv_safe_uncalibrated", "acv_unsafe_uncalibrated"]
    assert not any(one.headline for one in raw)
    # Of the seeds, c, e and f reach .6: two of them are unsafe, which are all, and one of two safe ones.
    rates = OfHarm(part, "hate", truth, 0.6).at_threshold(part.scores["hate"])
    assert [(one.name.removesuffix("_at_threshold"), pytest.approx(one.value), one.n) for one in rates] == [
        ("threshold", 0.6, 4),
        ("precision", 2 / 3, 3),
        ("recall", 1.0, 2),
        ("false_positive_rate", 0.5, 2),
        ("equalised_odds_gap", 1.0, 5),  # d is below .6
    ]


@pytest.mark.parametrize(("count", "shown"), [(18, True), (19, False)])
def test_averages_of_many_subgroups_are_not_shown(count, shown):
    texts = [SafetyText(str(k), str(k), f"Target:{k % count}", {"hate": k // count}) for k in range(2 * count)]
    scores = np.linspace(0, 1, 2 * count)[None]
    part = Predicted(texts, np.zeros((1, 2 * count), dtype=np.int64), {"hate": scores})
    found = OfHarm(part, "hate", np.repeat([0, 1], count), 0.5).quantities(scores)
    assert any(one.name == "sliced_average_safe" for one in found) == shown
    assert {"largest_gap_safe", "equalised_odds_gap"} <= {one.name for one in found}


def test_a_gap_needs_texts_of_two_subgroups():
    labels = {"Religion:Islam": (0, 1), "Religion:Judaism": (1, 1), "Gender:Women": (0, 1)}  # one subgroup alone
    texts = [SafetyText(f"{name}{k}", name, name, {"hate": k}) for name, some in labels.items() for k in some]
    scores = np.linspace(0, 1, len(texts))[None]
    part = Predicted(texts, np.zeros((1, len(texts)), dtype=np.int64), {"hate": scores})
    found = OfHarm(part, "hate", np.array([text.labels["hate"] for text in texts]), 0.5).quantities(scores)
    gaps = [(one.subset, one.name) for one in found if one.name.startswith("largest_gap")]
    assert gaps == [("hate_religion", "largest_gap_unsafe")]


def test_means_leave_out_folds_without_a_value():
    found = _mean_of_defined(np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]]))
    assert found == pytest.approx([2, 5, np.nan], nan_ok=True)


@pytest.mark.parametrize(("half", "ranked"), [(4, False), (5, True)])
def test_a_subgroup_of_few_safe_or_unsafe_texts_has_no_auc_of_its_own(half, ranked):
    truth = np.repeat([0, 1], 2 * half)
    found = Safety(of="hatecheck", threshold=0.5).measure(many(np.linspace(0, 1, 4 * half), truth))
    assert any((one.subset, one.quantity) == ("hate_target_men", "auc") for one in found.readings) == ranked


def test_a_limit_takes_whole_sets_of_every_model():
    found = judged([0.1, 0.9, 0.9, 0.1, 0.6, 0.7, 0.5])
    part = found.parts["test"]
    raw = {"test": replace(part, uncalibrated={"hate": 1 - part.scores["hate"]})}
    found = replace(found, parts=raw, beside={"smooth": replace(found, parts=raw)})
    before = Safety(of="test", threshold=0.5, limit=3).measure(found)
    after = Safety(of="test", threshold=0.5, limit=3).measure(found, before.items)
    values = {reading.quantity: reading.value for reading in after.readings if reading.subset == "hate"}
    assert before.items["hate"].tolist() == [[0.1, 0.9, 0.9, 0.1, 0.7]]  # the sets 1, 2 and 4
    assert values["acv"] == values["acv_uncalibrated"] == pytest.approx(0.16)
    assert values["acv_change_of_smooth"] == 0


def test_a_model_that_averages_is_noted_with_its_change_without_the_average():
    found, alone = judged([0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.5]), judged([0.3, 0.7, 0.7, 0.3, 0.6, 0.7, 0.5])
    part = alone.parts["test"]
    alone = replace(alone, parts={"test": replace(part, uncalibrated=part.scores)})
    before = Safety(of="test", threshold=0.5).measure(judged([0.1, 0.9, 0.9, 0.1, 0.6, 0.7, 0.5])).items
    for beside, notes in (({"unaveraged": alone}, ["-75 %"]), ({"forest": alone}, [])):
        said = Safety(of="test", threshold=0.5).measure(replace(found, beside=beside), before).notes
        assert [note.text.split("is ")[-1] for note in said if "nearly by construction" in note.text] == notes


def test_the_auc_of_other_models_and_the_gain_over_the_best_source():
    truth = np.repeat([0, 1], 20)
    good = 0.6 * truth + 0.2
    half = np.where(np.arange(40) < 10, 0.9, good)  # half of the safe texts are above the unsafe ones, which are alike

    def of_test(scores, **more):
        part = many(scores, truth).parts["hatecheck"]
        part = replace(part, uncalibrated=part.scores)
        return replace(many(scores, truth), parts={"test": part}, **more)

    sources = np.stack([1.0 - truth, np.where(truth == 1, 1, np.nan)], axis=1)  # no score counts as 0
    found = of_test(half, features=["a", "b"], source_scores=sources, beside={"forest": of_test(half)})
    benchmark = Safety(of="test", threshold=0.5)
    first = benchmark.measure(found)
    values = {one.quantity: one.value for one in first.readings if one.subset == "hate"}
    assert values["gain_over_best_source"] == pytest.approx(100 * (20 / 30 - 1))  # precision at the unsafe texts
    assert any(note.text == "the best source for hate is b" for note in first.notes)
    assert "auc_of_forest" not in values
    compared = benchmark.measure(found, benchmark.measure(of_test(good)).items)
    assert {one.quantity: one.value for one in compared.readings}["auc_of_forest"] == 0.5


def test_quantities_of_the_same_scores_are_computed_once(monkeypatch):
    computed = []
    quantities = OfHarm.quantities
    monkeypatch.setattr(OfHarm, "quantities", lambda *given: computed.append(given[1]) or quantities(*given))
    benchmark = Safety(of="test", threshold=0.5)
    first, second = judged([0.1, 0.9, 0.9, 0.1, 0.6, 0.7, 0.5]), judged([0.3, 0.7, 0.7, 0.3, 0.6, 0.7, 0.5])
    before = benchmark.measure(first).items
    benchmark.measure(second, before)
    assert len(computed) == 2
    part = second.parts["test"]
    other = replace(part, texts=[replace(text, subgroup="") for text in part.texts])
    found = benchmark.measure(replace(second, parts={"test": other}))  # other texts of the same scores
    assert len(computed) == 3
    assert not any(one.quantity == "acv" for one in found.readings)


def test_changes_are_paired():
    benchmark = Safety(of="test", threshold=0.5)
    before = benchmark.measure(judged([0.1, 0.9, 0.9, 0.1, 0.6, 0.7, 0.5]))
    after = benchmark.measure(judged([0.3, 0.7, 0.7, 0.3, 0.6, 0.7, 0.5]), before.items)
    change = next(reading for reading in after.readings if reading.quantity == "acv_change")
    assert change.value == pytest.approx(100 * (0.04 / 0.16 - 1))
    assert (change.low, change.high) == pytest.approx((-75, -75))
    assert math.isclose(next(c for c in after.comparisons if c.quantity == "acv").difference, -0.12)


def test_a_harm_without_two_labels_gives_variances_alone():
    texts = [*TEXTS[:2], SafetyText("h", "6", "Religion:Islam", {}), SafetyText("i", "6", "Religion:Judaism", {})]
    scores = np.array([[0.4, 0.8, 0.3, 0.5]])
    part = Predicted(texts, np.zeros((1, 4), dtype=np.int64), {"hate": scores, "sexual": scores})
    found = Safety(of="test", threshold=0.5).measure(Judged({"test": part}, ["one"], np.zeros((4, 1)), {}))
    assert [entry.reason for entry in found.not_run if entry.reason.startswith("the texts")] == [
        "the texts have one label only for hate; only variances are measured",
        "the texts have no label for sexual; only variances are measured",
    ]
    values = {(reading.subset, reading.quantity): reading.value for reading in found.readings}
    assert not any(quantity == "average_precision" for _, quantity in values)
    assert values["sexual", "acv"] == pytest.approx((0.04 + 0.01) / 2)  # of both sets, as nobody judged them
    alone = Predicted(texts[:1], np.zeros((1, 1), dtype=np.int64), {"hate": scores[:, :1]})
    nothing = Safety(of="test", threshold=0.5).measure(Judged({"test": alone}, ["one"], np.zeros((1, 1)), {}))
    assert [entry.reason for entry in nothing.not_run] == ["the texts have one label only for hate"]
    with pytest.raises(FairlabError, match="'hatecheck' has no scores"):
        Safety(of="hatecheck", threshold=0.5).measure(Judged({"test": part}, ["one"], np.zeros((4, 1)), {}))


def many(scores, truth):
    """A judgement of texts in pairs, each pair a set of two targets and of one truth."""
    texts = [
        SafetyText(str(k), str(k // 2), f"Target:{'women' if k % 2 else 'men'}", {"hate": one}, kind=f"case {one}")
        for k, one in enumerate(truth)
    ]
    part = Predicted(texts, np.zeros((1, len(texts)), dtype=np.int64), {"hate": np.array([scores])})
    return Judged({"hatecheck": part}, ["one"], np.zeros((len(texts), 1)), {})


def test_a_model_without_skill_is_marked_and_gets_no_change_in_per_cent():
    truth = np.repeat([0, 1], 40)
    rng = np.random.default_rng(0)
    noise, good = rng.uniform(0.2, 0.8, 80), 0.6 * truth + rng.uniform(0, 0.4, 80)
    benchmark = Safety(of="hatecheck", threshold=0.5)
    for before, after, marks in ((good, noise, ["no better than chance here"]), (noise, good, []), (good, good, [])):
        earlier = benchmark.measure(many(before, truth))
        found = benchmark.measure(many(after, truth), earlier.items)
        assert [note.mark for note in found.notes if note.mark] == marks
        changes = [one.quantity for one in found.readings if one.quantity == "acv_change"]
        assert changes == (["acv_change"] if before is after else [])
        assert ("acv" in {one.quantity for one in found.comparisons}) == (before is after)
        assert any(one.headline and one.quantity == "acv" for one in found.readings) == (before is after)
    assert "0.5 is chance" in benchmark.measure(many(noise, truth)).notes[0].text


def test_accuracy_and_auc_by_target_and_kind_of_text():
    truth = np.repeat([0, 1], [24, 16])
    scores = np.where(truth == 1, 0.9, 0.1)
    scores[1::2] = 0.5  # women: all judged hateful
    found = Safety(of="hatecheck", threshold=0.5).measure(many(scores, truth))
    values = {(one.subset, one.quantity): one.value for one in found.readings}
    assert (values["hate_target_men", "accuracy"], values["hate_target_women", "accuracy"]) == (1.0, 0.4)
    assert (values["hate_target_men", "auc"], values["hate_target_women", "auc"]) == (1.0, 0.5)
    assert (values["hate_case_case_0", "accuracy"], values["hate_case_case_1", "accuracy"]) == (0.5, 1.0)
    assert values["hate", "base_rate"] == 0.4
    assert ("hate", "gain_over_best_source") not in values


@pytest.mark.parametrize(("draws", "skilled"), [(0.5, False), (0.51, True), (np.nan, True)])
def test_the_interval_of_a_skilled_models_auc_excludes_one_half(draws, skilled):
    auc = Quantity("hate", "auc", 0.6, np.full(2000, draws), 9)
    assert (no_skill([auc]) == "") == skilled
    assert no_skill([replace(auc, name="acv")]) == ""


@pytest.mark.parametrize("threshold", [0, 1])
def test_a_threshold_is_a_probability(threshold):
    with pytest.raises(FairlabError, match="above 0 and below 1"):
        Safety(of="test", threshold=threshold)


def test_numbers_of_validation_represent_nothing():
    part = judged([0.4, 0.8, 0.9, 0.5, 0.6, 0.7, 0.99]).parts["test"]
    found = Safety(of="validation", threshold=0.5).measure(Judged({"validation": part}, ["one"], np.zeros((7, 1)), {}))
    assert found.readings
    assert not any(one.headline for one in found.readings)
    assert any(one.headline for one in Safety(of="test", threshold=0.5).measure(judged([0.5] * 7)).readings)


def test_no_variance_of_scores_is_above_that_of_half_zeros_and_half_ones():
    description = Safety(of="test", threshold=0.5).description
    assert description.quantity("acv").high == statistics.pvariance([0, 1])
