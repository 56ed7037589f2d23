"""Fitted models as arrays: they score as scikit-learn's do, and what is no such model is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairlab.methods.safety_ensemble.exported.arrays import (
    ForestArrays,
    LogisticArrays,
    RegressionArrays,
    read_arrays,
    write_arrays,
)
from fairlab.methods.safety_ensemble.model import logits
from fairlab.methods.safety_ensemble.pairing import paired_logistic
from fairlab.methods.safety_ensemble.passes import Trainer
from fairlab.types import FairlabError

# Two trees: the first asks whether the second score is above 0.5, the other is a leaf.
STUMP = {
    "medians": np.array([0.0, 0.25]),
    "roots": np.array([0, 3]),
    "feature": np.array([1, 0, 0, 0]),
    "threshold": np.array([0.5, -2.0, -2.0, -2.0]),
    "children": np.array([[1, 2], [1, 1], [2, 2], [3, 3]]),
    "value": np.array([0.4, 0.1, 0.9, 0.5]),
}


@pytest.fixture(scope="module")
def examples():
    rng = np.random.default_rng(0)
    features = np.concatenate([rng.random((300, 3)), rng.integers(0, 2, (300, 2))], axis=1)
    features[::7, 1] = np.nan
    features[:, 4] = np.nan  # a source that never answers
    truth = (np.nan_to_num(features[:, 0]) + rng.random(300) > 1).astype(int)
    return features, truth


def fitted(kind, features, truth):
    return Trainer(kind, 9, 3).fitted(features, truth, np.ones(len(truth)), 0, leaf=4, sets=100)


def test_a_forest_goes_to_the_second_child_above_the_threshold_and_takes_the_mean_of_trees():
    features = np.array([[9.0, 0.5], [9.0, 0.6], [9.0, np.nan]])
    np.testing.assert_allclose(ForestArrays(**STUMP).probabilities(features), [0.3, 0.7, 0.3])


def test_a_written_forest_gives_scikit_learns_probabilities_to_the_bit(examples, tmp_path):
    features, truth = examples
    forest, more = fitted("forest", features, truth), np.random.default_rng(1).random((2_000, 5))
    write_arrays([forest], tmp_path / "hate.safetensors")
    (read,) = read_arrays(tmp_path / "hate.safetensors")
    write_arrays([fitted("forest", features[:, :1], truth)], tmp_path / "one.safetensors")  # of one score
    assert len(read_arrays(tmp_path / "one.safetensors")) == 1
    for some in (features, more, more[:1], np.full((1, 5), np.nan)):
        expected = sum(tree.predict_proba(forest[:-1].transform(some))[:, 1] for tree in forest[-1].estimators_) / 9
        np.testing.assert_array_equal(read.probabilities(some), expected)
        np.testing.assert_array_equal(logits([read], some), logits([forest], some))


def test_a_written_regression_gives_scikit_learns_probabilities_but_for_the_last_digit(examples, tmp_path):
    features, truth = examples
    regression = paired_logistic(features, truth, np.arange(300) // 3, np.ones(300), 1.0, 0)
    forest, more = fitted("forest", features, truth), np.random.default_rng(1).random((500, 5))
    write_arrays([forest, regression], tmp_path / "hate.safetensors")
    first, read = read_arrays(tmp_path / "hate.safetensors")
    assert isinstance(first, ForestArrays)
    assert isinstance(read, RegressionArrays)
    assert read.landmarks.shape == read.quantiles.shape == (200, 5)  # of 300 texts
    for some in (features, more, more * 3 - 1, np.full((1, 5), np.nan)):
        np.testing.assert_allclose(read.probabilities(some), regression.predict_proba(some)[:, 1], rtol=1e-14)


def test_a_regression_gives_scikit_learns_probabilities_but_for_the_last_digits(examples, tmp_path):
    features, truth = examples
    model, more = fitted("logistic", features, truth), np.random.default_rng(1).random((500, 5))
    write_arrays([model], tmp_path / "hate.safetensors")
    (read,) = read_arrays(tmp_path / "hate.safetensors")
    assert isinstance(read, LogisticArrays)
    for some in (features, more, np.full((1, 5), np.nan)):
        np.testing.assert_allclose(read.probabilities(some), model.predict_proba(some)[:, 1], rtol=1e-13)


def test_a_regression_without_medians_counts_a_missing_score_as_the_mean(examples, tmp_path):
    features, truth = examples
    features = np.nan_to_num(features, nan=0.5)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(features, truth)
    write_arrays([model], tmp_path / "hate.safetensors")
    (read,) = read_arrays(tmp_path / "hate.safetensors")
    np.testing.assert_allclose(read.probabilities(features), model.predict_proba(features)[:, 1], rtol=1e-13)
    at_means = model.predict_proba(features.mean(axis=0, keepdims=True))[:, 1]
    np.testing.assert_allclose(read.probabilities(np.full((1, 5), np.nan)), at_means, rtol=1e-13)


def test_a_model_without_such_a_form_writes_no_file(tmp_path):
    with pytest.raises(FairlabError, match="object cannot be stored as arrays"):
        write_arrays([object()], tmp_path / "hate.safetensors")
    assert not list(tmp_path.iterdir())


SPOILT = {
    "a circle": {"children": np.array([[1, 2], [0, 0], [2, 2], [3, 3]])},
    "half a leaf": {"children": np.array([[0, 2], [1, 1], [2, 2], [3, 3]])},
    "a child that is not there": {"children": np.array([[1, 4], [1, 1], [2, 2], [3, 3]])},
    "a child below 0": {"children": np.array([[-1, 2], [1, 1], [2, 2], [3, 3]])},
    "a score that is not there": {"feature": np.array([2, 0, 0, 0])},
    "no trees": {"roots": np.array([], dtype=np.int64)},
    "a root that is not there": {"roots": np.array([0, 4])},
    "a threshold too few": {"threshold": np.array([0.5, -2.0, -2.0])},
    "a value too few": {"value": np.array([0.4, 0.1, 0.9])},
    "children of another shape": {"children": np.array([1, 1, 2, 3])},
    "an array without dimensions": {"feature": np.array(1)},
    "no number": {"threshold": np.array([np.nan, 0, 0, 0])},
    "an array too many": {"more": np.array([1])},
    "truths": {"value": np.array([True, False, True, False])},
}


@pytest.mark.parametrize("change", SPOILT.values(), ids=SPOILT)
def test_what_is_no_forest_is_refused(change, tmp_path):
    save_file({f"0.forest.{name}": array for name, array in (STUMP | change).items()}, tmp_path / "hate.safetensors")
    with pytest.raises(FairlabError, match=r"hate\.safetensors"):
        read_arrays(tmp_path / "hate.safetensors")


LINE = {name: np.array([1.0, 2.0]) for name in ("medians", "means", "scales", "slopes")} | {"intercept": np.array(0.5)}
ONE = np.array([1.0])


@pytest.mark.parametrize(
    "change", [{name: ONE} for name in LINE] + [{name: np.ones((1, 2)) for name in LINE} | {"intercept": np.array(0.5)}]
)
def test_what_is_no_regression_is_refused(change, tmp_path):
    LogisticArrays(**LINE)
    save_file({f"0.logistic.{name}": array for name, array in (LINE | change).items()}, tmp_path / "hate.safetensors")
    with pytest.raises(FairlabError, match=r"hate\.safetensors"):
        read_arrays(tmp_path / "hate.safetensors")


def test_a_kernel_regression_of_other_shapes_is_refused(examples):
    features, truth = examples
    arrays = vars(RegressionArrays.of(paired_logistic(features, truth, np.arange(300) // 3, np.ones(300), 1.0, 0)))
    for name, array in arrays.items():
        with pytest.raises(FairlabError, match="does not match the others"):
            RegressionArrays(**arrays | {name: np.ones((*array.shape, 7))})


@pytest.mark.parametrize("name", ["0.regression.medians", "0.something.medians", "medians"])
def test_what_is_no_model_is_refused(name, tmp_path):
    save_file({name: np.zeros(3)}, tmp_path / "hate.safetensors")
    with pytest.raises(FairlabError, match=r"hate\.safetensors"):
        read_arrays(tmp_path / "hate.safetensors")


def test_scoring_imports_no_scikit_learn(examples, tmp_path):
    features, truth = examples
    write_arrays([fitted("forest", features, truth)], tmp_path / "hate.safetensors")
    code = f"""
import sys
from pathlib import Path
import numpy as np
from fairlab.methods.safety_ensemble.exported.arrays import read_arrays
from fairlab.methods.safety_ensemble.exported.columns import Columns
from fairlab.methods.safety_ensemble.model import HarmModel
from fairlab.methods.safety_ensemble.sources.profanity import Profanity
HarmModel(read_arrays(Path({str(tmp_path / "hate.safetensors")!r})), 1.0, 0.0).score(np.zeros((2, 5)))
Profanity().score(["a fool"])
assert not {{"sklearn", "scipy", "pandas", "skops", "torch"}} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
