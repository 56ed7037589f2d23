"""Mended classifiers: thresholds, equalized odds beside fairlearn's own, their file, and the audit of both."""

import json

import numpy as np
import pytest
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.base import BaseEstimator

import fairlab
from fairlab.audit.any_classifier import AnyClassifier
from fairlab.audit.beside import beside_first
from fairlab.audit.classifiers import as_classifier
from fairlab.audit.data import LabelledRows
from fairlab.audit.group_rates import members_of
from fairlab.audit.mending import Rule, fit_rule, mended, read_rule, with_rule
from fairlab.audit.odds import OTHER, chance_of, fit_chances
from fairlab.audit.outputs import cuts_of, decided, predicted
from fairlab.audit.thresholds import chosen_cuts, reached
from fairlab.record import Comparison
from fairlab.types import FairlabError


def drawn(n=400, seed=0):
    """Truth, probabilities that are lower for women with the label, and groups."""
    rng = np.random.default_rng(seed)
    truth, groups = rng.integers(0, 2, n).astype(float), np.array(["man", "woman"])[rng.integers(0, 2, n)]
    scores = np.clip(0.35 + 0.3 * truth - 0.15 * (groups == "woman") * truth + rng.normal(0, 0.15, n), 0.01, 0.99)
    return truth, scores, groups


def rows(truth, scores, groups, kind="one", labels=("no", "yes")):
    fields = [[f"text {k} of {score:.6f}"] for k, score in enumerate(scores)]
    return LabelledRows([str(k) for k in range(len(truth))], fields, truth, labels, kind, {"sex": list(groups)})


def of_scores(texts):
    return [float(text.split()[-1]) for text in texts]


def test_chances_are_those_of_fairlearn():
    truth, scores, groups = drawn()
    chances = fit_chances(truth, scores, list(groups), "yes")

    class Given(BaseEstimator):
        classes_ = (0, 1)

        def fit(self, *_):
            return self

        def __sklearn_is_fitted__(self):
            return True

        def predict_proba(self, x):
            return np.concatenate([1 - x, x], axis=1)

    theirs = ThresholdOptimizer(
        estimator=Given(), constraints="equalized_odds", prefit=True, predict_method="predict_proba"
    )
    theirs.fit(scores[:, None], truth, sensitive_features=groups)
    expected = theirs._pmf_predict(scores[:, None], sensitive_features=groups)[:, 1]
    np.testing.assert_allclose(chance_of(scores, list(groups), chances), expected, atol=1e-12)


def test_chances_equalize_the_odds():
    truth, scores, groups = drawn()
    found = chance_of(scores, list(groups), fit_chances(truth, scores, list(groups), "yes"))
    for actual in (0, 1):
        plain, after = (
            [side[(groups == name) & (truth == actual)].mean() for name in ("man", "woman")]
            for side in ((scores > 0.5).astype(float), found)
        )
        assert abs(after[0] - after[1]) < 0.02
    assert abs(plain[0] - plain[1]) > 0.2  # of those with the label


def test_small_groups_and_unknown_ones_share_a_rule():
    truth, scores, groups = drawn()
    named = ["few" if k < 5 else one for k, one in enumerate(groups)]
    chances = fit_chances(truth, scores, named, "yes")
    assert set(chances) == {OTHER, "man", "woman"}
    assert chance_of(np.array([0.6, 0.4]), ["few", "never seen"], chances).tolist() == [1.0, 0.0]
    with pytest.raises(FairlabError, match="fewer than two groups of fit have 20 rows with and without 'yes'"):
        fit_chances(truth, scores, ["man"] * len(truth), "yes")


def test_thresholds_keep_the_accuracy_and_narrow_the_gap():
    truth, scores, groups = drawn()
    data, members = rows(truth, scores, groups), [members_of(groups)]
    outputs, start = np.stack([1 - scores, scores], axis=1), np.array([0.5, 0.5])
    cuts = chosen_cuts(data, outputs, members, start, 0.03)
    before, after = (reached(data, outputs, members, one) for one in (start, cuts))
    assert after.gap < before.gap
    assert after.accuracy >= before.accuracy - 0.03
    assert before.accuracy == pytest.approx(((scores >= 0.5) == truth).mean())
    by_hand = [
        np.ptp([((scores >= 0.5) != truth)[(groups == g) & (truth == t)].mean() for g in ("man", "woman")])
        for t in (0, 1)
    ]
    assert before.gap == pytest.approx(max(by_hand))


def test_a_threshold_of_three_labels_moves_what_is_predicted():
    outputs = np.array([[0.5, 0.3, 0.2], [0.4, 0.35, 0.25]])
    assert predicted(outputs, "one", np.full(3, 0.5)).tolist() == [0, 0]
    assert predicted(outputs, "one", np.array([0.5, 0.4, 0.5])).tolist() == [0, 1]


def test_a_rule_comes_back_from_its_file_and_is_checked(tmp_path):
    truth, scores, groups = drawn()
    model = AnyClassifier("m", lambda texts: of_scores([one[0] for one in texts]))
    for way in ("threshold", "odds"):
        rule = fit_rule(way, model, rows(truth, scores, groups), 2.0)
        rule.save(tmp_path / "mended.json")
        assert read_rule(tmp_path / "mended.json") == rule
    found = mended(model, rule)
    texts = [[*fields, group] for fields, group in zip(rows(truth, scores, groups).fields, groups, strict=True)]
    outputs = found.call(texts)
    np.testing.assert_allclose(outputs[:, 1], chance_of(scores, list(groups), rule.chances["yes"]), atol=1e-5)
    labels = decided(found, texts, outputs, "one", np.array([0.5, 0.5]))
    assert abs(labels.mean() - outputs[:, 1].mean()) < 0.05  # drawn with these chances
    assert (labels == decided(found, texts, outputs, "one", np.array([0.5, 0.5]))).all()
    (tmp_path / "mended.json").write_text(json.dumps({"way": "threshold", "cuts": {"yes": "high"}}))
    with pytest.raises(FairlabError, match=r"mended\.json"):
        read_rule(tmp_path / "mended.json")


ALWAYS = {"ignoring": 0.0, "constant": 0.0, "steps": [{"above": True, "threshold": 0.5, "weight": 1.0}]}


@pytest.mark.parametrize(
    "rule",
    [
        Rule("threshold", "one", ["no", "yes"], {"no": 0.5}),
        Rule("threshold", "one", [], {}),
        Rule("threshold", "one", ["no", "yes"], {"no": 0.5, "yes": 0.4}, "sex"),
        Rule("odds", "one", ["no", "yes"], column="sex"),
        Rule("odds", "one", ["no", "yes"], column="sex", chances={"no": {OTHER: ALWAYS}}),
        Rule("odds", "one", ["no", "yes"], column="sex", chances={"yes": {"man": ALWAYS}}),
        Rule("odds", "one", ["no", "yes"], chances={"yes": {OTHER: ALWAYS}}),
    ],
)
def test_a_rule_with_a_part_missing_is_refused(rule, tmp_path):
    rule.save(tmp_path / "mended.json")
    with pytest.raises(FairlabError, match=r"mended\.json is not a complete rule for the labels that it lists \("):
        read_rule(tmp_path / "mended.json")


@pytest.mark.parametrize(
    ("labels", "kind", "words"),
    [
        (("a", "b", "c"), None, "fitted for one of the labels no, yes, but m returns one of a, b, c; give the rule"),
        (("yes", "no"), "one", "but m returns one of yes, no"),
        ((), "score", "but m returns score of a score"),
    ],
)
def test_a_rule_of_another_model_is_refused(labels, kind, words, tmp_path):
    Rule("threshold", "one", ["no", "yes"], {"no": 0.5, "yes": 0.7}).save(tmp_path / "mended.json")
    with pytest.raises(FairlabError) as error:
        with_rule(AnyClassifier("m", of_scores, labels, kind), tmp_path)
    assert words in str(error.value)


def test_a_threshold_of_a_label_that_the_data_lacks_is_not_ignored():
    model = AnyClassifier("m", of_scores, thresholds=(("YES", 0.7),))
    assert cuts_of(model, ["no", "yes"], 0.5).tolist() == [0.5, 0.7]
    with pytest.raises(FairlabError, match="m has a threshold for 'YES', but the labels are ham, spam; leave"):
        cuts_of(model, ["ham", "spam"], 0.5)


def test_three_exclusive_labels_and_scores_are_refused():
    truth, scores, groups = drawn()
    three = rows(truth, scores, groups, labels=("a", "b", "c"))
    model = AnyClassifier("m", lambda texts: np.full((len(texts), 3), 1 / 3))
    with pytest.raises(FairlabError, match="mend=odds needs two labels, or several per text, not 3"):
        fit_rule("odds", model, three, 2.0)
    with pytest.raises(FairlabError, match="the model gives scores"):
        fit_rule("threshold", model, rows(truth, scores, groups, "score"), 2.0)


def people(start, count=200):
    """Letters whose senders are men or women, rated by a function that trusts men more."""
    rng = np.random.default_rng(start)
    return [
        {"text": f"{who} sent letter {start + k}.", "label": "yes" if rng.random() < 0.5 else "no", "sex": who}
        for k in range(count)
        for who in ("He", "She")
    ]


def trusting(table):
    """A function that knows each letter's label, and is less sure of those by women."""
    known = {int(one["text"].split()[-1][:-1]) + 10**6 * (one["sex"] == "She"): one["label"] for one in table}

    def call(texts):
        found = []
        for text in texts:
            who, number = text.split()[0], "".join(filter(str.isdigit, text))
            label = known.get(int(number) + 10**6 * (who == "She"), "no")
            noise = (int(number) * 7919 % 100) / 250
            found.append((0.62 if label == "yes" else 0.25) - (0.22 if who == "She" else 0) + noise * 0.5)
        return found

    return call


@pytest.mark.parametrize(("way", "group"), [("threshold", "sex"), ("odds", "sex"), ("odds", None)])
@pytest.mark.slow
def test_both_models_are_audited_and_the_mended_one_again(way, group, tmp_path):
    fit, test = people(0), people(1000)
    model = trusting([*fit, *test])
    given = {"group": group, "mode": "lexical"}
    found = fairlab.audit(model, test, mend=way, fit=fit, keep=50, **given)
    column = group or "people_gender"
    gaps = [found[f"{label}/audit/{column}/equalized_odds"] for label in ("plain", "mended")]
    assert gaps[0] > 40
    assert gaps[1] < gaps[0] - 20
    assert "Compared with plain: " in found.sentence
    assert "Accuracy is kept within 50 points" in found.sentence
    assert found.answers["mended"].sentence.count("Compared with plain") == 1
    again = fairlab.audit(found.models["mended"], test, **given)
    assert again[f"audit/{column}/equalized_odds"] == gaps[1]
    found.save(tmp_path / "run")
    stored = mended(as_classifier(model), read_rule(tmp_path / "run" / "mended.json"))
    assert fairlab.audit(stored, test, **given)[f"audit/{column}/equalized_odds"] == gaps[1]


def test_a_model_with_its_rule_is_named_by_an_at_sign(tmp_path, monkeypatch):
    (tmp_path / "named.py").write_text("def half(texts):\n    return [0.5] * len(texts)\n")
    monkeypatch.chdir(tmp_path)
    Rule("threshold", "one", ["no", "yes"], {"no": 0.5, "yes": 0.7}).save(tmp_path / "mended.json")
    for place in ("mended.json", tmp_path):
        found = as_classifier(f"named:half@{place}")
        assert dict(found.thresholds) == {"no": 0.5, "yes": 0.7}
        assert found.labels == ("no", "yes")
    with pytest.raises(FairlabError, match=r"model=@mended\.json names no model; write the model's name before '@'"):
        as_classifier("@mended.json")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mend": "odds"}, "mend=odds needs fit=FILE"),
        ({"mend": "odds", "fit": people(1000)}, "400 texts of fit are also audited"),
        ({"mend": "colour", "fit": people(0)}, "mend must be threshold or odds or null, not colour"),
        ({"fit": people(0)}, "fit= is used only by mend="),
    ],
)
def test_bad_input_of_mending(more, words):
    with pytest.raises(FairlabError) as error:
        fairlab.audit(lambda texts: [0.5] * len(texts), people(1000), mode="lexical", **more)
    assert words in str(error.value)


def test_what_is_said_beside_the_first():
    def change(quantity, difference, low, high, p, n=90):
        return Comparison("audit", "gender", quantity, difference, "points", low, high, p, n, True, p, "b less a")

    shift, kept = change("shift", -3.0, -4.0, -2.0, 0.01), change("model_accuracy", -0.5, -1.5, 0.5, 0.3)
    assert beside_first([shift, kept], "a", 2) == (
        "Compared with a: shift with gender -3.0 points [-4.0, -2.0] (p 0.01 after Holm). "
        "Accuracy is kept within 2 points: -0.5 points [-1.5, +0.5]."
    )
    assert "not shown to be kept within 1 points" in beside_first([kept], "a", 1)
    few = [change("shift", -3.0, -4.0, -2.0, 0.01, 12), change("model_accuracy", 0.0, 0.0, 0.0, 1.0, 12)]
    assert beside_first(few, "a", 1) == (
        "Compared with a: no headline number differs beyond chance. "
        "Whether accuracy is kept cannot be tested: 12 rows are too few."
    )
    assert beside_first([shift, kept], "a", 2, ["b"]) == (
        "Compared with a: no change shows anything about bias, because nothing can be told about b. "
        "Accuracy is kept within 2 points: -0.5 points [-1.5, +0.5]."
    )
    assert beside_first([], "a", 1) == "Compared with a: no headline number differs beyond chance."
