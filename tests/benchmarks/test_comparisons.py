"""Holm's method over the comparisons of a run: which of them are one family."""

from dataclasses import replace

import pytest

from fairlab.benchmarks.runner import add, adjusted
from fairlab.record import Comparison, Note, NotRun, Outcome, Record


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


def test_results_of_a_killed_run_are_replaced_and_others_kept(tmp_path):
    record = Record(tmp_path, {"seed": 1}, "")
    other = Outcome(
        comparisons=[replace(comparison(0.5), benchmark="c")],
        not_run=[NotRun("b", "s", "no data")],
        notes=[Note("b", "few items")],
    )
    own = Outcome(
        comparisons=[comparison(0.2)],
        not_run=[NotRun("a", "s", "no head")],
        notes=[Note("a", "cut"), Note("a", "odd", item="7")],
    )
    for outcome in (other, own, own):
        add(outcome, "before", record)
    for found in (record, Record.load(tmp_path)):
        assert [(one.benchmark, one.p) for one in found.comparisons] == [("c", 0.5), ("b", 0.2)]
        assert [(one.benchmark, one.phase) for one in found.not_run] == [("b", "before"), ("a", "before")]
        assert [(one.text, one.phase) for one in found.notes] == [
            ("few items", "before"),
            ("cut", "before"),
            ("odd", ""),  # of an item, whatever the model
        ]
    add(own, "after", record)
    assert [one.phase for one in record.not_run] == ["before", "before", "after"]
