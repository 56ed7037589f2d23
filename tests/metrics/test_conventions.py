"""Every draw starts from the seed 0 by default, and results cannot be changed."""

from dataclasses import is_dataclass

import numpy as np
import pytest

from fairlab.metrics import bootstrap, db_index, lmi, permutation_test, shift, surface_probe

VALUES = np.random.default_rng(0).normal(size=(30, 3))
LABELS = np.arange(30) % 3
INDEX = db_index.db_index(VALUES, VALUES + 1, LABELS)
FIRST = VALUES[:, 0]
TEXTS = [f"word{k % 7} word{k % 5}" for k in range(30)]
DRAWS = {
    "bootstrap_draws": lambda **seed: bootstrap.bootstrap_draws(bootstrap.mean, FIRST, **seed),
    "mean_draws": lambda **seed: bootstrap.mean_draws(FIRST, **seed),
    "weighted_draws": lambda **seed: bootstrap.weighted_draws(lambda weights: weights @ FIRST, range(30), **seed),
    "random_estimates": lambda **seed: db_index.random_estimates(INDEX, repeats=5, **seed),
    "draws": lambda **seed: db_index.draws(INDEX, **seed),
    "draws by source": lambda **seed: db_index.draws(INDEX, sources=range(30), **seed),
    "cluster": lambda **seed: db_index.cluster(VALUES, k=5, **seed).labels,
    "association_draws": lambda **seed: lmi.association_draws(np.array([[9, 4], [3, 8]]), **seed),
    "coin_draws": lambda **seed: permutation_test.coin_draws([FIRST > 0], **seed),
    "shift": lambda **seed: shift.shift(FIRST, FIRST**2, **seed).change_interval,
    "out_of_fold": lambda **seed: surface_probe.out_of_fold(TEXTS, [*"ab"] * 15, **seed),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_seed_is_0_by_default(name):
    found = DRAWS[name]()
    np.testing.assert_array_equal(found, DRAWS[name](seed=0))
    assert not np.array_equal(found, DRAWS[name](seed=1))


@pytest.mark.parametrize("module", [db_index, lmi, shift])
def test_results_cannot_be_changed(module):
    kinds = [one for one in vars(module).values() if is_dataclass(one) and one.__module__ == module.__name__]
    assert kinds
    assert all(one.__dataclass_params__.frozen for one in kinds)
