"""AFLite: removal of pairs that are too easy for linear classifiers of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.augmentation.filtering import Filter
from fairlab.backbones.embedded_encoder import EMBEDDED, embedded_encoder
from fairlab.metrics.surface_probe import too_little
from fairlab.rewriting.labelled.label_keeping import Labelled
from fairlab.types import Count, FairlabError, Share


class AFLite(Filter):
    """Filter that iteratively removes rows whose label is easily predicted by linear classifiers trained on other rows.

    In each round, ``partitions`` logistic regressions are trained on random subsets of the remaining rows. The subsets
    have the same size in all rounds. Each classifier is tested on the remaining rows outside its subset. A row's
    predictability is the proportion of these tests that predict its label correctly. Among the rows with a
    predictability of at least ``cutoff``, the most predictable are removed, at most ``slice`` of all rows. The rounds
    end when ``target`` of the rows remain, or when a round removes less than a slice.

    Args:
        label: Column of the label.
        target: Proportion of all rows that remain after the last round.
        partitions: Number of classifiers per round, *m*.
        train: Number of rows that a classifier is trained on, *t*, as a proportion of all rows.
        slice: Maximum proportion of all rows that a round removes, *k*.
        cutoff: Minimum predictability of a removed row, tau.
        encoder: Encoder of the texts, see :func:`fairlab.backbones.embedded_encoder.embedded_encoder`.
        seed: Seed of the partitions.

    Raises:
        FairlabError: In ``decide``, if there are too few rows for a classifier.

    Source: Le Bras et al. 2020, "Adversarial Filters of Dataset Biases", algorithm 1; the default proportions are its
    values for the 549,367 pairs of SNLI. By default, texts are embedded by the bundled encoder instead of a RoBERTa
    fine-tuned on part of the data. The vector of a pair consists of the embeddings of both fields, their product and
    the absolute value of their difference.
    """

    title = "pairs that linear classifiers find hard (AFLite)"
    limits = (
        "The remaining pairs are hard for one embedding. Other shortcuts remain, and so do wrong labels, which are "
        "hard too."
    )
    citation = """@inproceedings{lebras2020adversarial,
  title = {Adversarial Filters of Dataset Biases},
  author = {Le Bras, Ronan and Swayamdipta, Swabha and Bhagavatula, Chandra and Zellers, Rowan and Peters,
    Matthew and Sabharwal, Ashish and Choi, Yejin},
  booktitle = {Proceedings of ICML},
  year = {2020}
}"""
    name = "aflite"
    why = "too easy for linear classifiers"
    settings = ("target", "partitions", "train", "slice", "cutoff", "encoder")

    def __init__(
        self,
        *,
        label: str = "label",
        target: Share = 0.33,
        partitions: Count = 64,
        train: Share = 0.09,
        slice: Share = 0.018,
        cutoff: Share = 0.75,
        encoder: str = EMBEDDED,
        seed: int = 0,
    ) -> None:
        super().__init__(label)
        self.target, self.partitions, self.train = target, partitions, train
        self.slice, self.cutoff, self.seed = slice, cutoff, seed
        self.encoder = encoder

    def kept(self, items: Sequence[Labelled]) -> set[int]:
        """Return the indices of the rows to keep, see :meth:`Filter.kept`."""
        labels = [item.label for item in items]
        if short := too_little(labels, [item.text for item in items]):
            raise FairlabError(f"augmentation=aflite trains classifiers: {short}; give more rows")
        return self.left(pair_vectors(items, self.encoder), np.array(labels))

    def left(self, vectors_NF: NDArray[np.float32], labels_N: NDArray[Any]) -> set[int]:
        """Return the indices of the rows that remain after filtering."""
        draw = np.random.default_rng(self.seed)
        places, size = np.arange(len(labels_N)), max(1, round(self.slice * len(labels_N)))
        trained_on = max(2, round(self.train * len(labels_N)))
        while len(places) > max(2, self.target * len(labels_N)):
            easy = self._predictability(vectors_NF[places], labels_N[places], trained_on, draw)
            order = np.argsort(-easy, kind="stable")
            out = order[: min(size, len(places) - int(self.target * len(labels_N)))]
            out = out[easy[out] >= self.cutoff]
            places = np.delete(places, out)
            if len(out) < size:
                break
        return {int(place) for place in places}

    def _predictability(
        self, vectors_NF: NDArray[np.float32], labels_N: NDArray[Any], size: int, draw: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return each row's predictability: the share of classifiers not trained on the row that predict its label.

        A classifier is trained on ``size`` rows, but leaves at least one row to test on. The predictability of a row is
        0 if all classifiers were trained on it.
        """
        from sklearn.linear_model import LogisticRegression

        right, tried = np.zeros(len(labels_N)), np.zeros(len(labels_N))
        size = min(size, len(labels_N) - 1)
        for _ in range(self.partitions):
            order = draw.permutation(len(labels_N))
            inside, outside = order[:size], order[size:]
            if len(set(labels_N[inside])) < 2:
                continue
            model = LogisticRegression(max_iter=200).fit(vectors_NF[inside], labels_N[inside])
            right[outside] += model.predict(vectors_NF[outside]) == labels_N[outside]
            tried[outside] += 1
        return right / np.maximum(tried, 1)


def pair_vectors(items: Sequence[Labelled], encoder: str = EMBEDDED) -> NDArray[np.float32]:
    """Return a vector per document (N, F): its embedding, or the features of a pair.

    The features of a pair are the embeddings of both texts, their product and their absolute difference. Source:
    Conneau et al. 2017, "Supervised Learning of Universal Sentence Representations from Natural Language Inference
    Data", section 3.1.
    """
    embedded = embedded_encoder(encoder).embed([*(one.text for one in items), *(one.context for one in items)]).numpy()
    second, first = embedded[: len(items)], embedded[len(items) :]
    if not any(one.context for one in items):
        return np.asarray(second)
    return np.concatenate([first, second, first * second, np.abs(first - second)], axis=1)
