"""The two-pass ensemble: what each pass learns from, folds, export, scoring of new texts, and its measures."""

from __future__ import annotations

import json
import math
import statistics
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score

from fairlab.augmentation.identity import Identity
from fairlab.benchmarks.safety import OfHarm, Safety
from fairlab.data.safety import Judged, Predicted, SafetyData, SafetyText
from fairlab.ensemble.export import load_ensemble, save_ensemble
from fairlab.ensemble.forest import SafetyEnsemble
from fairlab.ensemble.scoring import score_stream
from fairlab.ensemble.sources import Sentiment, Sources
from fairlab.types import FairlabError

NOTHING = {"lambda_safe": 0.0, "lambda_unsafe": 0.0, "beta_safe": 500.0, "beta_unsafe": 500.0}
MUCH = {"lambda_safe": 5.0, "lambda_unsafe": 1.0, "beta_safe": 500.0, "beta_unsafe": 500.0}


class Biased:
    """A source that goes by what a text says and, wrongly, by whom it is about."""

    name, version, outputs = "biased", "1", ("harm", "identity")

    def score(self, texts):
        harm = [0.7 * any(word in text for word in ("awful", "useless", "dull")) + len(text) % 7 / 20 for text in texts]
        about = [0.9 * any(word in text for word in ("Muslim", "homosexual", "Black")) for text in texts]
        return np.stack([np.array(harm) + 0.3 * np.array(about), about], axis=1)


def data(**more):
    settings = {"name": "embedded/safety", "path": None, "held_out": [], "folds": 3, "repeats": 1, "seed": 0}
    return SafetyData(**settings | {"augmentation": Identity()} | more)


def ensemble(strength=MUCH, **more):
    settings = {"harms": ["toxicity"], "kind": "forest", "trees": 8, "leaf": 3, "cache": None, "seed": 0}
    return SafetyEnsemble([Biased()], reweighting={"toxicity": strength}, **settings | more)


@pytest.fixture(scope="module")
def fitted():
    method = ensemble()
    method.fit(data())
    return method


def test_every_text_is_scored_by_models_that_saw_no_version_of_it(fitted):
    for judged in fitted.judged.values():
        for part in ("test", "validation"):
            scores = judged.parts[part].scores["toxicity"]
            assert scores.shape == (1, len(judged.parts[part].texts))
            assert ((scores >= 0) & (scores <= 1)).all()


def test_lambda_0_gives_the_unreweighted_forest():
    texts = data()
    method = ensemble(NOTHING)
    method.fit(texts)
    folds = texts.division(0)
    features = Biased().score([text.text for text in texts.texts])
    truth = np.array([text.labels["toxicity"] for text in texts.texts])
    train = (folds != 0) & (folds != 1)
    state = int(np.random.SeedSequence([0, 0, 0]).generate_state(1)[0]) % 2**31
    plain = RandomForestClassifier(8, min_samples_leaf=3, random_state=state).fit(features[train], truth[train])
    # Calibration is monotone, so that the order of all test scores is that of the plain forest.
    ours = method.judged["after"].parts["test"].scores["toxicity"][0, folds == 0]
    theirs = plain.predict_proba(features[folds == 0])[:, 1]
    order = np.argsort(theirs)
    assert (np.diff(ours[order]) >= -1e-12).all()
    assert len(np.unique(ours.round(9))) == len(np.unique(np.clip(theirs, 1e-6, 1 - 1e-6).round(9)))
    counts = next(iter(method.facts()["sampled"].values()))
    assert sum(counts["safe"].values()) > 0  # sampled in vain


def test_debiasing_narrows_the_sets(fitted):
    before, after = (Safety(of="test", threshold=0.5).measure(fitted.judged[phase]) for phase in ("before", "after"))
    value = {
        phase: next(r.value for r in found.readings if (r.subset, r.quantity) == ("toxicity", "acv"))
        for phase, found in (("before", before), ("after", after))
    }
    assert value["after"] <= value["before"]


@pytest.mark.parametrize("kind", ["boosting", "logistic"])
def test_other_models_take_missing_scores_as_well(kind):
    class Forgetful(Biased):
        def score(self, texts):
            scores = super().score(texts)
            scores[::5, 1] = np.nan
            return scores

    method = SafetyEnsemble(
        [Forgetful()],
        harms=["toxicity"],
        kind=kind,
        trees=5,
        leaf=3,
        reweighting={"toxicity": MUCH},
        cache=None,
        seed=0,
    )
    method.fit(data())
    assert not np.isnan(method.judged["after"].parts["test"].scores["toxicity"]).any()
    assert method.facts()["texts_without_a_score"]["biased"] > 0


def test_an_exported_ensemble_scores_alike_and_is_checked(fitted, tmp_path):
    fitted.finish(tmp_path)
    assert set(json.loads((tmp_path / "look.json").read_text())) == {"toxicity"}
    folder = tmp_path / "model"
    loaded = load_ensemble(folder)
    texts = ["An awful day.", "A lovely day.", "x" * 1_000_000, ""]
    features = fitted.sources.score(texts)
    expected = fitted.models["after"]["toxicity"].score(features)
    np.testing.assert_array_equal(loaded.score(Sources([Biased()]), texts)["toxicity"], expected)
    with pytest.raises(FairlabError, match="was trained on"):
        loaded.score(Sources([Sentiment()]), texts)
    (folder / "toxicity.skops").write_bytes(b"something else")
    with pytest.raises(FairlabError, match="is not the file that was exported"):
        load_ensemble(folder)
    with pytest.raises(FairlabError, match="holds no ensemble"):
        load_ensemble(tmp_path)


class Strange:
    """What no ensemble holds."""


def test_a_file_with_strange_content_is_refused(fitted, tmp_path):
    from fairlab.ensemble.model import HarmModel

    save_ensemble({"toxicity": HarmModel(Strange(), 1.0, 0.0)}, fitted.sources, tmp_path)
    with pytest.raises(FairlabError, match="which no ensemble holds"):
        load_ensemble(tmp_path)


def lengths():
    return lambda texts: [{"length": float(len(text))} for text in texts]


@pytest.mark.parametrize("num_proc", [1, 2])
def test_streams_are_scored_in_order(num_proc, monkeypatch):
    monkeypatch.setattr("fairlab.ensemble.scoring.CHUNK", 3)
    items = ["a" * k for k in range(10)]
    found = list(score_stream(items, str, partial(lengths), num_proc=num_proc))
    assert found == [(item, {"length": float(len(item))}) for item in items]


def test_what_cannot_be_is_refused():
    with pytest.raises(FairlabError, match=r"method\.kind must be forest, boosting, logistic"):
        ensemble(kind="svm")
    with pytest.raises(FairlabError, match="no values for hate"):
        ensemble(harms=["hate"])
    with pytest.raises(FairlabError, match=r"method\.trees and method\.leaf"):
        ensemble(trees=0)
    one_label = SafetyEnsemble(
        [Biased()], harms=["hate"], kind="forest", trees=2, leaf=1, reweighting={"hate": MUCH}, cache=None, seed=0
    )
    with pytest.raises(FairlabError, match="fewer than two labels for hate"):
        one_label.fit(data())
    with pytest.raises(FairlabError, match="num_proc must be at least 1"):
        list(score_stream([], str, partial(lengths), num_proc=0))


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
    quantities = OfHarm(part, "hate", truth, 0.5).quantities(part.scores["hate"])
    found = {(entry.subset, entry.name): entry for entry in quantities}
    # Fold 0 holds a (safe, .4) and e (unsafe, .6); fold 1 holds c (unsafe, .9) and f (safe, .7): both rank right.
    assert found["hate", "average_precision"].value == 1.0
    # With versions fold 0 has b (safe, .8) above e; fold 1 has d (unsafe, .5) below f.
    folds = [([0, 0, 1], [0.4, 0.8, 0.6]), ([1, 1, 0], [0.9, 0.5, 0.7])]
    expected = statistics.fmean(average_precision_score(truth, score) for truth, score in folds)
    assert found["hate", "average_precision_counterfactual"].value == pytest.approx(expected)
    # Sets of two: variances .2^2 each; f is alone in its set.
    assert found["hate", "acv"].value == pytest.approx(0.04)
    assert found["hate", "acv"].n == 2
    assert found["hate", "flip_rate"].value == 50.0
    assert found["hate_religion_islam", "sliced_average_safe"].value == pytest.approx(0.55)
    assert found["hate_religion", "largest_gap_safe"].value == pytest.approx(0.25)
    assert found["hate_religion", "largest_gap_unsafe"].value == pytest.approx(0.4)


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
    with pytest.raises(FairlabError, match="nothing was scored of 'hatecheck'"):
        Safety(of="hatecheck", threshold=0.5).measure(Judged({"test": part}, ["one"], np.zeros((4, 1)), {}))
