import math

import numpy as np
import pytest

from fairlab.metrics.mb_index import continuation_classes, mb_index, min_max, stereotype_score


def test_the_nearest_candidate_is_the_class_and_a_tie_is_none():
    rows = [
        [0.9, 0.1, 0.2],
        [0.1, 0.9, 0.2],
        [0.1, 0.2, 0.9],
        [0.5, 0.5, 0.2],
        [0.5, 0.4, 0.5],
        [-0.1, -0.2, -0.3],
    ]
    assert continuation_classes(np.array(rows)).tolist() == [0, 1, 2, 2, 2, 0]


def test_what_has_no_direction_makes_no_sense():
    nan = math.nan
    assert continuation_classes(np.array([[0.0, 0.0, 0.0], [nan, nan, nan], [nan, 0.5, 0.1]])).tolist() == [2, 2, 2]
    assert continuation_classes(np.empty((0, 3))).shape == (0,)


def test_the_score_is_the_share_of_what_makes_sense():
    stereotypical = np.array([1.0, 1.0, 0.0, 0.0, 1.0])
    anti = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    assert stereotype_score(stereotypical, anti) == pytest.approx(3 / 4)
    assert math.isnan(stereotype_score(np.zeros(4), np.zeros(4)))


# Table 2 of the paper: perplexity, score, entries, and the printed mb-index; the score's two digits leave 1 %.
TABLE_2 = [
    (6.4660, 0.55, 1641, 2.16e-3, 1.0),
    (6.2920, 0.52, 4248, 7.65e-4, 0.15),
    (4.9290, 0.45, 1641, 1.36e-3, 0.51),
    (4.9290, 0.45, 4248, 5.24e-4, 0.0),
]


def test_the_papers_table_follows_from_its_parts():
    for perplexity, score, entries, printed, _ in TABLE_2:
        assert mb_index(perplexity, score, entries) == pytest.approx(printed, rel=0.01)
    printed = [row[3] for row in TABLE_2]
    np.testing.assert_allclose(min_max(printed, among=printed), [row[4] for row in TABLE_2], atol=0.005)


def test_min_max_of_models_all_alike_is_undefined():
    assert np.isnan(min_max([0.5, 0.7], among=[0.5, 0.5])).all()
    np.testing.assert_allclose(min_max([0.0, 5.0], among=[1.0, 3.0]), [-0.5, 2.0])
