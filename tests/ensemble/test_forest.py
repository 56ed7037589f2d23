"""The two-pass ensemble: what each pass learns from, folds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from fairlab.benchmarks.safety import Safety
from fairlab.ensemble.forest import SafetyEnsemble
from fairlab.types import FairlabError
from tests.ensemble.conftest import MUCH, Biased, data, ensemble

NOTHING = {"lambda_safe": 0.0, "lambda_unsafe": 0.0, "beta_safe": 500.0, "beta_unsafe": 500.0}


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
