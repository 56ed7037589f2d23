"""Differences between groups by hand: their intervals, smallest detectable values, and what no difference shows."""

import math

import numpy as np
import pytest

from fairlab.benchmarks.group_differences import (
    group_key,
    newcombe_interval,
    paired_differences,
    rate,
    scores_of,
    smallest_detectable,
    unpaired_differences,
    widened,
)
from fairlab.metrics.bootstrap import mean

# Student's t of one degree of freedom, 12.7062, by z, times the root of 2: the factor for two units.
TWO = 9.16818
# Wilson's upper bound of no hit among n, in per cent: z squared by n plus z squared.
NO_HIT = {n: 100 * 3.841459 / (n + 3.841459) for n in (2, 3, 4)}


def by_name(found):
    return {(one.subset, one.name): one for one in found}


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([0, 100], False, (50 - 50 * TWO, 50 + 50 * TWO)),
        ([0, 100], True, (0, 100)),
        ([0, 0, 0, 0], True, (0, NO_HIT[4])),
        ([100, 100], True, (100 - NO_HIT[2], 100)),
        ([0, 0, 0, 0], False, (0, 0)),
        ([30, 30], False, (30, 30)),
    ],
)
def test_intervals_of_few_units(values, percent, expected):
    found = widened(mean, np.array(values, dtype=float), percent=percent, subset="s", name="n")
    assert found.interval == pytest.approx(expected, rel=1e-5)
    assert (found.value, found.n) == (np.mean(values), len(values))


def test_each_group_less_the_mean_of_the_others():
    values = np.array([[1.0, 0.0, 0.0], [2.0, 1.0, 1.0], [6.0, 1.0, 5.0]])  # differences of a: 1, 1, 3
    found = by_name(paired_differences(values, ["a", "b", "c"], "x", "gap"))
    assert {name: one.value for (name, kind), one in found.items() if kind == "gap"} == pytest.approx(
        {"x_a": 5 / 3, "x_b": -11 / 6, "x_c": 1 / 6}
    )
    a = found["x_a", "gap"]
    assert (a.n, a.headline) == (3, True)
    # Standard error: a deviation of 2 / sqrt 3 by the root of 3. t of two degrees at 97.5 and 80 %: 4.30265, 1.06066.
    detectable = found["x_a", "detectable_gap"]
    assert detectable.value == pytest.approx(2 / 3 * 5.36331, rel=1e-5)
    assert (detectable.interval, detectable.n) == ((detectable.value, detectable.value), 3)
    assert np.isnan(detectable.draws).all()


@pytest.mark.parametrize(
    ("values", "more", "interval"),
    [
        ([[0, 0], [7, 7], [9, 9]], {"percent": True}, (-NO_HIT[3], NO_HIT[3])),
        ([[0, 0], [7, 7], [9, 9]], {}, (0, 0)),
        ([[1, 0], [8, 7], [10, 9]], {"percent": True}, (1, 1)),  # the same difference everywhere
    ],
)
def test_of_two_groups_one_is_given_and_equal_differences_have_no_detectable_one(values, more, interval):
    (found,) = paired_differences(np.array(values, dtype=float), ["a", "b"], "x", "gap", **more)
    assert found.subset == "x_a"
    assert found.interval == pytest.approx(interval, rel=1e-5)


def test_groups_of_other_prompts_by_hand():
    # Persons 1 and 2 of group a have the means 0 and 1, two prompts each; the three of b are alike.
    values = np.array([0, 0, 1, 1, 0.25, 0.25, 0.25, 0.25])
    groups, persons = list("aaaabbbb"), ["1", "1", "2", "2", "3", "3", "4", "5"]
    found = by_name(unpaired_differences(values, groups, persons, "x", "gap"))
    a, b = found["x_a", "gap"], found["x_b", "gap"]
    assert (a.value, a.n, b.value, b.n) == (0.25, 4, -0.25, 4)
    # Drawing two of two persons: 0, 1/2 or 1, with percentiles 0 and 1; two persons are the fewer.
    assert a.interval == pytest.approx((0.25 - 0.5 * TWO, 0.25 + 0.5 * TWO), rel=1e-5)
    # The deviation of such draws is 1 / sqrt 8; t of one degree at 97.5 and 80 %: 12.7062 and 1.37638.
    assert found["x_a", "detectable_gap"].value == pytest.approx(14.0826 / math.sqrt(8), rel=0.05)
    assert found["x_a", "detectable_gap"].n == 2
    assert set(found) == {(f"x_{one}", name) for one in "ab" for name in ("gap", "detectable_gap")}


def test_a_single_person_has_no_detectable_difference_and_a_single_group_no_difference():
    values = np.array([1.0, 0.0, 1.0])
    found = list(unpaired_differences(values, list("abb"), list("123"), "x", "gap"))
    assert [(one.subset, one.name) for one in found] == [("x_a", "gap"), ("x_b", "gap")]
    assert not list(unpaired_differences(values, list("aaa"), list("123"), "x", "gap"))


def test_both_sides_are_drawn_apart():
    values = np.array([0.0, 1.0, 3.0] * 2)
    (a, *_) = unpaired_differences(values, list("aaabbb"), list("123456"), "x", "gap")
    assert a.draws.std() == pytest.approx(values.std() * math.sqrt(2 / 3), rel=0.05)


@pytest.mark.parametrize(("more", "interval"), [({"percent": True}, (-NO_HIT[3], NO_HIT[2])), ({}, (0, 0))])
def test_percentages_that_are_all_equal_have_newcombes_interval(more, interval):
    values, groups, persons = np.zeros(6), list("aaabbb"), list("112345")  # two and three persons
    a, b = unpaired_differences(values, groups, persons, "x", "gap", **more)
    assert a.interval == pytest.approx(interval, rel=1e-5)
    assert b.interval == pytest.approx((-interval[1], -interval[0]), rel=1e-5)


@pytest.mark.parametrize(
    ("first", "second", "interval"), [((56, 70), (48, 80), (5.24, 33.39)), ((9, 10), (3, 10), (17.05, 80.90))]
)
def test_intervals_printed_by_newcombe_1998(first, second, interval):
    (hits, n), (others, m) = first, second
    assert newcombe_interval(100 * hits / n, n, 100 * others / m, m) == pytest.approx(interval, abs=0.006)


def test_the_smallest_detectable_difference_of_three_units():
    assert smallest_detectable(2.0, 3) == pytest.approx(2 * 5.36331, rel=1e-5)


class Rater:
    outputs = ("first", "last")

    def score(self, texts):
        return np.array([[len(text), np.nan if text == "?" else 1.0] for text in texts])


def test_texts_without_a_score_count_as_0():
    assert rate(Rater(), None, ["ab", " ", "?", ""]).tolist() == [1, 0, 0, 0]
    assert rate(Rater(), "first", ["ab", "", "?"]).tolist() == [2, 0, 1]
    assert rate(Rater(), None, [" "]).tolist() == [0]
    assert scores_of(Rater(), "first", []).shape == (0,)


def test_names_of_groups_as_keys():
    assert group_key("Left-wing  Men (US)") == "left_wing_men_us"
