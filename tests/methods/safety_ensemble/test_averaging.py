"""Logits averaged over texts turned to reference groups."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fairlab.methods.safety_ensemble.averaging import turned_scores
from fairlab.methods.safety_ensemble.exported.columns import Columns
from fairlab.methods.safety_ensemble.exported.export import load_ensemble
from fairlab.methods.safety_ensemble.sources.base import Source
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.methods.safety_ensemble.views import seen
from fairlab.metrics.acv import average_counterfactual_variance
from fairlab.rewriting.references import References
from fairlab.types import FairlabError
from tests.methods.safety_ensemble.conftest import Biased, data, ensemble

TEXTS = ["An awful Jewish day.", "An awful Muslim day.", "A day.", "Homosexual people are dull"]


class Priced(Source):
    """A source that is not asked of turned texts, and counts what it is asked."""

    name, version, outputs, asks_of_turned = "priced", "1", ("length",), False

    def __init__(self):
        self.asked = []

    def score(self, texts):
        self.asked += texts
        return np.array([[float(len(text))] for text in texts])


@pytest.fixture(scope="module")
def averaged():
    method = ensemble(penalty=1, average=True)
    method.fit(data())
    return method


def test_a_text_that_names_nobody_is_scored_once_and_a_priced_source_is_asked_of_the_text_alone():
    priced = Priced()
    own, turned, owner = turned_scores(Sources([Biased(), priced]), TEXTS, References())
    assert owner.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 3, 3, 3]
    assert priced.asked == TEXTS
    assert turned[:, 2].tolist() == own[owner, 2].tolist()
    assert own[:, 1].tolist() == [0, 0.9, 0, 0]  # the source knows "Muslim" and "homosexual", with a small letter
    assert turned[:, 1].tolist() == [0, 0.9, 0, 0] * 2 + [0] + [0.9, 0.9, 0, 0]  # "Black people", "Muslims"


def test_nothing_is_averaged_over_if_no_source_scores_rewrites():
    assert ensemble(sources=[Priced()], average=True).trainer.view == "text"
    assert ensemble(sources=[Priced(), Biased()], average=True).trainer.view == "average"
    assert ensemble(sources=[Biased()], average=False).trainer.view == "text"


@pytest.mark.slow
def test_averaging_takes_away_which_group_is_named_and_stands_beside_what_it_adds_to(averaged):
    part = averaged.judged["after"].parts["test"]
    sets = [text.key if text.subgroup else None for text in part.texts]
    found = average_counterfactual_variance(part.scores["toxicity"][0], sets)
    alone, baseline = (averaged.judged["after"].beside[name] for name in ("unaveraged", "average"))
    without = average_counterfactual_variance(alone.parts["test"].scores["toxicity"][0], sets)
    assert found < 0.6 * without  # the source also goes by lengths and capitals
    assert baseline.parts["test"].scores["toxicity"].std() > 0
    plain = ensemble(penalty=1)
    plain.fit(data())
    np.testing.assert_array_equal(
        plain.judged["after"].parts["test"].scores["toxicity"], alone.parts["test"].scores["toxicity"]
    )


@pytest.mark.slow
def test_an_export_averages_as_the_run_did(averaged, tmp_path):
    averaged.export(tmp_path, "")
    loaded, sources = load_ensemble(tmp_path), Sources([Biased()])
    scores = loaded.score(sources, TEXTS)["toxicity"]
    model = averaged.models["after"]["toxicity"]
    _, turned, owner = turned_scores(averaged.sources, TEXTS, References())
    np.testing.assert_allclose(scores, model.score(turned, owner), rtol=1e-12)
    assert scores[0] == pytest.approx(scores[1], abs=1e-12)
    rows = Columns(loaded, sources, source_scores=True, versions=True)(TEXTS)
    assert [row["toxicity"] for row in rows] == pytest.approx(scores.tolist(), abs=1e-6)
    assert rows[1]["sources"]["biased.identity"] == 0.9  # sources are shown for the text as it is
    assert rows[0]["toxicity_variance"] == pytest.approx(0, abs=1e-12)
    description = json.loads((tmp_path / "ensemble.json").read_text())
    (tmp_path / "ensemble.json").write_text(json.dumps(description | {"references": "0" * 64}))
    with pytest.raises(FairlabError, match="averages its scores over reference groups with words"):
        load_ensemble(tmp_path)


def test_turned_texts_that_are_equal_are_held_once_and_averaged_as_often_as_they_occur():
    views = seen(Sources([Biased()]), [*TEXTS, TEXTS[1]], ("average",))
    assert len(views.turned) < len(views.row) == 17
    _, turned, owner = turned_scores(Sources([Biased()]), [*TEXTS, TEXTS[1]], References())
    half = views.only(np.array([False, True, True, False, True]))
    for view, chosen in ((views, owner >= 0), (half, np.isin(owner, [1, 2, 4]))):
        np.testing.assert_array_equal(view.turned[view.row], turned[chosen])
        odds = [float(np.mean(turned[owner == k, 1])) for k in np.unique(owner[chosen])]
        np.testing.assert_allclose(view.logits([Odds()], "average"), odds)


def test_a_text_that_is_never_measured_is_not_turned():
    source = Priced()
    source.asks_of_turned = True
    _, turned, owner = turned_scores(Sources([source]), TEXTS, References(), np.array([True, False, True, True]))
    assert owner.tolist() == [0, 0, 0, 0, 1, 2, 3, 3, 3, 3]
    assert turned[4] == len(TEXTS[1])
    assert not any("Muslims" in text and "awful" in text for text in source.asked)


def test_log_odds_are_computed_once_and_forgotten_by_fresh_views():
    views, odds = seen(Sources([Biased()]), TEXTS, ("average",)), Odds()
    first = views.logits([odds], "text")
    np.testing.assert_array_equal(views.logits([odds], "text"), first)
    assert odds.evaluated == 1
    views.logits([odds], "average")
    assert odds.evaluated == 2
    np.testing.assert_array_equal(views.fresh().logits([odds], "text"), first)
    assert odds.evaluated == 3


class Odds:
    """A pipeline of one step whose log odds are the second score, and which counts its evaluations."""

    evaluated = 0

    def __getitem__(self, place):
        return self

    def transform(self, features):
        self.evaluated += 1
        return features

    def predict_proba(self, features):
        return 1 / (1 + np.exp(np.outer(features[:, 1], [1, -1])))
