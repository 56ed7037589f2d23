"""db-index of a dataset: the similarity of its clusters to abusive language.

The index measures data, not a model, but depends on the model that embeds the texts.

Source: Mondal and Lipizzi 2024, "Mitigating Large Language Model Bias: Automated Dataset Augmentation and Prejudice
Quantification", section 3.3 and table 1. The paper specifies neither the embedding nor the comparison set.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.readings import Quantity, outcome
from fairlab.data.abusive import AbusiveReference, read_comparison
from fairlab.data.stream.manifest import dataset_rows
from fairlab.metrics import db_index as metric
from fairlab.metrics.bootstrap import percentile_interval
from fairlab.protocols import DataBenchmark
from fairlab.record import Note, Outcome
from fairlab.text.papers import MONDAL_2024
from fairlab.types import PERSIST, Count, Description, FairlabError, QuantityInfo, Row

_cosine = partial(QuantityInfo, unit="mean cosine", low=-1.0, high=1.0)
AT_ONCE = 4_096  # number of texts that are embedded between writes
NEAREST = 100  # number of nearest comparison entries counted by category for each cluster

Embed = Callable[[Sequence[str]], NDArray[np.floating]]


class DBIndexBenchmark(DataBenchmark):
    """Similarity of a dataset's clusters to abusive texts (db-index).

    Quantities of the subset ``all``:

    - ``expectation``: Index over all comparison entries; the headline.
    - ``over_entries``: The same index, but every entry of the dataset counts once, regardless of its cluster.
    - ``random_entry``: The paper's mean over a few random comparison entries. Its interval spans the possible values of
      this mean.
    - ``without_outliers``: Expectation over comparison entries within Tukey's fences.
    - ``spread``: Standard deviation over comparison entries.

    The subset ``fixed`` has the ``expectation`` for ``fixed`` clusters. The subsets ``cluster_NN`` have the
    ``expectation`` of each cluster, in ascending order of its value. The ideal is 0, which means no similarity.

    Intervals resample comparison entries, and target entries within their clusters. If rows name their sources, whole
    sources are resampled instead of target entries. The clusters are held fixed.

    Args:
        vectors: Name of the embedder: a backbone, a run or model folder, or ``spacy:NAME``. The caller passes the
            embedder itself to :meth:`measure_data`.
        comparison: File of abusive texts to compare with; None for the tweets of Davidson et al. 2017.
        field: Name of the column with the texts in the comparison file.
        category: Name of the column with the categories in the comparison file; None puts all texts in one category.
        entries: Number of texts of the comparison file to use, sampled with ``seed``; None for all.
        k: Number of clusters; None chooses it by silhouette.
        fixed: Number of clusters for an additional reading of the expectation, because the chosen number changes with
            the data. The reading is left out if this is None or if the dataset has fewer entries.
        source: Name of the dataset's column that states from which entry a row was derived, such as ``entry`` in an
            expanded dataset. A row without a value is its own source.
        most_clusters: Largest number of clusters tried when ``k`` is None.
        components: Number of principal components to which vectors are reduced before clustering; None keeps the
            vectors.
        draw: Unit for which ``random_entry`` draws a comparison entry: the whole ``run``, or each ``cluster``.
        repeats: Number of draws that ``random_entry`` averages.
        seed: Seed for samples, starts of the clustering, draws and bootstrap.
        limit: Maximum number of entries of the dataset, taken from the start; None for all.
    """

    version: ClassVar[int] = 1
    description = Description(
        "db_index",
        "db-index",
        "How close is a dataset to abusive language?",
        {
            "expectation": _cosine(
                "expectation", "mean cosine of the texts to abusive texts (0 is no similarity)", ideal=0.0
            ),
            "over_entries": _cosine("over entries", "mean cosine to abusive texts; every text counts once", ideal=0.0),
            "random_entry": _cosine(
                "by random entries", "mean cosine to a few abusive texts drawn at random", ideal=0.0
            ),
            "without_outliers": _cosine(
                "without outliers", "mean cosine to abusive texts, outliers left out", ideal=0.0
            ),
            "spread": QuantityInfo(
                "spread", "variation of the similarity over the abusive texts", "mean cosine", low=0.0
            ),
        },
        topic=PERSIST,
        subsets={"all": "whole dataset", "fixed": "fixed number of clusters"},
        citation=MONDAL_2024,
        needs=("texts",),
    )

    def __init__(
        self,
        *,
        vectors: str,
        comparison: str | None = None,
        field: str = "text",
        category: str | None = None,
        entries: Count | None = None,
        k: Count | None = None,
        fixed: Count | None = None,
        source: str = "entry",
        most_clusters: Count = metric.MOST,
        components: Count | None = None,
        draw: Literal["run", "cluster"] = "run",
        repeats: Count = 5,
        seed: int = 0,
        limit: int | None = None,
    ) -> None:
        self.limit = limit
        self.vectors, self.entries = vectors, entries
        self.comparison_path, self.field, self.category = comparison, field, category
        self.k, self.fixed, self.most_clusters, self.components = k, fixed, most_clusters, components
        self.source = source
        self.draw, self.repeats, self.seed = draw, repeats, seed
        self._comparison: tuple[AbusiveReference, NDArray[np.floating]] | None = None

    def check_data(self, dataset: str, field: str) -> None:
        """Raise an error if no text of the dataset can be read."""
        unread = 0
        for row in islice(dataset_rows(dataset, field), self.limit):
            if isinstance(row, Row):
                return
            unread += 1
        raise _without_text(dataset, field, unread)

    def measure_data(self, dataset: str, field: str, embed: Embed, folder: Path) -> Outcome:
        """Measure a dataset.

        Args:
            dataset: File, folder of texts, output folder of an augmentation, or hub dataset.
            field: Name of the column with the dataset's texts.
            embed: Function from texts to vectors (N, D).
            folder: Folder for a temporary file that stores the vectors.

        Raises:
            FairlabError: No text can be read, or the metric raises an error.
        """
        comparison, vectors_MD = self._compared(embed)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".vectors") as place:
            vectors_ND, read = embedded_texts(dataset, field, embed, Path(place) / "target", self.source, self.limit)
            clusters = self._clustered(vectors_ND, self.k)
            index = metric.db_index(vectors_ND, vectors_MD, clusters.labels)
            ordinary = metric.ordinary(index)
            kept = metric.db_index(vectors_ND, vectors_MD[ordinary], clusters.labels)
            fixed = None
            if self.fixed is not None and self.fixed <= len(vectors_ND):
                fixed = metric.db_index(vectors_ND, vectors_MD, self._clustered(vectors_ND, self.fixed).labels)
            del vectors_ND  # the memory map must be released before its file
        order = np.argsort(index.of_clusters)
        items = {
            "sizes": index.sizes[order].astype(np.float64),
            "of_entries": index.of_entries,
            "silhouettes": np.array(list(clusters.silhouettes.items()), dtype=np.float64).reshape(-1, 2),
            **nearest_categories(index.cosines[:, order], comparison.categories),
        }
        notes = [Note(self.name, text) for text in remarks(index, read, len(ordinary) - int(ordinary.sum()), clusters)]
        return outcome(
            self.description, self._quantities(index, kept, fixed, order, read.sources), items=items, notes=notes
        )

    def _clustered(self, vectors_ND: NDArray[np.floating], k: int | None) -> metric.Clusters:
        return metric.cluster(vectors_ND, k=k, most=self.most_clusters, components=self.components, seed=self.seed)

    def _compared(self, embed: Embed) -> tuple[AbusiveReference, NDArray[np.floating]]:
        """Return the comparison set with its vectors, embedded once for all datasets."""
        if self._comparison is None:
            comparison = read_comparison(self.comparison_path, field=self.field, category=self.category)
            comparison = comparison.sample(self.entries, self.seed)
            self._comparison = comparison, embed(comparison.texts)
        return self._comparison

    def _quantities(
        self,
        index: metric.DBIndex,
        kept: metric.DBIndex,
        fixed: metric.DBIndex | None,
        order: NDArray[np.integer],
        sources: Sequence[str] | None,
    ) -> list[Quantity]:
        n, m = len(index.labels), len(index.cosines)
        estimates = metric.random_estimates(index, repeats=self.repeats, draw=self.draw, seed=self.seed)
        means = metric.random_estimates(index, repeats=2000 * self.repeats, draw=self.draw, seed=self.seed + 1)
        reachable = means.reshape(2000, self.repeats).mean(axis=1)
        rng = np.random.default_rng(self.seed)
        spreads = np.array([index.of_entries[rng.integers(0, m, m)].std() for _ in range(2000)])
        by_cluster = partial(metric.draws, sources=sources, seed=self.seed)
        by_entry = metric.draws(index, sources=sources, over="entries", seed=self.seed)
        found = [
            Quantity("all", "expectation", index.value, by_cluster(index), n, headline=True),
            Quantity("all", "over_entries", index.over_entries, by_entry, n),
            Quantity("all", "random_entry", float(estimates.mean()), reachable, self.repeats),
            Quantity("all", "without_outliers", kept.value, by_cluster(kept), n),
            Quantity("all", "spread", index.spread, spreads, m),
        ]
        if fixed is not None:
            found.append(Quantity("fixed", "expectation", fixed.value, by_cluster(fixed), n))
        for place, k in enumerate(order):
            draws = by_cluster(index, cluster=int(k))
            value = float(index.of_clusters[k])
            found.append(Quantity(f"cluster_{place + 1:02}", "expectation", value, draws, int(index.sizes[k])))
        return found


@dataclass(frozen=True)
class Read:
    """Information about a dataset that is collected while it is embedded.

    Attributes:
        unread: Number of rows that cannot be read.
        sources: Source of each of the n entries; None if no row names a source.
    """

    unread: int
    sources: list[str] | None


def embedded_texts(
    dataset: str, field: str, embed: Embed, file: Path, source: str = "entry", limit: int | None = None
) -> tuple[NDArray[np.floating], Read]:
    """Embed a dataset's texts, and store the vectors in a memory-mapped file.

    Args:
        dataset: Dataset, as in :meth:`DBIndexBenchmark.measure_data`.
        field: Name of the column with the texts.
        embed: Function from texts to vectors.
        file: File to write.
        source: Name of the column that states from which entry a row was derived.
        limit: Maximum number of rows to read; None reads all.

    Returns:
        Vectors (n, D) as a memory map of ``file``, and information about the dataset.

    Raises:
        FairlabError: No text can be read.
    """
    width, unread, texts, sources = 0, 0, list[str](), list[Any]()
    with file.open("wb") as written:

        def write() -> int:
            vectors = np.asarray(embed(texts), dtype=np.float32)
            written.write(vectors.tobytes())
            texts.clear()
            return vectors.shape[1]

        for row in islice(dataset_rows(dataset, field), limit):
            if not isinstance(row, Row):
                unread += 1
                continue
            texts.append(row.text)
            sources.append(row.extra.get(source))
            if len(texts) == AT_ONCE:
                width = write()
        if texts:
            width = write()
    if not width:
        raise _without_text(dataset, field, unread)
    vectors_ND = np.memmap(file, dtype=np.float32, mode="r").reshape(-1, width)
    if all(one is None for one in sources):
        return vectors_ND, Read(unread, None)
    return vectors_ND, Read(unread, [f"row {k}" if one is None else f"of {one}" for k, one in enumerate(sources)])


def _without_text(dataset: str, field: str, unread: int) -> FairlabError:
    return FairlabError(
        f"{dataset} holds no text in the field '{field}' ({unread} rows cannot be read); give the field, field=NAME"
    )


def nearest_categories(cosines: NDArray[np.float64], categories: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Return the percentage of each category in the comparison set and among the entries nearest to each cluster.

    Args:
        cosines: Mean cosine of each comparison entry to each cluster, (m, K).
        categories: Category of each of the m comparison entries.
    """
    names = np.array(categories)
    taken = min(NEAREST, len(names))
    chosen_NK = names[np.argsort(-cosines, axis=0, kind="stable")[:taken]]
    found = {}
    for category, count in Counter(categories).most_common():
        found[f"share/{category}"] = np.array([100.0 * count / len(names)])
        found[f"nearest/{category}"] = 100.0 * (chosen_NK == category).mean(axis=0)
    return found


def remarks(index: metric.DBIndex, read: Read, outliers: int, clusters: metric.Clusters) -> list[str]:
    """Return sentences that explain the results."""
    n, m = len(index.labels), len(index.cosines)
    low, high = percentile_interval(index.of_entries)
    texts = [
        f"with one random comparison entry, the value can be anything from {low:.3f} to {high:.3f} (95 % of {m:,} "
        "entries)",
        f"{outliers:,} of {m:,} comparison entries are outliers",
    ]
    if clusters.k == 1:
        texts.append(f"{n} entries form one cluster, so the index is the plain mean")
    elif n < 10 * clusters.k:
        texts.append(f"{clusters.k} clusters of {n} entries are hardly meaningful")
    for count, side in zip(index.zeros, ("target", "comparison"), strict=True):
        if count:
            texts.append(f"{count:,} {side} entries have a zero vector, whose cosine counts as 0")
    if read.sources is not None:
        texts.append(f"its {n:,} entries come from {len(set(read.sources)):,} originals, which the intervals resample")
    if read.unread:
        texts.append(f"{read.unread:,} rows of the dataset cannot be read and are left out")
    return texts
