"""The study of subgroups' thresholds and the picture on the ensemble page."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.ensemble import picture
from experiments.ensemble.postprocessing import NOBODY, folds, measured, of_subgroups, one_threshold, pooled
from fairlab.data.safety import SafetyText


def test_the_picture_is_that_of_the_records():
    assert picture.picture() == picture.FILE.read_text(encoding="utf-8")


def test_a_threshold_is_chosen_on_the_validation_fold_and_applied_to_the_test_fold():
    division = np.array([0, 0, 1, 1, 1, 1, 2, 2])
    truth = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    validation = np.array([9, 9, 0.1, 0.6, 0.2, 0.7, 9, 9])
    test = np.array([0.5, 0.65, 9, 9, 9, 9, 9, 9])
    first = next(folds(division, validation, test))
    assert first.test.tolist() == (division == 0).tolist()
    assert first.validation.tolist() == (division == 1).tolist()
    assert one_threshold(first, truth)[first.test].tolist() == [0, 1]  # from 0.6 on


def test_what_labels_give_is_counted_by_hand():
    texts = [
        SafetyText("a", "1", "Religion:Islam", {"hate": 1}),
        SafetyText("b", "1", "Religion:Judaism", {"hate": 1}, seed=False),
        SafetyText("c", "2", "Religion:Islam", {"hate": 0}),
        SafetyText("d", "2", "Religion:Judaism", {"hate": 0}, seed=False),
        SafetyText("e", "3", "", {"hate": 0}),
    ]
    found = measured(np.array([1, 0, 0, 0, 1]), np.array([1, 1, 0, 0, 0]), texts)
    assert found == {"recall": 1.0, "false_positive_rate": 0.5, "flip_rate": 50.0, "equalised_odds_gap": 1.0}


def test_a_subgroup_with_one_label_goes_with_the_texts_about_nobody():
    told = pooled(["a", "a", "b", "b", NOBODY], np.array([0, 1, 1, 0, 0]), np.array([True, True, True, False, True]))
    assert told.tolist() == ["a", "a", NOBODY, NOBODY, NOBODY]


def test_fairlearn_gives_each_subgroup_its_own_threshold():
    pytest.importorskip("fairlearn", reason="the extra fairness-rivals is not installed")
    groups, truth = ["a"] * 40 + ["b"] * 40, np.array([0, 1] * 40)
    scores = truth * 0.2 + np.repeat([0.1, 0.6], 40)
    division = np.tile(np.repeat([0, 1, 2, 3], 10), 2)
    first = next(folds(division, scores, scores))
    for constraint in ("false_positive_rate_parity", "equalized_odds"):
        labels = of_subgroups(constraint, groups, 0)(first, truth)
        assert labels[first.test].tolist() == truth[first.test].tolist()
    assert one_threshold(first, truth)[first.test].tolist() != truth[first.test].tolist()
