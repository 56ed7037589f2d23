"""Fair data reweighting against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairlab.methods.safety_ensemble.fair_reweighting import Strength, losses, reweight, slice_probabilities
from fairlab.types import FairlabError

SLICES = [0, 0, 0, 1, 1, -1, 2, 2]
TRUTH = [0, 0, 1, 0, 1, 0, 1, 1]


def test_probabilities_by_hand():
    # Safe losses .1, .3; unsafe ones 1 - .8, 1 - .2.
    safe = slice_probabilities(losses([0.1, 0.3], 0), 10, [2, 1])
    unsafe = slice_probabilities(losses([0.8, 0.2], 1), 1, [1, 1])
    assert safe == pytest.approx([1 / (1 + math.exp(2)), math.exp(2) / (1 + math.exp(2))])
    assert unsafe == pytest.approx([math.exp(0.2) / (math.exp(0.2) + math.exp(0.8)), 1 / (1 + math.exp(-0.6))])


def test_a_high_beta_takes_the_worst_slice_without_overflow():
    assert slice_probabilities([0.9, 0.1, 0.5], 500, [1, 1, 1]) == pytest.approx([1, 0, 0])
    assert slice_probabilities([1.0, 1.0], 1e308, [1, 1]).tolist() == [0.5, 0.5]


def test_empty_and_unmeasured_slices_are_never_drawn():
    assert slice_probabilities([0.9, math.nan, 0.1], 500, [0, 4, 3]).tolist() == [0, 0, 1]
    assert slice_probabilities([0.9, 0.1], 1, [0, 0]).tolist() == [0, 0]


def test_weights_and_counts_by_hand():
    # Beta 500 puts all 8 safe draws on slice 1, whose only safe example is the fourth; of unsafe slices 2 has a loss.
    averages = [[0.1, 0.9, 0.2], [math.nan, math.nan, 0.4]]
    made = reweight(SLICES, TRUTH, averages, Strength(0.5, 0.1, 500, 10), np.random.default_rng(0))
    assert made.counts.tolist() == [[0, 8, 0], [0, 0, 8]]
    assert made.probabilities == pytest.approx(np.array([[0, 1, 0], [0, 0, 1]]))
    assert made.weights[:6].tolist() == [1, 1, 1, 1 + 0.5 * 8, 1, 1]
    assert made.weights[6:].sum() == pytest.approx(2 + 0.1 * 8)
    assert ((made.weights[6:] - 1) / 0.1).round(9).tolist() == ((made.weights[6:] - 1) / 0.1).round().tolist()


def test_lambda_0_changes_no_weight():
    made = reweight(SLICES, TRUTH, np.full((2, 3), 0.5), Strength(0, 0, 1, 1), np.random.default_rng(0))
    assert made.weights.tolist() == [1] * 8
    assert made.counts.sum(axis=1).tolist() == [8, 8]


def test_draws_follow_the_probabilities():
    slices, truth = np.tile([0, 1], 20_000), np.zeros(40_000)
    averages = [[0.0, math.log(3)], [math.nan, math.nan]]
    made = reweight(slices, truth, averages, Strength(1, 1, 1, 1), np.random.default_rng(0))
    assert made.counts[0, 1] / 40_000 == pytest.approx(0.75, abs=0.01)
    assert made.weights.sum() == 80_000  # no unsafe example is there to be drawn


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
def test_a_strength_that_is_none_is_refused(bad):
    with pytest.raises(FairlabError, match="lambda_unsafe must be a number"):
        Strength(1, bad, 1, 1)
