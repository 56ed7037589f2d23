"""Lists in the place of values are settings to choose between."""

from __future__ import annotations

import pytest

from fairlab.methods.safety_ensemble.fair_reweighting import Strength
from fairlab.methods.safety_ensemble.settings import Setting, combinations
from fairlab.types import FairlabError

STRENGTH = {"lambda_safe": [0, 0.5], "lambda_unsafe": 0.05, "beta_safe": 10, "beta_unsafe": 10}


def test_every_combination_has_its_own_name():
    found = combinations([10, 20], [None, 0.3], STRENGTH)
    assert len(found) == 8
    assert found["leaf 20, penalty 0.3, lambda_safe 0.5"] == Setting(20, 0.3, Strength(0.5, 0.05, 10, 10))
    assert found["leaf 10, penalty null, lambda_safe 0"] == Setting(10, None, Strength(0, 0.05, 10, 10))
    assert list(combinations(10, 1.0, {**STRENGTH, "lambda_safe": 0})) == ["as set"]


def test_the_smallest_values():
    assert next(iter(combinations(1, 0, STRENGTH).values())) == Setting(1, 0, Strength(0, 0.05, 10, 10))
    for leaf, penalty in ((0, 0), (1, -0.1), (1, float("nan"))):
        with pytest.raises(FairlabError, match="must be at least"):
            combinations(leaf, penalty, STRENGTH)
