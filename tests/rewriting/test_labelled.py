"""The rules on the hand-labelled sentences, and the labels themselves."""

import re

import pytest

from experiments.rewriting.labelled import AXES, HALVES, outcomes, read_labelled, scores


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.slow
def test_labels_are_sound(axis):
    rows = read_labelled(axis)
    texts = [row.text for row in rows]
    assert len(rows) >= 250
    assert len(set(texts)) == len(texts)
    assert 0.45 < sum(row.trap for row in rows) / len(rows) < 0.55
    for half in HALVES:
        assert sum(row.half == half for row in rows) > 110
    for row in rows:
        assert row.trap or (row.target and row.right)
        assert not any(re.fullmatch(pattern, row.text) for pattern in row.right), row.text


def test_a_label_takes_every_right_wording_and_no_other():
    rows = {row.text: row for row in read_labelled("age") + read_labelled("race") + read_labelled("gender")}

    def right(text, made):
        return any(re.fullmatch(pattern, made) for pattern in rows[text].right)

    assert right("An old man fed the ducks.", "A young man fed the ducks.")
    assert not right("An old man fed the ducks.", "An young man fed the ducks.")
    assert not right("An old man fed the ducks.", "An old man fed the ducks.")
    assert right("The man is 13 years old.", "The man is 70 years old.")
    assert not right("The man is 13 years old.", "The man is 40 years old.")
    assert right("Juan, a Latino student, joined the band.", "Brian, a white student, joined the band.")
    assert not right(
        "Juan, a Latino student, joined the band.", "Brian, a Latino student, joined the band."
    )  # by halves


def test_scores_by_hand():
    found = scores(["left", "left", "left", "sprung", "right", "right", "wrong", "missed"])
    assert found["trap errors"]["share"] == 1 / 4
    assert found["recall"]["share"] == 2 / 4
    assert found["right"]["share"] == 2 / 4  # of two right, one wrong and a trap sprung


@pytest.mark.parametrize("axis", AXES)
def test_the_rules_hold_their_error_rates(axis):
    rows = read_labelled(axis)
    results = [result for result, _ in outcomes(axis, rows)]
    for half in HALVES:
        found = scores([result for result, row in zip(results, rows, strict=True) if row.half == half])
        assert found["trap errors"]["share"] <= 0.05
        assert found["recall"]["share"] >= 0.85
        assert found["right"]["share"] >= 0.90
