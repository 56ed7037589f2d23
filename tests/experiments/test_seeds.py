from dataclasses import replace

import pytest

from experiments.shared.seeds import median_run
from fairlab.record import Reading
from fairlab.types import FairlabError


def readings(*values):
    made = Reading("sst2", "dev", "accuracy", 0, "%", 100, 872, 0, 1)
    return [replace(made, value=value, low=value - 2, high=value + 1, seed=k) for k, value in enumerate(values)]


@pytest.mark.parametrize(("values", "expected"), [((3, 9, 5), 5), ((8,), 8), ((4, 1, 3, 2), 2)])
def test_the_median_is_a_runs_own_with_its_interval(values, expected):
    found = median_run(readings(*values))
    assert (found.value, found.low, found.high) == (expected, expected - 2, expected + 1)
    assert found.seed == values.index(expected)


def test_what_has_no_median():
    first, second = readings(1, 2)
    for given, message in [
        ([], "no reading to take the median of"),
        ([first, replace(second, quantity="f1")], "not over sst2/dev/accuracy, sst2/dev/f1"),
        ([first, replace(second, seed=0)], r"have the same seed \(0, 0\)"),
    ]:
        with pytest.raises(FairlabError, match=message):
            median_run(given)
