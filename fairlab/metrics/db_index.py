"""db-index: similarity of a dataset to abusive language, by the cosine of embeddings.

For one comparison entry e, the index is the mean, over clusters, of the mean cosine between e and the cluster's
entries. Both means are linear in the unit vectors. The mean cosine of e to a cluster is therefore the dot product of
e's unit vector with the mean of the cluster's unit vectors. The expectation over all comparison entries uses their mean
unit vector, which is not rescaled to unit length. An array of the size targets x comparisons is therefore not needed.
Vectors are read in blocks, so they may be a memory map of any length.

Source: Mondal and Lipizzi 2024, "Mitigating Large Language Model Bias: Automated Dataset Augmentation and Prejudice
Quantification", section 3.3. The paper draws one comparison entry at random; the expectation, the outlier rule and the
criterion for the number of clusters are defined by this project.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairlab.metrics.bootstrap import cluster_numbers, mean_draws, weighted_draws
from fairlab.types import FairlabError

BLOCK = 16_384  # number of vectors in memory at a time
FEWEST, MOST = 2, 16  # smallest and largest number of clusters tried
GRID_SAMPLE = 4_000  # size of the sample of entries on which the number of clusters is chosen
WHOLE = 20_000  # up to this number of entries, k-means uses all of them in every step
FENCE = 1.5  # interquartile ranges beyond the quartiles, Tukey's rule for outliers

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Clusters:
    """Clusters of the target entries.

    Attributes:
        labels: Cluster of each vector, (n,), from 0; no cluster is empty.
        silhouettes: Mean silhouette on the sample for each number of clusters tried; empty without a search.
    """

    labels: NDArray[np.int32]
    silhouettes: dict[int, float] = field(default_factory=dict)

    @property
    def k(self) -> int:
        """Return the number of clusters."""
        return int(self.labels.max()) + 1


@dataclass(frozen=True)
class DBIndex:
    """db-index of a clustered dataset.

    Attributes:
        sizes: Number of entries in each cluster, (K,).
        cosines: Mean cosine of each comparison entry to the entries of each cluster, (m, K).
        projections: Mean cosine of each target entry to the comparison entries, (n,).
        labels: Cluster of each target entry, (n,).
        zeros: Number of target entries and number of comparison entries with a zero vector, which has cosine 0 to all
            others.
    """

    sizes: NDArray[np.int64]
    cosines: NDArray[np.float64]
    projections: NDArray[np.float64]
    labels: NDArray[np.int32]
    zeros: tuple[int, int]

    @property
    def value(self) -> float:
        """Return the db-index: the exact expectation over all comparison entries, in [-1, 1]."""
        return float(self.cosines.mean())

    @property
    def over_entries(self) -> float:
        """Return the expectation averaged over target entries instead of clusters, in [-1, 1]."""
        return float(self.projections.mean())

    @property
    def of_clusters(self) -> NDArray[np.float64]:
        """Return the expectation for each cluster, (K,)."""
        return self.cosines.mean(axis=0)

    @property
    def of_entries(self) -> NDArray[np.float64]:
        """Return the db-index for each comparison entry, (m,): the possible values of a random draw."""
        return self.cosines.mean(axis=1)

    @property
    def spread(self) -> float:
        """Return the standard deviation of ``of_entries``."""
        return float(self.of_entries.std())


def db_index(targets: Array, comparisons: Array, labels: NDArray[np.integer]) -> DBIndex:
    """Compute the db-index of clustered targets against all comparison entries.

    Args:
        targets: Vectors of the dataset's entries, (n, D), an array or a memory map.
        comparisons: Vectors of the entries to compare with, (m, D).
        labels: Cluster of each target, (n,), from 0, with no empty cluster.

    Raises:
        FairlabError: There is no comparison entry, a vector is not finite, or all vectors of one set are zero.
    """
    for vectors, side in ((targets, "target"), (comparisons, "comparison")):
        if not len(vectors):
            raise FairlabError(f"the {side} set is empty; give one that holds texts")
    k = int(labels.max()) + 1
    sizes = np.bincount(labels, minlength=k)
    sums_KD, zeros = _unit_sums(targets, labels, k, "target")
    directions_KD = sums_KD / sizes[:, None]
    cosines_MK = np.concatenate([unit @ directions_KD.T for _, unit in _unit_blocks(comparisons, "comparison")])
    comparison_KD, comparison_zeros = _unit_sums(
        comparisons, np.zeros(len(comparisons), dtype=np.int32), 1, "comparison"
    )
    mean_D = comparison_KD[0] / len(comparisons)
    projections = np.concatenate([unit @ mean_D for _, unit in _unit_blocks(targets, "target")])
    return DBIndex(sizes, cosines_MK, projections, np.asarray(labels, dtype=np.int32), (zeros, comparison_zeros))


def random_estimates(
    index: DBIndex, *, repeats: int, draw: Literal["run", "cluster"] = "run", seed: int = 0
) -> NDArray[np.float64]:
    """Return random estimates as in the paper, (repeats,), from randomly drawn comparison entries.

    The paper averages five estimates.

    Args:
        index: The db-index of the dataset.
        repeats: Number of estimates.
        draw: ``run`` to draw one entry for the whole run, or ``cluster`` to draw one per cluster; the paper's text
            allows both interpretations.
        seed: Seed of the draws.

    Raises:
        FairlabError: ``draw`` is unknown, or ``repeats`` is below 1.
    """
    if draw not in ("run", "cluster"):
        raise FairlabError(f"draw must be run or cluster, not '{draw}'")
    if repeats < 1:
        raise FairlabError(f"repeats must be at least 1, not {repeats}")
    m, k = index.cosines.shape
    chosen = np.random.default_rng(seed).integers(0, m, size=(repeats, k if draw == "cluster" else 1))
    return index.cosines[chosen, np.arange(k)].mean(axis=1)


def ordinary(index: DBIndex) -> NDArray[np.bool_]:
    """Return a mask (m,) of the comparison entries that are not outliers by Tukey's fences on ``of_entries``."""
    low, high = np.quantile(index.of_entries, [0.25, 0.75])
    reach = FENCE * (high - low)
    return (index.of_entries >= low - reach) & (index.of_entries <= high + reach)


def draws(
    index: DBIndex,
    *,
    cluster: int | None = None,
    sources: Sequence[Hashable] | None = None,
    over: Literal["clusters", "entries"] = "clusters",
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return bootstrap draws (2,000,) of the expectation, for all clusters or for a single cluster.

    The clusters are fixed, and target entries are resampled within them. If their sources are known, whole sources are
    resampled over all clusters instead, because copies of one sentence are not independent evidence; a cluster without
    a drawn source is ignored. Comparison entries are resampled independently. The product of the two deviations is left
    out, because it is smaller than either deviation by an order of magnitude.

    Args:
        index: The db-index of the dataset.
        cluster: Number of the cluster to resample; None for all clusters.
        sources: Source of each of the n target entries; None if all entries are original.
        over: Unit over which the mean is taken, ``clusters`` or ``entries``.
        seed: Seed of the resampling.
    """
    order = np.argsort(index.labels, kind="stable")
    parts = np.split(index.projections[order], np.cumsum(index.sizes)[:-1])
    weights = index.sizes if over == "entries" else np.ones(len(index.sizes))
    if cluster is not None:
        inside = np.flatnonzero(index.labels == cluster)
        of_comparison = index.cosines[:, cluster]
        of_targets = (
            _mean_draws(parts[cluster], [seed, 1 + cluster])
            if sources is None
            else _source_draws(index.projections[inside], [sources[int(place)] for place in inside], seed=seed)
        )
    else:
        of_comparison = np.average(index.cosines, axis=1, weights=weights)
        of_targets = (
            np.average([_mean_draws(part, [seed, 1 + k]) for k, part in enumerate(parts)], axis=0, weights=weights)
            if sources is None
            else _source_draws(index.projections, sources, index.labels if over == "clusters" else None, seed=seed)
        )
    return of_targets + _mean_draws(of_comparison, [seed, 0]) - float(of_comparison.mean())


def _source_draws(
    projections: NDArray[np.float64],
    sources: Sequence[Hashable],
    labels: NDArray[np.integer] | None = None,
    *,
    seed: int,
) -> NDArray[np.float64]:
    """Return draws (2,000,) of the mean over clusters, from resampled sources.

    Without labels, the mean is over entries.
    """
    labels = np.zeros(len(projections), dtype=np.int64) if labels is None else labels
    cells = (cluster_numbers(sources), labels)
    sums_SK = np.zeros((int(cells[0].max()) + 1, int(labels.max()) + 1))
    counts_SK = sums_SK.copy()
    np.add.at(sums_SK, cells, projections)
    np.add.at(counts_SK, cells, 1.0)

    def means(drawn_BS: NDArray[np.float64]) -> NDArray[np.float64]:
        sums_BK, counts_BK = drawn_BS @ sums_SK, drawn_BS @ counts_SK
        there = counts_BK > 0
        return np.divide(sums_BK, counts_BK, where=there, out=np.zeros_like(sums_BK)).sum(axis=1) / there.sum(axis=1)

    return weighted_draws(means, range(len(sums_SK)), seed)


def _mean_draws(values: NDArray[np.float64], seed: list[int]) -> NDArray[np.float64]:
    """Return bootstrap draws of a mean, seeded by several numbers."""
    return mean_draws(values, int(np.random.SeedSequence(seed).generate_state(1)[0]))


def cluster(
    vectors: Array, *, k: int | None = None, most: int = MOST, components: int | None = None, seed: int = 0
) -> Clusters:
    """Compute k-means clusters by Euclidean distance.

    Args:
        vectors: Vectors to cluster, (n, D), an array or a memory map.
        k: Number of clusters. None selects the number from 2..``most`` (at most n - 1) with the best mean silhouette on
            a sample, and the smallest such number in a tie. If there are fewer than two distinct entries or fewer than
            three entries in total, the number is 1.
        most: Largest number of clusters tried if ``k`` is None.
        components: Number of principal components that vectors are reduced to before clustering; None for no reduction.
        seed: Seed of the sample and of the initial cluster centres.

    Raises:
        FairlabError: ``k`` exceeds the number of distinct entries, there are no entries, or ``components`` is out of
            range.
    """
    n = len(vectors)
    if not n:
        raise FairlabError("there are no entries to cluster; give a dataset with texts")
    if components is not None:
        vectors = _principal(vectors, components, seed)
    rng = np.random.default_rng(seed)
    sample = vectors if n <= GRID_SAMPLE else vectors[np.sort(rng.choice(n, GRID_SAMPLE, replace=False))]
    sample = np.asarray(sample)
    distinct = len(np.unique(sample, axis=0))
    silhouettes: dict[int, float] = {}
    if k is None:
        silhouettes = _silhouettes(sample, min(most, n - 1, distinct), seed)
        k = max(silhouettes, key=lambda tried: (silhouettes[tried], -tried), default=1)
    elif not 1 <= k <= distinct:
        raise FairlabError(
            f"{k} clusters need at least {k} distinct entries, but there are {distinct}; give fewer clusters, or null "
            "to choose their number by silhouette"
        )
    labels = _k_means(vectors, k, seed)
    return Clusters(np.unique(labels, return_inverse=True)[1].astype(np.int32), silhouettes)


def _silhouettes(sample: Array, most: int, seed: int) -> dict[int, float]:
    from sklearn.metrics import pairwise_distances, silhouette_score

    if most < FEWEST:
        return {}
    distances = pairwise_distances(sample)
    np.fill_diagonal(distances, 0.0)
    return {
        k: float(silhouette_score(distances, _k_means(sample, k, seed), metric="precomputed"))
        for k in range(FEWEST, most + 1)
    }


def _k_means(vectors: Array, k: int, seed: int) -> NDArray[np.int32]:
    """Return cluster labels (n,) from k-means, which uses mini-batches if there are many entries."""
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    if k == 1:
        return np.zeros(len(vectors), dtype=np.int32)
    kind: Any = (
        KMeans(k, n_init=5, random_state=seed)
        if len(vectors) <= WHOLE
        else MiniBatchKMeans(k, n_init=3, batch_size=4_096, random_state=seed)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct entries than k; empty clusters are dropped
        return kind.fit(vectors).labels_


def _principal(vectors: Array, components: int, seed: int) -> Array:
    """Return the first principal components (n, components), fitted on a sample if there are many entries."""
    from sklearn.decomposition import PCA

    n, width = vectors.shape
    if not 1 <= components <= min(n, width):
        raise FairlabError(
            f"{n} entries of {width} dimensions do not have {components} principal components; give at most "
            f"{min(n, width)}"
        )
    rng = np.random.default_rng([seed, 1])
    sample = vectors if n <= WHOLE else vectors[np.sort(rng.choice(n, WHOLE, replace=False))]
    found = PCA(components, random_state=seed).fit(np.asarray(sample))
    return np.concatenate([found.transform(block).astype(vectors.dtype) for _, block in _blocks(vectors)])


def _blocks(vectors: Array) -> Iterator[tuple[int, Array]]:
    for start in range(0, len(vectors), BLOCK):
        yield start, np.asarray(vectors[start : start + BLOCK])


def _unit_blocks(vectors: Array, side: str) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield blocks of vectors scaled to unit length, in double precision.

    Zero vectors stay zero.
    """
    for start, block in _blocks(vectors):
        block_ND = block.astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", block_ND, block_ND))
        if not np.isfinite(norms).all():
            row = start + int(np.flatnonzero(~np.isfinite(norms))[0])
            raise FairlabError(f"the vector of {side} entry {row + 1} holds a value that is not finite; embed it again")
        block_ND /= np.where(norms == 0, 1.0, norms)[:, None]
        yield start, block_ND


def _unit_sums(vectors: Array, labels: NDArray[np.integer], k: int, side: str) -> tuple[NDArray[np.float64], int]:
    """Return the sum of unit vectors for each label, (k, D), and the number of zero vectors.

    Raises:
        FairlabError: All vectors are zero.
    """
    from scipy.sparse import csr_array

    sums, zeros = np.zeros((k, vectors.shape[1])), 0
    for start, unit in _unit_blocks(vectors, side):
        rows = np.arange(len(unit))
        chosen = csr_array((np.ones(len(unit)), (labels[start : start + len(unit)], rows)), shape=(k, len(unit)))
        sums += chosen @ unit
        zeros += int((~unit.any(axis=1)).sum())
    if zeros == len(vectors):
        raise FairlabError(
            f"all {zeros} vectors of the {side} set are zero, so no cosine is defined; check that the "
            "encoder knows the language of the texts"
        )
    return sums, zeros
