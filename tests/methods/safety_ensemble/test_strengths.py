"""The choice among strengths of reweighting."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairlab.methods.safety_ensemble.strengths import Candidate, choose, pareto_front

SOME = [Candidate("a", -1, -10), Candidate("b", -2.9, -30), Candidate("c", -6, -50), Candidate("d", -7, -40)]


def test_the_lowest_acv_within_the_loss_is_chosen():
    assert [one.name for one in pareto_front(SOME)] == ["a", "b", "c"]
    assert choose(SOME).name == "b"
    assert choose(SOME, 6).name == "c"
    assert choose(SOME, 0).name == "a"  # all lose more: the one that loses least
    assert choose([*SOME, Candidate("e", 4, 20)], 0).name == "e"


def test_of_two_that_are_equal_in_one_measure_the_better_in_the_other_is_on_the_front():
    assert pareto_front([Candidate("a", -1, -10), Candidate("b", -1, -20)]) == [Candidate("b", -1, -20)]
    assert pareto_front([Candidate("a", -1, -10), Candidate("b", -2, -10)]) == [Candidate("a", -1, -10)]


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1))
def test_everything_off_the_front_is_beaten_by_something_on_it(points):
    candidates = [Candidate(str(k), *point) for k, point in enumerate(points)]
    best = pareto_front(candidates)
    assert best
    for one in candidates:
        beaten = any(
            other.precision >= one.precision and other.variance <= one.variance and other != one for other in best
        )
        assert one in best or beaten
