import math

import numpy as np
import pytest

from fairlab.metrics.bootstrap import bootstrap_interval, mean, ratio_of_means


def test_the_interval_of_a_mean_is_near_the_normal_one():
    values = np.random.default_rng(0).normal(3.0, 2.0, size=400)
    low, high = bootstrap_interval(mean, values)
    half = 1.96 * values.std() / math.sqrt(400)
    assert low == pytest.approx(values.mean() - half, abs=0.03)
    assert high == pytest.approx(values.mean() + half, abs=0.03)


def test_intervals_cover_at_about_their_level():
    rng = np.random.default_rng(1)
    hits = 0
    for trial in range(200):
        low, high = bootstrap_interval(mean, rng.normal(0.0, 1.0, size=60), seed=trial)
        hits += low <= 0 <= high
    assert 180 <= hits <= 199


def test_a_ratio_resamples_its_parts_together():
    numerator = np.random.default_rng(2).uniform(1, 9, size=50)
    assert bootstrap_interval(ratio_of_means, numerator, 2 * numerator) == pytest.approx((0.5, 0.5))


def test_the_same_seed_gives_the_same_interval():
    values = np.arange(30.0)
    assert bootstrap_interval(mean, values, seed=5) == bootstrap_interval(mean, values, seed=5)


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_items_have_no_interval(count):
    assert all(math.isnan(bound) for bound in bootstrap_interval(mean, np.ones(count)))
