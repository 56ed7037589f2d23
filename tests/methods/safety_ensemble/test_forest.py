"""The two-pass ensemble: what each pass learns from, folds, and what it refuses."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from fairlab.benchmarks.safety import Safety
from fairlab.data.safety_texts import SafetyText
from fairlab.methods.safety_ensemble import passes
from fairlab.methods.safety_ensemble.calibration import calibration_line
from fairlab.methods.safety_ensemble.fair_reweighting import Strength, reweight
from fairlab.methods.safety_ensemble.forest import _labels
from fairlab.methods.safety_ensemble.passes import Examples, FoldModels, Part, Trainer, set_shares
from fairlab.methods.safety_ensemble.settings import Setting
from fairlab.methods.safety_ensemble.sources.stored_scores import StoredScores
from fairlab.methods.safety_ensemble.views import Views
from fairlab.metrics.acv import average_counterfactual_variance
from fairlab.types import FairlabError
from tests.conftest import WORDS
from tests.methods.safety_ensemble.conftest import MUCH, Biased, data, ensemble

NOTHING = {"lambda_safe": 0.0, "lambda_unsafe": 0.0, "beta_safe": 500.0, "beta_unsafe": 500.0}


def test_every_text_is_scored_by_models_that_saw_no_version_of_it(fitted):
    for judged in fitted.judged.values():
        for part in ("test", "validation"):
            scores = judged.parts[part].scores["toxicity"]
            assert scores.shape == (1, len(judged.parts[part].texts))
            assert ((scores >= 0) & (scores <= 1)).all()
        assert judged.contributions["toxicity"].sum() == pytest.approx(1)
        assert {len(one.contributions) for one in judged.beside.values()} <= {0}


def plain_forest(features, truth, keys, inside, seeds):
    """A forest of scikit-learn on some of the texts, each of which counts as a share of its set."""
    keys = [key for key, one in zip(keys, inside, strict=True) if one]
    sets, state = len(set(keys)), int(np.random.SeedSequence(seeds).generate_state(1)[0]) % 2**31
    forest = RandomForestClassifier(8, min_weight_fraction_leaf=3 / sets, max_samples=sets, random_state=state)
    return forest.fit(features[inside], truth[inside], sample_weight=[1 / keys.count(key) for key in keys])


def test_lambda_0_gives_the_unweighted_forest_over_sets():
    texts = data()
    method = ensemble(NOTHING)
    method.fit(texts)
    after = method.judged["after"]
    for part in ("test", "validation"):
        np.testing.assert_array_equal(
            after.parts[part].scores["toxicity"], after.beside["unweighted"].parts[part].scores["toxicity"]
        )
    folds = texts.division(0)
    features = Biased().score([text.text for text in texts.texts])
    truth = np.array([text.labels["toxicity"] for text in texts.texts])
    keys = [text.key for text in texts.texts]
    ours = after.parts["test"].uncalibrated["toxicity"][0, folds == 0]
    plain = plain_forest(features, truth, keys, (folds != 0) & (folds != 1), [0, 0, 0])
    np.testing.assert_allclose(ours, np.clip(plain.predict_proba(features[folds == 0])[:, 1], 1e-6, 1 - 1e-6))
    # The exported model is trained on all folds but the second one, with a seed of its own.
    (exported,) = method.models["after"]["toxicity"].pipelines
    plain = plain_forest(features, truth, keys, folds != 1, [0, 1, 0])
    np.testing.assert_allclose(exported.predict_proba(features), plain.predict_proba(features))
    assert method.facts()["settings"] == {}  # there is nothing to choose
    assert method.compared["toxicity"].scores == {}
    counts = next(iter(method.facts()["sampled"].values()))
    assert sum(counts["safe"].values()) > 0  # sampled in vain


def test_two_seeds_of_three_fill_no_more_than_half_of_a_tree():
    features = np.array([[0.0, np.nan], [1.0, np.nan], [2.0, np.nan]])
    trainer = Trainer("forest", 2, 1)
    found = trainer.fitted(features, np.array([0, 1, 1]), np.ones(3), 0, leaf=2, sets=3)
    assert found[-1].min_weight_fraction_leaf == 0.5
    assert found[:-1].transform(features).tolist() == [[0, 0], [1, 0], [2, 0]]  # a source that gave no score is 0


def test_a_leaf_holds_seeds_however_many_versions_they_have():
    """Nine versions of one seed fill no leaf of two seeds; alone among seeds they would."""
    views = Views(np.array([[float(k)] for k in range(10)] + [[20.0], [21.0]]))
    truth = np.array([1] * 10 + [0, 0])
    sets = np.array([0] * 10 + [1, 2])
    trainer = Trainer("forest", 5, 1)
    found = trainer.fitted(views.text, truth, set_shares(sets), 0, leaf=2, sets=3)
    for tree in found[-1].estimators_:
        leaves = tree.tree_.children_left < 0
        assert (tree.tree_.weighted_n_node_samples[leaves] >= 2 - 1e-9).all()


def test_models_are_calibrated_on_the_held_out_seeds_and_not_on_their_versions():
    """Versions that are all labelled against the scores would turn the line, and texts without a label as well."""
    generator = np.random.default_rng(0)
    truth = np.tile([0, 1], 60)
    scores = truth + generator.normal(size=120)
    seed = np.arange(120) < 80
    truth[~seed] = 1 - truth[~seed]
    truth[1:80:7] = -1
    train = np.arange(120) % 4 < 2
    examples = Examples(Views(scores[:, None]), truth, seed, np.full(120, -1), 0, np.arange(120))
    models = FoldModels(Trainer("logistic", 1, 1), examples, Part(train, ~train, np.zeros(120, dtype=bool)), 0)
    chosen = ~train & seed & (truth >= 0)
    line = calibration_line(models.baseline.model.pipelines[0].decision_function(scores[chosen, None]), truth[chosen])
    assert (models.baseline.model.slope, models.baseline.model.intercept) == pytest.approx(line, rel=1e-6)
    taught = train & seed & (truth >= 0)
    alone = models.trainer.fitted(scores[taught, None], truth[taught], np.ones(taught.sum()), 0, leaf=1, sets=None)
    same = models.baseline.model.pipelines[0].decision_function(scores[:, None])
    np.testing.assert_allclose(alone.decision_function(scores[:, None]), same)
    versions_too = ~train & (truth >= 0)
    everything = calibration_line(
        models.baseline.model.pipelines[0].decision_function(scores[versions_too, None]), truth[versions_too]
    )
    assert abs(line[0] - everything[0]) > 0.1


STRONG = Strength(0.5, 0.1, 3, 2)
STATE = 2**31 + 5


def small(**more):
    """Models on 30 seeds, each with a version about one of two subgroups, and calibrated on ten others."""
    generator = np.random.default_rng(1)
    truth, sets = np.tile([0, 0, 1, 1], 20), np.arange(80) // 2
    scores = truth[:, None] + generator.normal(size=(80, 2))
    views = Views(scores, scores + generator.normal(size=(80, 2)), scores, np.arange(80), np.arange(80))
    examples = Examples(views, truth, np.arange(80) % 2 == 0, np.tile([-1, 0, -1, 1, -1, 1], 14)[:80], 2, sets)
    part = Part(sets < 30, sets >= 30, np.zeros(80, dtype=bool))
    return FoldModels(Trainer("forest", 3, 2, **more), examples, part, STATE)


def test_examples_are_reweighted_by_the_baselines_averages_on_validation_texts():
    models = small()
    examples, held = models.examples, models.part.validation
    scores, train = models.baseline.scores(models.held)[0], models.part.train
    averages = [
        [scores[(examples.slices[held] == k) & (examples.truth[held] == of)].mean() for k in (0, 1)] for of in (0, 1)
    ]
    expected = reweight(examples.slices[train], examples.truth[train], averages, STRONG, np.random.default_rng(STATE))
    made = models.sampled(STRONG)
    np.testing.assert_array_equal(made.weights, expected.weights)
    np.testing.assert_allclose(made.probabilities, expected.probabilities)
    assert made.counts.sum(axis=1).tolist() == [60, 60]


def test_controls_differ_in_one_part_each(monkeypatch):
    asked, regression = [], passes.paired_logistic

    def noted(features, truth, sets, weights, penalty, state, *, evenly, kernel):
        asked.append((penalty, evenly, len(truth), round(weights.sum(), 6), state, kernel is not None))
        return regression(features, truth, sets, weights, penalty, state, evenly=evenly, kernel=kernel)

    monkeypatch.setattr(passes, "paired_logistic", noted)
    made = small(pairing=(3.0,), rivals=("blind", "average"), view="average").named(Setting(4, 2.0, STRONG))
    assert {name: (shown.view, len(shown.model.pipelines)) for name, shown in made.items()} == {
        **{"before": ("text", 1), "smooth": ("text", 2), "unweighted": ("text", 2), "forest": ("text", 1)},
        **{"undebiased": ("text", 2), "paired 3": ("text", 1), "unaveraged": ("text", 2), "average": ("average", 1)},
        **{"blind": ("blind", 1), "after": ("average", 2)},
    }
    assert sorted(asked) == [
        (0.0, False, 30, 30, 5, False),  # the undebiased one, on seeds alone
        (2.0, False, 60, 30, 5, True),  # the debiased one, which the unweighted and the unaveraged ones share
        (2.0, True, 60, 30, 5, True),  # the smooth one
        (3.0, False, 60, 30, 5, True),  # the paired one
    ]
    forests = [pipeline[-1] for shown in made.values() for pipeline in shown.model.pipelines if len(pipeline) == 2]
    assert {forest.random_state for forest in forests} == {5}
    asked.clear()
    made = small().named(Setting(4, None, STRONG))
    assert {name: len(shown.model.pipelines) for name, shown in made.items()} == dict.fromkeys(
        ("before", "smooth", "unweighted", "forest", "undebiased", "after"), 1
    )
    assert asked == []


def test_what_is_known_of_the_texts_for_a_harm():
    rows = [("a", "x", "", {"hate": 1}, True), ("b", "x", "B", {"hate": 0}, False), ("c", "y", "A", {}, True)]
    method = ensemble(reweighting={"others": MUCH})
    method.subgroups = ["A", "B"]
    part = Part(*np.eye(3, dtype=bool))
    made = method._make_fold_models("hate", [SafetyText(*row) for row in rows], Views(np.zeros((3, 1))), part, (0, 0))
    found = made.examples
    assert (found.truth.tolist(), found.seed.tolist(), found.slices.tolist(), found.sets.tolist(), found.subgroups) == (
        *([1, 0, -1], [True, False, True], [-1, 1, 0], [0, 0, 1], 2),
    )


@pytest.mark.slow
def test_controls_and_rivals_stand_beside():
    method = ensemble(MUCH, penalty=1, pairing=[0, 10], rivals=["blind", "average"])
    method.fit(data())
    beside = method.judged["after"].beside
    assert set(beside) == {
        *("smooth", "unweighted", "forest", "undebiased"),
        *("paired 0", "paired 10", "blind", "average"),
    }
    before = Safety(of="test", threshold=0.5).measure(method.judged["before"])
    after = Safety(of="test", threshold=0.5).measure(method.judged["after"], before.items)
    found = {one.quantity: one.value for one in after.readings if one.subset == "toxicity"}
    assert found["acv_uncalibrated_change_of_paired_10"] < found["acv_uncalibrated_change_of_paired_0"]
    # The lists that make the versions take the identities away as well.
    assert found["acv_change_of_blind"] < -50
    assert found["acv_change_of_average"] < -15  # over reference groups, of which the made words are few
    share = (1 + found["acv_change"] / 100) / (1 + found["acv_change_of_smooth"] / 100)
    assert found["acv_change_from_smooth"] == pytest.approx(100 * (share - 1))
    raw = {
        phase: average_counterfactual_variance(
            part.uncalibrated["toxicity"][0], [text.key if text.subgroup else None for text in part.texts]
        )
        for phase, part in ((phase, method.judged[phase].parts["test"]) for phase in ("before", "after"))
    }
    assert found["acv_uncalibrated_change"] == pytest.approx(100 * (raw["after"] / raw["before"] - 1))


@pytest.mark.slow
def test_versions_in_the_leaves_narrow_the_sets_more_than_smoothing():
    method = ensemble({"lambda_safe": 0.5, "lambda_unsafe": 0.05, "beta_safe": 10, "beta_unsafe": 10}, trees=40, leaf=6)
    method.fit(data(folds=5))  # the sample is of few templates: three folds that share none train on too few
    before = Safety(of="test", threshold=0.5).measure(method.judged["before"])
    after = Safety(of="test", threshold=0.5).measure(method.judged["after"], before.items)
    found = {one.quantity: one.value for one in after.readings if one.subset == "toxicity"}
    assert found["acv_change"] < 0
    assert found["acv_change_from_smooth"] < 0


@pytest.mark.slow
def test_a_chosen_setting_is_that_of_the_run_which_has_it_alone():
    """Chosen by validation texts outside of the test fold; the models of the fold are then those of that setting."""
    chosen = ensemble(penalty=[None, 10], leaf=[3, 6])
    chosen.fit(data())
    facts = chosen.facts()["settings"]["toxicity"]
    names = ["leaf 3, penalty null", "leaf 3, penalty 10", "leaf 6, penalty null", "leaf 6, penalty 10"]
    assert [one["name"] for one in facts["validation"]] == names
    folds = data().division(0)
    for fold, name in enumerate(facts["by_test_fold"]):
        setting = chosen.settings["toxicity"][name]
        alone = ensemble(penalty=setting.penalty, leaf=setting.leaf)
        alone.fit(data())
        np.testing.assert_array_equal(
            chosen.judged["after"].parts["test"].scores["toxicity"][0, folds == fold],
            alone.judged["after"].parts["test"].scores["toxicity"][0, folds == fold],
        )
    assert facts["exported"] in names
    for other in chosen.judged["after"].beside.values():  # every fold has all controls, whatever its setting
        assert (other.parts["test"].scores["toxicity"] > 0).all()
    pipelines = chosen.models["after"]["toxicity"].pipelines
    assert len(pipelines) == (1 if facts["exported"].endswith("null") else 2)


def test_a_logistic_regression_takes_missing_scores_as_well():
    class Forgetful(Biased):
        def score(self, texts):
            scores = super().score(texts)
            scores[::5, 1] = np.nan
            return scores

    method = ensemble(kind="logistic", sources=[Forgetful()])
    method.fit(data())
    assert not np.isnan(method.judged["after"].parts["test"].scores["toxicity"]).any()
    assert method.facts()["texts_without_a_score"]["biased"] > 0


def test_what_cannot_be_is_refused():
    with pytest.raises(FairlabError, match="no values for hate"):
        ensemble(harms=["hate"])
    with pytest.raises(FairlabError, match=r"method\.leaf must be at least 1, not 0"):
        ensemble(leaf=[0, 3])
    with pytest.raises(FairlabError, match=r"method\.penalty must be at least 0"):
        ensemble(penalty=-1)
    with pytest.raises(FairlabError, match="must not be empty lists"):
        ensemble(penalty=[])
    with pytest.raises(FairlabError, match=r"method\.rivals may be blind, average, not deaf"):
        ensemble(rivals=["deaf"])
    with pytest.raises(FairlabError, match=r"method\.pairing must hold weights of at least 0"):
        ensemble(pairing=[-1])
    with pytest.raises(FairlabError, match=r"method\.inputs asks for 3 scores, but the sources give 2"):
        ensemble(inputs=3)
    assert ensemble(pairing=[0], inputs=2).trainer.pairing == (0,)


def test_a_harm_that_training_seeds_of_a_fold_do_not_show_is_refused(tmp_path):
    """The only unsafe seed is in one fold: without it, there is nothing to learn from."""
    rows = [f"{WORDS[k % 11]} {WORDS[(3 * k + 1) % 11]} {k},{int(k == 0)},{k % 2}" for k in range(30)]
    (tmp_path / "own.csv").write_text("\n".join(["text,hate,spam", *rows]) + "\n")
    texts = data(name="own", path=str(tmp_path / "own.csv"), augmentation=None)
    ensemble(harms=["spam"], reweighting={"others": MUCH}).check_data(texts)
    with pytest.raises(FairlabError, match=r"fewer than two labels for hate; give method\.harms=\[spam\], or"):
        ensemble(harms=["hate", "spam"], reweighting={"others": MUCH}).check_data(texts)
    with pytest.raises(FairlabError, match=r"fewer than two labels for hate; give method\.harms=\[spam\], or"):
        ensemble(harms=None, reweighting={"others": MUCH}).check_data(texts)
    with pytest.raises(FairlabError, match="fewer than two labels for hate; label other texts"):
        ensemble(harms=["hate"], reweighting={"others": MUCH}).check_data(texts)


def test_what_cannot_train_is_told_without_scoring(tmp_path):
    texts = data()
    ensemble().check_data(texts)
    with pytest.raises(FairlabError, match="no text is labelled for hate"):
        ensemble(harms=["hate"], reweighting={"hate": MUCH}).check_data(texts)
    stored = tmp_path / "scores.csv"
    stored.write_text("text,hate\nA text of other data.,0.5\n")
    with pytest.raises(FairlabError, match="the source stored has no score of any of the"):
        ensemble(sources=[Biased(), StoredScores(path=str(stored))]).check_data(texts)
    with stored.open("a") as lines:
        csv.writer(lines).writerows([text.text, 0.1] for text in texts.texts if text.seed)
    versions = {text.text for text in texts.made} - {text.text for text in texts.texts if text.seed}
    with pytest.raises(FairlabError, match=r"it has scores of only some texts, .*=identity writes the texts of all"):
        ensemble(sources=[Biased(), StoredScores(path=str(stored))]).check_data(texts)
    with stored.open("a") as lines:
        csv.writer(lines).writerows([text, ""] for text in versions)  # empty cells, for scores that are unknown
    ensemble(sources=[Biased(), StoredScores(path=str(stored))]).check_data(texts)


@pytest.mark.slow
def test_texts_that_are_always_trained_on_change_the_models_and_are_never_measured(fitted):
    method = ensemble(penalty=[1, 3])
    method.fit(data(always_trained=["embedded/safety"]))
    judged, own = method.judged["after"], data().texts
    for part in (judged.parts["test"], judged.parts["validation"]):
        assert list(part.texts) == own
        assert (part.folds >= 0).all()
        assert (part.scores["toxicity"] > 0).all()
    assert len(judged.source_scores) == len(own)
    before = fitted.judged["before"].parts["test"].scores["toxicity"]
    assert np.abs(before - method.judged["before"].parts["test"].scores["toxicity"]).max() > 0.01


def test_a_text_without_a_label_is_neither_safe_nor_harmful():
    texts = [SafetyText("a", "1", "", {"hate": 0}), SafetyText("b", "2", "", {"hate": 1}), SafetyText("c", "3", "", {})]
    assert _labels(texts, "hate").tolist() == [0, 1, -1]
