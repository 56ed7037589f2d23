"""Items of published data do not change."""

from dataclasses import is_dataclass

import pytest

from fairlab.data.published import (
    bbq,
    bias_ir,
    crows_pairs,
    holistic_bias,
    pronouns,
    seat,
    stereoset,
    stsb,
    tasks,
    winobias,
    winogender,
)

MODULES = (bbq, bias_ir, crows_pairs, holistic_bias, pronouns, seat, stereoset, stsb, tasks, winobias, winogender)


@pytest.mark.parametrize("module", MODULES, ids=lambda one: one.__name__)
def test_values_cannot_be_changed(module):
    kinds = [one for one in vars(module).values() if is_dataclass(one) and one.__module__ == module.__name__]
    assert kinds
    assert all(one.__dataclass_params__.frozen for one in kinds)
