"""Excess of changed predictions over a control."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.audit.simulate import called_biased, coverage
from fairlab.audit.excess import POWER_Z, Corrections, excess_of


def columns(both, people, control, neither):
    """Changes in the rewrite and in the control with these counts."""
    return [1] * (both + people) + [0] * (control + neither), [1] * both + [0] * people + [1] * control + [0] * neither


def test_an_excess_by_hand():
    found = excess_of(*columns(5, 12, 3, 80))
    p, q, n = 13 / 102, 4 / 102, 102
    half = 1.959964 * math.sqrt((p + q - (p - q) ** 2) / n)
    assert found.value == pytest.approx(0.09)
    assert (found.low, found.high) == pytest.approx((p - q - half, p - q + half), abs=1e-6)
    tail = sum(math.comb(15, k) for k in range(4)) / 2**15  # three or fewer of 15 differing pairs
    assert found.p == pytest.approx(2 * tail)


def test_the_detectable_excess_solves_its_equation():
    found = excess_of(*columns(0, 10, 10, 180))
    q, d = 10.5 / 201, found.detectable
    assert d == pytest.approx(POWER_Z * math.sqrt((2 * q + d - d * d) / 200), rel=1e-6)


def test_a_sheet_moves_the_excess_by_what_the_rules_missed():
    changed = columns(0, 10, 4, 286)
    plain, corrected = excess_of(*changed), excess_of(*changed, Corrections(100, missed=7, spurious=2))
    assert corrected.value == pytest.approx(plain.value + 0.05)
    assert corrected.high - corrected.low > plain.high - plain.low


def test_pairs_whose_right_rewrite_is_unknown_widen_the_interval_alone():
    changed = columns(0, 10, 4, 286)
    known, unknown = (excess_of(*changed, Corrections(100, unknown_steady=k, unknown_changed=k // 2)) for k in (0, 8))
    assert unknown.value == known.value
    assert unknown.low < known.low - 0.03
    assert unknown.high > known.high + 0.07


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_the_interval_holds_the_value_and_turns_with_the_roles(pairs):
    changed, control = np.array(pairs).T
    found, turned = excess_of(changed, control), excess_of(control, changed)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert (turned.value, turned.low, turned.high, turned.p) == pytest.approx(
        (-found.value, -found.high, -found.low, found.p)
    )


def test_no_pairs_tell_nothing():
    assert excess_of([], []).detectable == math.inf


def test_intervals_hold_a_planted_size():
    rng = np.random.default_rng(7)
    assert 0.92 < np.mean([coverage(rng, k) for k in range(400)]) < 0.985


@pytest.mark.parametrize("noise", [(0.0, 0.05), (0.15, 0.45)])
def test_a_fair_classifier_is_seldom_called_biased(noise):
    rng = np.random.default_rng(8)
    assert np.mean([called_biased(rng, k, *noise) for k in range(400)]) < 0.05
