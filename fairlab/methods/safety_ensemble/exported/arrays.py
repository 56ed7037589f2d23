"""Fitted models as plain arrays, which score without scikit-learn.

The import of scikit-learn takes longer than all other steps together.

A file holds the models of a harm: arrays under the names ``NUMBER.KIND.FIELD``.
Shape letters: N texts, F source scores, T trees, M nodes of all trees, Q quantiles, L landmarks.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.backbones.trust import loading
from fairlab.files import replaced_when_written
from fairlab.types import FairlabError

Array = NDArray[Any]
LARGEST = 2**30  # bytes of a file, unpacked


@dataclass(frozen=True)
class ForestArrays:
    """Random forest with medians for missing scores; its probabilities equal scikit-learn's bit for bit.

    Attributes:
        medians: Median of each score, (F,).
        roots: First node of each tree, (T,).
        feature: Score that a node compares, (M,).
        threshold: Greatest score, as float32, that leads to a node's first child, (M,).
        children: Indices of a node's two children, (M, 2), greater than its own index; a leaf is its own child.
        value: Share of the harm in a node, (M,).
    """

    medians: Array
    roots: Array
    feature: Array
    threshold: Array
    children: Array
    value: Array

    def __post_init__(self) -> None:
        nodes, own = len(self.feature), np.arange(len(self.feature))
        shapes = self.children.shape == (nodes, 2) and self.threshold.shape == self.value.shape == (nodes,)
        first, second = self.children.T if shapes else (own, own)
        leads_on = (self.children.min(axis=1) > own) | ((first == own) & (second == own)) if shapes else own < 0
        inside = all(
            len(of) and of.min() >= 0 and of.max() < size
            for of, size in ((self.feature, len(self.medians)), (self.roots, nodes), (self.children, nodes))
        )
        if not (shapes and inside and leads_on.all()):
            raise FairlabError("its trees are no trees")

    @classmethod
    def of(cls, pipeline: Any) -> ForestArrays:
        """Return the arrays of a pipeline of medians and a forest."""
        trees = [one.tree_ for one in pipeline[-1].estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
        children = []
        for root, tree in zip(roots, trees, strict=True):
            both = np.stack([tree.children_left, tree.children_right], axis=1)
            children.append(root + np.where(both < 0, np.arange(tree.node_count)[:, None], both))
        return cls(
            medians=pipeline[0].statistics_,
            roots=roots,
            feature=np.concatenate([np.maximum(tree.feature, 0) for tree in trees]),
            threshold=np.concatenate([tree.threshold for tree in trees]),
            children=np.concatenate(children),
            value=np.concatenate([tree.value[:, 0, 1] for tree in trees]),
        )

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities (N,) of source scores (N, F)."""
        scores_NF = _filled(features, self.medians).astype(np.float32)
        text_N = np.arange(len(scores_NF))
        node_TN = np.repeat(self.roots[:, None], len(scores_NF), axis=1)
        while True:
            second_TN = scores_NF[text_N, self.feature[node_TN]] > self.threshold[node_TN]
            next_TN = self.children[node_TN, second_TN.astype(np.int64)]
            if np.array_equal(next_TN, node_TN):
                return np.asarray(sum(self.value[node_TN]) / len(self.roots))
            node_TN = next_TN


@dataclass(frozen=True)
class RegressionArrays:
    """Kernel logistic regression on ranks of scores, fitted by ``paired_logistic`` of the pairing module.

    Its probabilities equal scikit-learn's except for the last digit, which depends on the exponential function in use.

    Attributes:
        medians, means, scales: Median of each score, and mean and scale of its rank; each (F,).
        quantiles: Scores at the ranks ``ranks``, (Q, F).
        ranks: Ranks in [0, 1], (Q,).
        landmarks: Standardised ranks that a text is compared with, (L, F).
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
            raise FairlabError(f"its array {wrong[0]} has another shape than the others ask for")

    @classmethod
    def of(cls, pipeline: Any) -> RegressionArrays:
        """Return the arrays of a pipeline fitted by :func:`fairlab.methods.safety_ensemble.pairing.paired_logistic`."""
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
        """Return probabilities (N,) of source scores (N, F)."""
        scores_NF = _filled(features, self.medians)
        ranks_NF = np.stack([self._rank(*both) for both in zip(scores_NF.T, self.quantiles.T, strict=True)], axis=1)
        standardised_NF = (ranks_NF - self.means) / self.scales
        # |x - y|^2 in the same three parts as in scikit-learn.
        apart_NL = -2 * (standardised_NF @ self.landmarks.T)
        apart_NL += np.einsum("ij,ij->i", standardised_NF, standardised_NF)[:, None]
        apart_NL += np.einsum("ij,ij->i", self.landmarks, self.landmarks)
        kernel_NL = np.exp(-self.gamma * np.maximum(apart_NL, 0))
        return np.asarray(1 / (1 + np.exp(-(kernel_NL @ self.projection.T @ self.slopes + self.intercept))))

    def _rank(self, scores_N: Array, quantiles_Q: Array) -> Array:
        """Return ranks (N,) of one score, midway between the lowest and the highest if quantiles are equal."""
        highest = np.interp(scores_N, quantiles_Q, self.ranks)
        lowest = -np.interp(-scores_N, -quantiles_Q[::-1], -self.ranks[::-1])
        found = 0.5 * (highest + lowest)
        found[scores_N == quantiles_Q[-1]] = 1
        found[scores_N == quantiles_Q[0]] = 0
        return np.asarray(found)


KINDS: dict[str, type[ForestArrays] | type[RegressionArrays]] = {
    "forest": ForestArrays,
    "regression": RegressionArrays,
}
# Steps of the pipelines with an array form, by their class names.
STEPS = {
    "SimpleImputer RandomForestClassifier": "forest",
    "SimpleImputer QuantileTransformer StandardScaler Nystroem LogisticRegression": "regression",
}


def write_arrays(pipelines: Sequence[Any], file: Path) -> bool:
    """Write fitted pipelines as arrays.

    Returns:
        True, or False, without writing a file, if a pipeline's kind has no array form.
    """
    kinds = [STEPS.get(" ".join(type(step).__name__ for _, step in getattr(one, "steps", ()))) for one in pipelines]
    held: dict[str, Array] = {}
    for number, (kind, pipeline) in enumerate(zip(kinds, pipelines, strict=True)):
        if kind is None:
            return False
        arrays = KINDS[kind].of(pipeline)
        held |= {f"{number}.{kind}.{field.name}": getattr(arrays, field.name) for field in fields(arrays)}
    with replaced_when_written(file) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **held)
    return True


def read_arrays(file: Path) -> list[ForestArrays | RegressionArrays]:
    """Return the models of a file, in order.

    Raises:
        FairlabError: The file is damaged, or holds anything except the arrays of such models.
    """
    with loading(f"the fitted model {file}"):
        with zipfile.ZipFile(file) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST:
                raise FairlabError(f"{file} unpacks to more than {LARGEST >> 30} GiB; do not use it")
        with np.load(file, allow_pickle=False) as archive:
            held = {name: archive[name] for name in archive.files}
        models: dict[str, dict[str, Array]] = {}
        for name, array in held.items():
            of, _, field = name.rpartition(".")
            if array.dtype.kind not in "fi" or (array.dtype.kind == "f" and np.isnan(array).any()):
                raise FairlabError(f"{file}: {name} holds anything but numbers; export the ensemble anew")
            models.setdefault(of, {})[field] = array
        try:
            return [KINDS[of.partition(".")[2]](**arrays) for of, arrays in sorted(models.items())]
        except FairlabError as error:
            raise FairlabError(f"{file} holds no fitted model, {error}; do not use it") from error


def _filled(features: NDArray[np.float64], medians: Array) -> Array:
    """Return source scores with medians in place of missing ones."""
    return np.where(np.isnan(features), medians, features)
