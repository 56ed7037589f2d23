import math

import numpy as np
import pytest
from scipy import stats

from experiments.shared.nested_draws import nested_draws
from fairlab.metrics.bootstrap import (
    bootstrap_draws,
    expanded_interval,
    folded_interval,
    mean,
    mean_draws,
    percentile_interval,
    ratio_of_means,
    two_sided_p,
    weighted_draws,
)


def bootstrap_interval(statistic, *samples, seed=0):
    return percentile_interval(bootstrap_draws(statistic, *samples, seed=seed))


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


def test_it_is_the_bootstrap_of_scipy():
    values = np.random.default_rng(3).exponential(size=40)
    found = stats.bootstrap(
        [values], np.mean, n_resamples=2000, batch=100, method="percentile", rng=np.random.default_rng(7)
    ).confidence_interval
    assert bootstrap_interval(mean, values, seed=7) == pytest.approx((found.low, found.high))


def test_over_sums_and_sizes_it_is_the_cluster_bootstrap():
    rng = np.random.default_rng(4)
    clusters = [rng.normal(loc, 0.1, size=rng.integers(1, 6)) for loc in rng.normal(size=30)]
    sums, sizes = [part.sum() for part in clusters], [len(part) for part in clusters]
    by_hand = []
    chooser = np.random.default_rng(5)
    for _ in range(2000):
        chosen = chooser.integers(0, 30, size=30)
        by_hand.append(np.concatenate([clusters[k] for k in chosen]).mean())
    assert bootstrap_interval(ratio_of_means, sums, sizes) == pytest.approx(percentile_interval(by_hand), abs=0.05)


def test_draws_of_two_models_are_paired_by_the_seed():
    first = np.random.default_rng(6).normal(size=50)
    difference = bootstrap_draws(mean, first + 1) - bootstrap_draws(mean, first)
    assert difference == pytest.approx(np.ones(2000))


def test_p_values_by_hand():
    assert two_sided_p(np.ones(1999)) == pytest.approx(2 / 2000)
    assert two_sided_p(np.zeros(10)) == 1.0
    assert two_sided_p([-1.0] * 9 + [1.0] * 90) == pytest.approx(2 * 10 / 100)


def test_p_values_hold_their_level():
    rng = np.random.default_rng(8)
    small = sum(two_sided_p(bootstrap_draws(mean, rng.normal(size=80), seed=k)) < 0.05 for k in range(300))
    assert 6 <= small <= 30  # 15 expected


def test_a_few_undefined_draws_are_left_out_and_many_are_not_borne():
    draws = np.r_[np.full(5, np.nan), np.arange(95.0)]
    assert percentile_interval(draws) == pytest.approx(tuple(np.quantile(np.arange(95.0), [0.025, 0.975])))
    many = np.r_[np.full(6, np.nan), np.arange(94.0)]
    assert all(math.isnan(number) for number in (*percentile_interval(many), two_sided_p(many)))


def test_two_items_are_enough_for_a_wide_interval_and_one_is_not():
    # Student's t of one degree of freedom, 12.7062, by z, 1.959964, times the root of 2.
    assert expanded_interval(1.0, 0.5, 2.0, 2) == pytest.approx((1 - 0.5 * 9.16818, 1 + 9.16818), rel=1e-5)
    assert all(math.isnan(bound) for bound in expanded_interval(1.0, 0.5, 2.0, 1))


@pytest.mark.parametrize(
    ("value", "p", "interval"),
    [
        (1.0, 0.04, (0.7, 1.3)),  # as far below the value as the upper percentile is above it
        (1.0, 0.05, (0.0, 1.3)),
        (1.2, 0.04, (0.9, 1.5)),  # by half the distance of the percentiles
        (0.1, 0.04, (0.0, 1.3)),
    ],
)
def test_the_interval_of_a_mean_of_absolute_values(value, p, interval):
    low = 0.9 if value == 1 else 0.7
    assert folded_interval(value, low, 1.3, p) == pytest.approx(interval)


def test_means_of_five_thousand_values_are_normal():
    values = np.random.default_rng(2).normal(3.0, 2.0, 5000)
    assert (mean_draws(values[1:]) == bootstrap_draws(mean, values[1:])).all()
    found = mean_draws(values)
    assert not (found == bootstrap_draws(mean, values)).any()
    assert (found.mean(), found.std()) == pytest.approx((values.mean(), values.std() / 5000**0.5), rel=0.05)


def test_draws_by_weights_are_those_of_the_items():
    values = np.random.default_rng(1).random(17)
    by_weight = weighted_draws(lambda weights: weights @ values / weights.sum(axis=1), list(range(17)))
    np.testing.assert_allclose(by_weight, bootstrap_draws(mean, values))


def test_clusters_are_drawn_whole():
    weights = weighted_draws(lambda weights: weights, ["a", "b", "a"])
    assert (weights[:, 0] == weights[:, 2]).all()
    assert set(map(tuple, weights)) == {(2, 0, 2), (1, 1, 1), (0, 2, 0)}


def test_nested_draws_resample_runs_and_items():
    assert set(nested_draws([[0, 4], [0, 4]])) == {0, 2, 4}  # two runs that agree: items alone
    assert set(nested_draws([[1, 1], [3, 3]])) == {1, 2, 3}  # items alike: runs alone
    assert set(nested_draws([[2, 0]], [2, 1]).round(6)) == {0, 0.666667, 1}  # one item of two parts, one of one
    assert nested_draws([[0, 1, 5], [2, 0, 1]]).mean() == pytest.approx(1.5, abs=0.05)
