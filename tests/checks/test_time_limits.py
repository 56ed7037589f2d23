import threading
import time

import pytest

from fairlab.checks.time_limits import TooSlow, time_limit


def work(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_what_takes_too_long_is_cut_short_in_any_thread():
    found = []

    def attempt():
        started = time.monotonic()
        try:
            with time_limit(0.05):
                work(5)
        except TooSlow:
            found.append(time.monotonic() - started)

    attempt()
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert [seconds < 2 for seconds in found] == [True, True]


def test_what_is_done_in_time_is_never_interrupted_later():
    for _ in range(50):
        try:
            with time_limit(0.001):
                work(0.0009)
        except TooSlow:
            continue
    work(0.05)  # nothing is left that could still strike


def test_an_error_inside_is_the_one_that_comes_out():
    with pytest.raises(KeyError), time_limit(1):
        raise KeyError
