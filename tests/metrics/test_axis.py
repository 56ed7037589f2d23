"""Every statistic that takes an axis takes the last one by default, and gives one value a row."""

import inspect

import numpy as np
import pytest

from fairlab.metrics import (
    bbq,
    bootstrap,
    classification,
    fairscore,
    mb_index,
    perplexity,
    rewriting,
    stereoset,
)

MODULES = (bbq, bootstrap, classification, fairscore, mb_index, perplexity, rewriting, stereoset)
STATISTICS = [
    function
    for module in MODULES
    for function in vars(module).values()
    if inspect.isfunction(function) and function.__module__ == module.__name__
    if "axis" in inspect.signature(function).parameters
]


@pytest.mark.parametrize("function", STATISTICS, ids=lambda one: one.__name__)
def test_the_last_axis_is_the_default(function):
    arguments = [one for name, one in inspect.signature(function).parameters.items() if name != "axis"]
    count = 10 if arguments[0].kind is inspect.Parameter.VAR_POSITIONAL else len(arguments)
    tables = np.random.default_rng(0).integers(1, 4, size=(count, 2, 6)).astype(float)
    by_row = [float(function(*tables[:, row])) for row in range(2)]
    np.testing.assert_allclose(function(*tables), by_row)
    np.testing.assert_allclose(function(*tables.transpose(0, 2, 1), axis=0), by_row)


def test_statistics_are_found():
    assert len(STATISTICS) >= 18
