"""Detectable differences: by hand, and by drawing studies."""

import numpy as np
import pytest

from experiments.shared.power import detectable_difference, detectable_mean


def test_by_hand():
    # 1.959964 + 0.841621 = 2.801585; 2 * 0.1 * 0.9 / 900 = 0.0002, whose root is 0.0141421
    assert detectable_difference(0.1, 900, 1, own=1.0) == pytest.approx(2.801585 * 0.0141421, rel=1e-5)
    assert detectable_difference(0.1, 900, 5, own=1.0) == detectable_difference(0.1, 900, 1, own=0.3)
    assert detectable_difference(0.1, 900, 4, own=0.0) == pytest.approx(detectable_difference(0.1, 3600, 1, own=0.0))


def test_studies_with_that_difference_find_it_four_times_in_five():
    pairs, share = 2000, 0.3
    difference = detectable_difference(share, pairs, 1, own=1.0)
    draw = np.random.default_rng(0)
    low, high = (draw.binomial(pairs, share + side * difference / 2, 20_000) / pairs for side in (-1, 1))
    error = np.sqrt((low * (1 - low) + high * (1 - high)) / pairs)
    found = np.abs(high - low) > 1.959964 * error
    assert 0.78 < found.mean() < 0.82  # seven standard errors


@pytest.mark.parametrize("values", [{"share": 1.2}, {"pairs": 0}, {"seeds": 0}, {"own": -0.1}, {"power": 1.0}])
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValueError, match="out of range"):
        detectable_difference(**{"share": 0.1, "pairs": 10, "seeds": 1, "own": 0.5} | values)


def test_a_mean_of_that_size_is_found_four_times_in_five():
    from scipy.stats import ttest_1samp

    difference = detectable_mean(2.0, 5)
    drawn = np.random.default_rng(0).normal(difference, 2.0, (20_000, 5))
    assert 0.78 < (ttest_1samp(drawn, 0.0, axis=1).pvalue < 0.05).mean() < 0.82
    assert detectable_mean(0.0, 5) == 0.0
    assert detectable_mean(2.0, 3) > difference > detectable_mean(2.0, 20)


@pytest.mark.parametrize("values", [{"deviation": -1.0}, {"n": 2}, {"power": 0.05}])
def test_a_mean_of_values_out_of_range_is_refused(values):
    with pytest.raises(ValueError, match="out of range"):
        detectable_mean(**{"deviation": 1.0, "n": 5} | values)
