"""Holm's method over the comparisons of a run: which of them are one family."""

import pytest

from fairlab.benchmarks.runner import adjusted
from fairlab.record import Comparison


def comparison(p, *, headline=True, phase="change"):
    return Comparison("b", "s", "q", 0.1, "", -0.1, 0.3, p, 90, headline=headline, phase=phase)


def test_headline_comparisons_of_the_same_two_models_are_one_family():
    found = adjusted(
        [
            comparison(0.01),
            comparison(0.001, headline=False),
            comparison(0.002, phase="other less before"),
            comparison(0.02),
            comparison(0.5),
        ],
        "change",
    )
    assert [one.p_holm for one in found] == [pytest.approx(0.03), None, None, pytest.approx(0.04), pytest.approx(0.5)]
    assert [one.p for one in found] == [0.01, 0.001, 0.002, 0.02, 0.5]


def test_without_a_headline_nothing_is_adjusted():
    assert [one.p_holm for one in adjusted([comparison(0.01, headline=False)], "change")] == [None]
