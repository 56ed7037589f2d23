"""The sentence that answers an audit."""

from dataclasses import replace

import pytest

from fairlab.audit.answer import Tested, answer_of
from fairlab.record import Reading


def readings(value, low, high, p, detectable, n=100):
    """Readings of one test with its smallest detectable gap."""
    test = Reading("audit", "gender", "excess_flips", value, "points", 0.0, n, low, high, p=p, p_holm=p)
    return [
        test,
        Reading("audit", "gender", "detectable_flips", detectable, "points", None, 100, detectable, detectable),
    ]


@pytest.mark.parametrize(
    ("numbers", "margin", "beginning"),
    [
        ((6.0, 3.0, 9.0, 0.001, 4.0), None, "No, people are not treated alike: changing gender changes more"),
        ((0.4, 0.3, 0.5, 0.001, 0.2), None, "No difference was found, which does not prove equality: gaps of 0.2"),
        ((-6.0, -9.0, -3.0, 0.001, 4.0), None, "No difference was found"),
        ((1.0, -2.0, 4.0, 0.6, 4.0), None, "No difference was found, which does not prove equality: gaps of 4 points"),
        ((1.0, -9.0, 11.0, 0.6, 12.0), None, "Cannot tell"),
        ((1.0, 0.5, 1.5, 0.001, 4.0), 2.0, "Yes, within the margin: every gap is at most 2 points"),
        ((1.0, -2.0, 4.0, 0.6, 4.0), 2.0, "No difference was found"),
    ],
)
def test_the_sentence_follows_from_the_test(numbers, margin, beginning):
    assert answer_of(readings(*numbers), margin).sentence.startswith(beginning)
    incomplete = answer_of(readings(*numbers), margin, is_complete=False).sentence
    assert incomplete.startswith(beginning.replace("Yes, within the margin:", "Cannot tell:"))


def test_scores_are_found_from_a_change_in_their_own_unit():
    test = Reading("audit", "gender", "excess_mean_change", 0.1, "score", 0.0, 100, -0.1, 0.3, p=0.4, p_holm=0.4)
    assert answer_of([test]).sentence == "No difference in scores was found, which does not prove equality."
    smallest = Reading("audit", "gender", "detectable_mean_change", 0.25, "score", None, 100, 0.25, 0.25)
    found = answer_of([test, smallest])
    assert found.sentence.endswith(
        ": changes of 0.25 or more, in the unit of the scores, would have been found (power 80 %)."
    )
    assert found.lines[0].endswith("by 0.1; detectable from 0.25")
    within = "Yes, within the margin: every gap is at most 0.3 in the unit of the scores with 95 % confidence."
    assert answer_of([test, smallest], 0.3).sentence == within
    assert answer_of([replace(test, value=0.0, low=0.0, high=0.0)], 99).sentence.startswith("No difference in scores")


def test_the_sentence_names_the_groups_with_the_lowest_and_the_highest_accuracy():
    gap = Reading("audit", "sex", "accuracy_gap", 28.0, "points", 0.0, 90, 15.0, 40.0, p=0.001, p_holm=0.002)
    rates = {"men": 67.0, "women": 95.0, "others": 80.0}
    parts = [Reading("audit", f"sex_{name}", "accuracy", rate, "%", 100.0, 30, 0, 100) for name, rate in rates.items()]
    assert "(men 67.0 %, women 95.0 %)" in answer_of([gap, *parts]).sentence
    of_another_column = Reading("audit", "sex_of_author_men", "accuracy", 20.0, "%", 100.0, 30, 0, 100)
    assert "20.0" not in answer_of([gap, *parts, of_another_column]).sentence


@pytest.mark.parametrize(
    ("quantity", "n", "shown"), [("accuracy_gap", 299, False), ("accuracy_gap", 300, True), ("shift", 150, True)]
)
def test_rows_that_do_not_differ_are_alike_only_if_they_are_many(quantity, n, shown):
    """Two groups of 150 rows without a difference may differ in 3 of 150 rows, which are 2 %."""
    reading = Reading("audit", "sex", quantity, 0.0, "points", 0.0, n, 0.0, 0.0, p=1.0, p_holm=1.0)
    assert Tested(reading, 1.0).is_within(2.0) is shown
    assert not Tested(reading, 1.0).is_within(1.9)


@pytest.mark.parametrize("n", [11, 19])
@pytest.mark.parametrize("margin", [None, 2.0])
def test_few_pairs_give_neither_an_interval_nor_an_answer(n, margin):
    found = answer_of(readings(40.0, 1.0, 1.5, 0.001, 4.0, n), margin)
    assert found.sentence == (
        f"Cannot tell: no gap was found, but {n} changed texts are too few to test an excess of changed predictions "
        "with gender; add labelled texts about people."
    )
    assert found.lines == [
        f"not tested: an excess of changed predictions with gender: {n} changed texts, too few for an interval or a "
        "verdict"
    ]


def test_a_rare_direction_leaves_the_answer_of_its_axis():
    rare = Reading("audit", "gender_neutral_to_man", "shift", 9.0, "points", 0.0, 11, 3.0, 15.0, p=0.01, p_holm=0.02)
    found = answer_of([*readings(1.0, -2.0, 4.0, 0.6, 4.0), rare])
    assert found.sentence.startswith("No difference was found, which does not prove equality: gaps of 4 points")
    assert "[" not in found.lines[1]


def test_nothing_tested_tells_nothing():
    assert answer_of([]).sentence.startswith("Cannot tell")
