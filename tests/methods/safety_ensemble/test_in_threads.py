"""Computations in threads: their order, and their errors."""

from __future__ import annotations

import time

import pytest

from fairlab.methods.safety_ensemble.in_threads import in_threads


def test_results_come_in_the_order_of_the_keys():
    def slow_first(number):
        time.sleep(0.02 * (number == 1))
        return -number

    assert list(in_threads(slow_first, {"a": 1, "b": 2, "c": 3}, "")) == [("a", -1), ("b", -2), ("c", -3)]


def test_an_error_is_raised_and_ends_the_rest():
    done = []

    def fails(number):
        if number == 0:
            raise ValueError("no")
        time.sleep(0.001)
        done.append(number)

    with pytest.raises(ValueError, match=r"^no$"):
        list(in_threads(fails, dict(enumerate(range(2_000))), ""))
    assert len(done) < 1_999
