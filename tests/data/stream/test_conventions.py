"""Rows and parts do not change."""

from dataclasses import is_dataclass

import pytest

from fairlab.data.stream import (
    choices,
    features,
    formats,
    parts,
    shards,
)

MODULES = (choices, features, formats, parts, shards)


@pytest.mark.parametrize("module", MODULES, ids=lambda one: one.__name__)
def test_values_cannot_be_changed(module):
    kinds = [one for one in vars(module).values() if is_dataclass(one) and one.__module__ == module.__name__]
    assert kinds
    assert all(one.__dataclass_params__.frozen for one in kinds)
