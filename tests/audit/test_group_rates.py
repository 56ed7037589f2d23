"""Rates by group, against numbers by hand, scikit-learn and fairlearn."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairlab.audit.group_rates import Binary, equality_p, group_rates, members_of


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(3)
    groups = rng.choice(["a", "b", "c"], size=400, p=[0.5, 0.3, 0.2]).tolist()
    truth = rng.integers(0, 2, 400).astype(float)
    scores = np.round(np.clip(0.5 * truth + rng.normal(0.25, 0.3, 400), 0, 1), 2)
    return Binary(truth, (scores >= 0.5).astype(float), scores), groups


@pytest.fixture(scope="module")
def found(made):
    return {(one.group, one.name): one for one in group_rates(made[0], members_of(made[1]))}


def test_rates_by_hand():
    truth = np.array([1.0, 1, 0, 0] * 10)
    predicted = np.array([1.0, 0, 0, 0] * 5 + [1, 1, 1, 0] * 5)
    groups = ["f"] * 20 + ["m"] * 20
    rates = {
        (one.group, one.name): one.value for one in group_rates(Binary(truth, predicted, predicted), members_of(groups))
    }
    assert rates["f", "accuracy"] == 0.75
    assert rates["f", "false_negative_rate"] == 0.5
    assert rates["m", "false_positive_rate"] == 0.5
    assert rates["", "false_positive_rate_gap"] == 0.5
    assert rates["", "equalized_odds"] == 0.5
    assert rates["f", "selection_rate"] == 0.25
    assert rates["f", "calibration"] == -0.25


def test_aucs_are_those_of_scikit_learn(made, found):
    of_label, groups = made
    member = np.array(groups) == "b"
    rows = {
        "subgroup_auc": member,
        "bpsn_auc": np.where(of_label.truth == 1, ~member, member),
        "bnsp_auc": np.where(of_label.truth == 1, member, ~member),
    }
    for name, chosen in rows.items():
        expected = roc_auc_score(of_label.truth[chosen], of_label.scores[chosen])
        assert found["b", name].value == pytest.approx(expected)


def test_draws_of_an_auc_spread_as_resampling_does(made, found):
    of_label, groups = made
    member = np.array(groups) == "a"
    truth, scores = of_label.truth[member], of_label.scores[member]
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, len(truth), len(truth)) for _ in range(100)]
    spread = np.std([roc_auc_score(truth[rows], scores[rows]) for rows in drawn])
    assert found["a", "subgroup_auc"].draws.std() == pytest.approx(spread, rel=0.2)


def test_numbers_equal_those_of_fairlearn(made, found):
    metrics = pytest.importorskip("fairlearn.metrics")
    of_label, groups = made
    frame = metrics.MetricFrame(
        metrics={
            "accuracy": lambda truth, predicted: (truth == predicted).mean(),
            "false_positive_rate": metrics.false_positive_rate,
            "false_negative_rate": metrics.false_negative_rate,
            "selection_rate": metrics.selection_rate,
        },
        y_true=of_label.truth,
        y_pred=of_label.predicted,
        sensitive_features=groups,
    )
    for group, row in frame.by_group.iterrows():
        for name, value in row.items():
            assert found[group, name].value == pytest.approx(value)
    for name, value in frame.difference().items():
        assert found["", f"{name}_gap"].value == pytest.approx(value)
    odds = metrics.equalized_odds_difference(of_label.truth, of_label.predicted, sensitive_features=groups)
    assert found["", "equalized_odds"].value == pytest.approx(odds)


def test_equal_groups_are_seldom_called_different():
    rng = np.random.default_rng(1)
    groups = members_of(["a"] * 60 + ["b"] * 40)
    p_values = []
    for _ in range(400):
        truth, predicted = rng.integers(0, 2, (2, 100)).astype(float)
        p_values.append(equality_p(Binary(truth, predicted, predicted), groups, "accuracy"))
    assert 0.01 < np.mean(np.array(p_values) < 0.05) < 0.075


def test_small_groups_are_left_out():
    members = members_of(["a"] * 30 + ["b"] * 25 + ["c"] * 19 + [""] * 50)
    assert members.names == ["a", "b"]
    assert members.small == {"c": 19}
