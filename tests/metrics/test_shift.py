"""Shifts of scores against hand-computed values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ks_2samp

from fairlab.metrics.shift import _counts, shift


def test_the_distance_is_that_of_kolmogorov_and_smirnov():
    assert shift([0, 1, 2, 3], [0, 1, 2, 3]).distance == 0
    assert shift([0, 0, 1, 1], [0, 1, 1, 1]).distance == 0.25
    assert shift([0, 1], [2, 3]).distance == 1
    rng = np.random.default_rng(0)
    some, others = rng.random(300), rng.random(150) ** 1.5
    assert shift(some, others).distance == pytest.approx(ks_2samp(some, others).statistic)
    many, more = rng.random(3000), rng.random(2000) ** 1.2
    assert abs(shift(many, more).distance - ks_2samp(many, more).statistic) < 1 / 500


@pytest.mark.slow
def test_no_shift_is_beyond_chance_in_one_of_twenty():
    rng = np.random.default_rng(1)
    moved = [shift(rng.random(200), rng.random(200), seed).beyond_chance for seed in range(20)]
    assert sum(moved) <= 4


def test_chance_and_intervals():
    rng = np.random.default_rng(1)
    found = shift(rng.random(400), rng.random(400) + 0.3)
    assert found.beyond_chance
    assert found.change_interval[0] < 0.3 < found.change_interval[1]
    assert found.distance_interval[0] < found.distance < found.distance_interval[1]
    # The 5 % bound of two samples of n = 400: 1.358 * sqrt(2 / 400).
    assert found.chance == pytest.approx(1.358 * np.sqrt(2 / 400), rel=0.1)
    assert found.n == (400, 400)
    # Shares of one half have a standard error of sqrt(1 / 4 n + 1 / 4 m); 0.8416 of them are the power.
    found = shift(rng.random(400), rng.random(100))
    assert found.detectable - found.chance == pytest.approx(0.8416 * np.sqrt(0.25 / 400 + 0.25 / 100))
    assert shift([0, 1], [0, 1]).detectable == 1
    same = shift([0, 0, 1], [0, 0, 1])
    assert same.means == (1 / 3, 1 / 3)
    assert same.change_interval[0] < 0 < same.change_interval[1]  # the samples are drawn apart
    assert not same.beyond_chance
    assert not replace(same, distance=same.chance).beyond_chance


@pytest.mark.parametrize(("values", "bins"), [(500, 500), (501, 500), (2000, 500)])
def test_up_to_five_hundred_values_have_a_bin_each(values, bins):
    counts = _counts(np.arange(values, dtype=float), np.arange(values / 2))
    assert counts.shape == (2, bins)
    assert counts.sum(axis=1).tolist() == [values, -(-values // 2)]
    assert (set(counts[0].tolist()) == {1}) == (values == bins)
