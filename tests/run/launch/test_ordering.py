"""Work that waits for other work, several pieces at a time."""

import threading

import pytest

from fairlab.run.launch.ordering import in_order


def done(needs, failing=(), after=None, at_once=2):
    """The pieces in the order they were begun, and why those failed that did."""
    begun, sentences = [], {}

    def one(name):
        begun.append(name)
        return "no luck" if name in failing else ""

    for name, sentence in in_order(needs, after or {}, one, at_once):
        sentences |= {name: sentence} if sentence else {}
    return begun, sentences


@pytest.mark.parametrize("at_once", [1, 3, None])
def test_what_is_needed_comes_first(at_once):
    begun, failed = done({"measured": ["run"], "run": ["data"], "data": []}, at_once=at_once)
    assert begun == ["data", "run", "measured"]
    assert failed == {}


def test_what_needs_a_failed_piece_is_not_begun_and_the_others_are():
    needs = {"data": [], "run": ["data", "base"], "base": [], "measured": ["run"], "other": ["base"]}
    begun, failed = done(needs, failing=["data"])
    assert sorted(begun) == ["base", "data", "other"]
    assert failed == {
        "data": "no luck",
        "run": "it needs data, which failed",
        "measured": "it needs run, which failed",
    }


def test_what_only_waits_for_a_piece_is_done_though_that_failed():
    begun, failed = done({"second": [], "first": []}, failing=["first"], after={"second": ["first"]})
    assert begun == ["first", "second"]
    assert failed == {"first": "no luck"}


def test_pieces_that_are_ready_go_side_by_side():
    both = threading.Barrier(2, timeout=20)

    def one(name):
        if name != "base":
            both.wait()  # passes when the other one is here too
        return ""

    needs = {"base": [], "left": ["base"], "right": ["base"]}
    (first, _), *others = in_order(needs, {}, one, 2)
    assert (first, len(others)) == ("base", 2)
