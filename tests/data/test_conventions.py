"""Batches, items and other values of training data do not change."""

from dataclasses import is_dataclass

import pytest

from fairlab.data import (
    abusive,
    association_tests,
    attribute_sentences,
    block_collator,
    corpus,
    counterfactual,
    labelled_tasks,
    own_safety,
    perturbation_pairs,
    preparing,
    safety,
    safety_texts,
    word_lists,
)

MODULES = (
    abusive,
    association_tests,
    attribute_sentences,
    block_collator,
    corpus,
    counterfactual,
    labelled_tasks,
    own_safety,
    perturbation_pairs,
    preparing,
    safety,
    safety_texts,
    word_lists,
)
CHANGED = {"PartMaker"}  # it keeps the tokens of the words that it has seen


@pytest.mark.parametrize("module", MODULES, ids=lambda one: one.__name__)
def test_values_cannot_be_changed(module):
    kinds = [one for one in vars(module).values() if is_dataclass(one) and one.__module__ == module.__name__]
    assert kinds
    assert {one.__name__ for one in kinds if not one.__dataclass_params__.frozen} <= CHANGED
