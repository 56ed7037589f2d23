"""Fitted models as plain arrays, which can score texts without scikit-learn.

Importing scikit-learn would take longer than all other steps of scoring together.

A safetensors file holds the models for one harm, as arrays with the names ``NUMBER.KIND.FIELD``.
Shape letters: N texts, F source scores, T trees, M nodes of all trees, Q quantiles, L landmarks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.trust import loading
from fairlab.files import save_arrays
from fairlab.methods.safety_ensemble.calibration import sigmoid
from fairlab.types import FairlabError

Array = NDArray[Any]


@dataclass(frozen=True)
class ForestArrays:
    """Random forest that replaces missing scores by medians.

    Its probabilities equal scikit-learn's bit for bit.

    Attributes:
        medians: Median of each score, (F,).
        roots: First node of each tree, (T,).
        feature: Index of the source score that each node compares, (M,).
        threshold: Largest score, as float32, that leads to each node's first child, (M,).
        children: Indices of each node's two children, (M, 2), greater than the node's index; a leaf is its own child.
        value: Share of harmful texts in each node, (M,).
    """

    medians: Array
    roots: Array
    feature: Array
    threshold: Array
    children: Array
    value: Array

    def __post_init__(self) -> None:
        nodes = len(self.feature)
        shapes = self.children.shape == (nodes, 2) and self.threshold.shape == self.value.shape == (nodes,)
        inside = all(
            len(of) and of.min() >= 0 and of.max() < size
            for of, size in ((self.feature, len(self.medians)), (self.roots, nodes), (self.children, nodes))
        )
        if not (shapes and inside and _lead_on(self.children).all()):
            raise FairlabError("its trees are malformed")

    @classmethod
    def of(cls, pipeline: Any) -> ForestArrays:
        """Convert a fitted pipeline of a median imputer and a random forest."""
        trees = [one.tree_ for one in pipeline[-1].estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
        children = []
        for root, tree in zip(roots, trees, strict=True):
            both = np.stack([tree.children_left, tree.children_right], axis=1)  # -1 for a leaf
            children.append(root + np.where(both == -1, np.arange(tree.node_count)[:, None], both))
        return cls(
            medians=pipeline[0].statistics_,
            roots=roots,
            feature=np.concatenate([np.maximum(tree.feature, 0) for tree in trees]),
            threshold=np.concatenate([tree.threshold for tree in trees]),
            children=np.concatenate(children),
            value=np.concatenate([tree.value[:, 0, 1] for tree in trees]),
        )

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of harm (N,) for source scores (N, F)."""
        return np.asarray(sum(self.leaves(_fill_missing(features, self.medians).astype(np.float32))) / len(self.roots))

    def leaves(self, scores_NF: Array) -> Array:
        """Return the values (T, N) of the leaves that are reached by scores without missing values."""
        text_N = np.arange(len(scores_NF))
        node_TN = np.repeat(self.roots[:, None], len(scores_NF), axis=1)
        while True:
            second_TN = scores_NF[text_N, self.feature[node_TN]] > self.threshold[node_TN]
            next_TN = self.children[node_TN, second_TN.astype(np.int64)]
            if np.array_equal(next_TN, node_TN):
                return np.asarray(self.value[node_TN])
            node_TN = next_TN


@dataclass(frozen=True)
class LogisticArrays:
    """Logistic regression on standardised scores.

    Attributes:
        medians, means, scales, slopes: Median, mean and scale of each score, and its coefficient; each (F,).
        intercept: Intercept of the regression, ().
    """

    medians: Array
    means: Array
    scales: Array
    slopes: Array
    intercept: Array

    def __post_init__(self) -> None:
        shape = self.medians.shape
        if (
            len(shape) != 1
            or {self.means.shape, self.scales.shape, self.slopes.shape} != {shape}
            or self.intercept.shape
        ):
            raise FairlabError("its arrays do not have the shapes of a regression")

    @classmethod
    def of(cls, pipeline: Any) -> LogisticArrays:
        """Convert a fitted pipeline of an optional median imputer, standardisation and a logistic regression.

        Without an imputer, missing scores are replaced by the mean.
        """
        *missing, scale, model = (step for _, step in pipeline.steps)
        medians = missing[0].statistics_ if missing else scale.mean_
        return cls(medians, scale.mean_, scale.scale_, model.coef_[0], np.array(model.intercept_[0]))

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of harm (N,) for source scores (N, F)."""
        standardised_NF = (_fill_missing(features, self.medians) - self.means) / self.scales
        return sigmoid(standardised_NF @ self.slopes + self.intercept)


@dataclass(frozen=True)
class RegressionArrays:
    """Kernel logistic regression on ranks of scores, fitted by ``paired_logistic`` of the pairing module.

    Its probabilities equal scikit-learn's except for the last digit, which depends on the exponential function in use.

    Attributes:
        medians, means, scales: Median of each score, and mean and scale of its rank; each (F,).
        quantiles: Scores at the ranks ``ranks``, (Q, F).
        ranks: Ranks in [0, 1], (Q,).
        landmarks: Standardised ranks with which the ranks of a text are compared, (L, F).
        gamma: Width parameter of the kernel, ().
        projection: Matrix from kernel values to the regression's inputs, (L, L).
        slopes: Coefficients of the regression, (L,).
        intercept: Intercept of the regression, ().
    """

    medians: Array
    means: Array
    scales: Array
    quantiles: Array
    ranks: Array
    landmarks: Array
    gamma: Array
    projection: Array
    slopes: Array
    intercept: Array

    def __post_init__(self) -> None:
        scores, marks = len(self.medians), len(self.landmarks)
        expected = {
            "medians": (scores,),
            "means": (scores,),
            "scales": (scores,),
            "quantiles": (len(self.ranks), scores),
            "ranks": (len(self.ranks),),
            "landmarks": (marks, scores),
            "gamma": (),
            "projection": (marks, marks),
            "slopes": (marks,),
            "intercept": (),
        }
        if wrong := [name for name, shape in expected.items() if getattr(self, name).shape != shape]:
            raise FairlabError(f"its array {wrong[0]} has a shape that does not match the others")

    @classmethod
    def of(cls, pipeline: Any) -> RegressionArrays:
        """Convert a pipeline fitted by :func:`fairlab.methods.safety_ensemble.pairing.paired_logistic`."""
        steps = pipeline.named_steps
        return cls(
            medians=steps["missing"].statistics_,
            means=steps["scale"].mean_,
            scales=steps["scale"].scale_,
            quantiles=steps["ranks"].quantiles_,
            ranks=steps["ranks"].references_,
            landmarks=steps["kernel"].components_,
            gamma=np.array(steps["kernel"].gamma),
            projection=steps["kernel"].normalization_,
            slopes=steps["model"].coef_[0],
            intercept=np.array(steps["model"].intercept_[0]),
        )

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of harm (N,) for source scores (N, F)."""
        scores_NF = _fill_missing(features, self.medians)
        ranks_NF = np.stack([self._rank(*both) for both in zip(scores_NF.T, self.quantiles.T, strict=True)], axis=1)
        standardised_NF = (ranks_NF - self.means) / self.scales
        # |x - y|^2 in the same three parts as in scikit-learn.
        apart_NL = -2 * (standardised_NF @ self.landmarks.T)
        apart_NL += np.einsum("ij,ij->i", standardised_NF, standardised_NF)[:, None]
        apart_NL += np.einsum("ij,ij->i", self.landmarks, self.landmarks)
        kernel_NL = np.exp(-self.gamma * np.maximum(apart_NL, 0))
        return sigmoid(kernel_NL @ self.projection.T @ self.slopes + self.intercept)

    def _rank(self, scores_N: Array, quantiles_Q: Array) -> Array:
        """Return the ranks (N,) of the values of one score.

        A value that equals several quantiles gets the mean of their lowest and highest rank.
        """
        highest = np.interp(scores_N, quantiles_Q, self.ranks)
        lowest = -np.interp(-scores_N, -quantiles_Q[::-1], -self.ranks[::-1])
        found = 0.5 * (highest + lowest)
        found[scores_N == quantiles_Q[-1]] = 1
        found[scores_N == quantiles_Q[0]] = 0
        return np.asarray(found)


Fitted = ForestArrays | RegressionArrays | LogisticArrays
KINDS: dict[str, type[Fitted]] = {"forest": ForestArrays, "logistic": LogisticArrays, "regression": RegressionArrays}
# Kind of model by the class names of a fitted pipeline's steps.
STEPS = {
    "SimpleImputer RandomForestClassifier": "forest",
    "SimpleImputer StandardScaler LogisticRegression": "logistic",
    "StandardScaler LogisticRegression": "logistic",
    "SimpleImputer QuantileTransformer StandardScaler Nystroem LogisticRegression": "regression",
}


def write_arrays(pipelines: Sequence[Any], file: Path) -> None:
    """Write fitted pipelines to a file of arrays.

    Raises:
        FairlabError: A pipeline cannot be stored as arrays.
    """
    held: dict[str, Array] = {}
    for number, pipeline in enumerate(pipelines):
        steps = " ".join(type(step).__name__ for _, step in getattr(pipeline, "steps", ()))
        if steps not in STEPS:
            raise FairlabError(f"{steps or type(pipeline).__name__} cannot be stored as arrays; use method.kind=forest")
        arrays = KINDS[STEPS[steps]].of(pipeline)
        held |= {f"{number}.{STEPS[steps]}.{field.name}": getattr(arrays, field.name) for field in fields(arrays)}
    save_arrays(held, file)


def read_arrays(file: Path) -> list[Fitted]:
    """Load the models stored in a file, in order.

    Raises:
        FairlabError: The file is damaged, or contains anything other than arrays of safety-ensemble models.
    """
    from safetensors.numpy import load_file

    with loading(f"the fitted model {file}"):
        models: dict[str, dict[str, Array]] = {}
        for name, array in load_file(file).items():
            of, _, field = name.rpartition(".")
            if array.dtype.kind not in "fi" or (array.dtype.kind == "f" and np.isnan(array).any()):
                raise FairlabError(f"{file}: {name} does not contain numbers; export the ensemble again")
            models.setdefault(of, {})[field] = array
        try:
            return [KINDS[of.partition(".")[2]](**arrays) for of, arrays in sorted(models.items())]
        except FairlabError as error:
            raise FairlabError(f"{file} does not contain a fitted model ({error}); do not use it") from error


def _lead_on(children: Array) -> Array:
    """Return whether each node is a leaf, which is its own two children, or leads to later nodes, (M,)."""
    own = np.arange(len(children))
    return np.asarray((children.min(axis=1) > own) | (children == own[:, None]).all(axis=1))


def _fill_missing(features: NDArray[np.float64], medians: Array) -> Array:
    """Replace missing source scores by medians."""
    return np.where(np.isnan(features), medians, features)
