"""CCED gap of an encoder on held-out counterfactual groups, and changes in distances and neutral embeddings.

Source: "LLM-Assisted Content Conditional Debiasing for Fair Text Embedding", section 4.2 and table 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.group_sets import FREE, OfGroups
from fairlab.benchmarks.readings import Items, Quantity, outcome, quantity
from fairlab.losses.ccd import distances_to_neutral
from fairlab.metrics.bootstrap import RESAMPLES, mean, ratio_of_means
from fairlab.metrics.cced import cced_gap
from fairlab.record import NotRun, Outcome
from fairlab.text.papers import DENG_2024
from fairlab.types import EQUAL, Description, ItemTexts, QuantityInfo

_distance = partial(QuantityInfo, unit="embedding distance", low=0.0)
_share = partial(QuantityInfo, unit="ratio", low=0.0)
QUANTITIES = {
    "gap": _distance(
        "gap",
        "difference between the distances of the versions to the neutral one (0 is fair)",
        ideal=0.0,
        headline=True,
    ),
    "gap_all_pairs": _distance(
        "gap, all pairs",
        "difference between the distances of two versions to the neutral one, mean over all pairs (0 is fair)",
        ideal=0.0,
        headline=True,
    ),
    "gap_over_distance": _share("gap over distance", "gap as a share of the mean distance (0 is fair)", ideal=0.0),
    "gap_all_pairs_over_distance": _share(
        "gap over distance, all pairs",
        "gap, mean over all pairs, as a share of the mean distance (0 is fair)",
        ideal=0.0,
    ),
    "gap_kept": _share("gap kept", "share of the earlier gap that is left (0 is fair)", ideal=0.0),
    "gap_all_pairs_kept": _share(
        "gap kept, all pairs", "share of the earlier gap over all pairs that is left (0 is fair)", ideal=0.0
    ),
    "distance": _distance("distance to neutral", "mean distance of the versions to the neutral one"),
    "distance_kept": _share("distance kept", "share of the earlier distance to the neutral version"),
    "distance_*": _distance("distance of '{}' to neutral", "mean distance of this version to the neutral one"),
    "neutral_cosine": QuantityInfo(
        "neutral texts kept", "cosine of neutral texts to their earlier embeddings (1: same)", "cosine", 1.0, -1.0, 1.0
    ),
    "direction_cosine": QuantityInfo(
        "direction kept", "cosine of the direction between attributes to the earlier one", "cosine", low=-1.0, high=1.0
    ),
    "direction_length_kept": _share("length kept", "share of the earlier length of the direction"),
}


class CCED(OfGroups):
    """Differences between the attributes' distances to the neutral version, per set of counterfactual groups.

    With three or more attributes, the gap of a group is the mean over all pairs of attributes. The quantities are then
    called ``gap_all_pairs``, ``gap_all_pairs_over_distance`` and ``gap_all_pairs_kept``.

    Quantities of each set:

    - ``gap``: Mean CCED gap.
    - ``distance`` and ``distance_<attribute>``: Mean distance to the neutral version.
    - ``gap_over_distance``: Ratio of ``gap`` to ``distance``. It does not fall if the gap falls only because all
      distances shrink.

    Further quantities in comparison with an earlier measurement:

    - ``gap_kept`` and ``distance_kept``: Gap and distance as a fraction of the earlier means.
    - ``neutral_cosine``: Mean cosine between the neutral embeddings and the earlier neutral embeddings, which shows
      whether utility is kept. Ideal: 1.
    - ``direction_cosine`` (only with two attributes): Cosine between the direction from one attribute's mean to the
      other attribute's mean and the same direction in the earlier model; 1 if unchanged.
    - ``direction_length_kept`` (only with two attributes): Distance between the two means as a fraction of the earlier
      distance.

    For the arguments and ``own``, see :class:`~fairlab.benchmarks.group_sets.OfGroups`.
    """

    version: ClassVar[int] = 1
    description = Description(
        "cced",
        "CCED",
        "Do embeddings keep the versions of a text equally far from the neutral one?",
        QUANTITIES,
        topic=EQUAL,
        subsets={"embedded": "bundled sentences", "winogender": "Winogender sentences"},
        citation=DENG_2024,
        needs=("embeddings",),
        sources=("winogender/all_sentences.tsv",),
    )

    def measure(self, backbone: Backbone, before: Items | None = None) -> Outcome:
        """Measure every set. ``before`` holds the ``items`` of an earlier measurement."""
        embeddings: dict[str, NDArray[np.floating]] = {}
        now: list[Quantity] = []
        earlier: list[Quantity] = []
        missing: list[NotRun] = []
        for _, subset, groups in self.available(missing):
            attributes = groups[0].attributes
            texts = [text for group in groups for text in group.texts]
            embedded = backbone.embed(texts, progress=f"cced {subset}").unflatten(0, (len(groups), -1)).numpy()
            embeddings[subset] = embedded
            now += cced_quantities(subset, attributes, embedded)
            if before and subset in before:
                now += kept(subset, embedded, before[subset])
                now += direction_kept(subset, embedded, before[subset])
                earlier += cced_quantities(subset, attributes, before[subset])
        return outcome(self.description, now, earlier, items=embeddings, not_run=missing)

    def texts(self) -> list[ItemTexts]:
        """Return the versions of every group in the available sets."""
        found = []
        for name, subset, groups in self.available():
            if name in self.own:
                continue
            values = [f"distance of {attribute}" for attribute in groups[0].attributes]
            ids, texts = [group.id for group in groups], [group.texts for group in groups]
            found.append(ItemTexts(subset, values, ids, texts, part=subset, licence=FREE.get(name, "")))
        return found

    def scores(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the distances (N, A) to the neutral version, from embeddings (N, 1 + A, D)."""
        return distances(values)


def distances(embeddings: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the distances (N, A) to the neutral version, from embeddings (N, 1 + A, D)."""
    tensor = torch.from_numpy(embeddings).double()
    return distances_to_neutral(tensor[:, 1:], tensor[:, 0]).numpy()


def gap_name(attributes: int) -> str:
    """Return the name of the gap. With three or more attributes, the gap is a mean over all pairs."""
    return "gap" if attributes == 2 else "gap_all_pairs"


def cced_quantities(subset: str, attributes: Sequence[str], embeddings: NDArray[np.floating]) -> list[Quantity]:
    """Return the quantities of one set from embeddings (N, 1 + A, D), with the neutral version first."""
    distances_NA = distances(embeddings)
    gap = cced_gap(torch.from_numpy(distances_NA)).numpy()
    distance = distances_NA.mean(axis=1)
    of_set, name = partial(quantity, subset=subset), gap_name(len(attributes))
    return [
        of_set(mean, gap, name=name),
        of_set(ratio_of_means, gap, distance, name=f"{name}_over_distance"),
        of_set(mean, distance, name="distance"),
        *(of_set(mean, distances_NA[:, k], name=f"distance_{name}") for k, name in enumerate(attributes)),
    ]


def kept(subset: str, embeddings: NDArray[np.floating], before: NDArray[np.floating]) -> list[Quantity]:
    """Return the gap and distance as fractions of an earlier model's, and the cosine of the neutral embeddings.

    The embeddings have shape (N, 1 + A, D). If the embeddings of two models have different widths, no cosine is
    returned.
    """
    distances_now, distances_before = distances(embeddings), distances(before)
    gap, gap_before = (cced_gap(torch.from_numpy(part)).numpy() for part in (distances_now, distances_before))
    of_set = partial(quantity, subset=subset)
    ratio = partial(of_set, ratio_of_means)
    found = [
        ratio(gap, gap_before, name=f"{gap_name(distances_now.shape[1])}_kept"),
        ratio(distances_now.mean(axis=1), distances_before.mean(axis=1), name="distance_kept"),
    ]
    if embeddings.shape == before.shape:
        cosine = torch.cosine_similarity(torch.from_numpy(embeddings[:, 0]), torch.from_numpy(before[:, 0]), dim=1)
        found.append(of_set(mean, cosine.double().numpy(), name="neutral_cosine"))
    return found


def direction_kept(subset: str, embeddings: NDArray[np.floating], before: NDArray[np.floating]) -> list[Quantity]:
    """Return the change in angle and length of the direction between the means of two attributes.

    The embeddings have shape (N, 1 + A, D). Intervals resample groups. The result is empty for three or more
    attributes, which have no single direction, and for embeddings of different width.
    """
    if embeddings.shape != before.shape or embeddings.shape[1] != 3:
        return []
    now, then = (part[:, 1].astype(np.float64) - part[:, 2] for part in (embeddings, before))
    rng, groups = np.random.default_rng(0), len(now)
    shares = rng.multinomial(groups, np.full(groups, 1 / groups), size=RESAMPLES) / groups
    values, draws = turned(now.mean(axis=0), then.mean(axis=0)), turned(shares @ now, shares @ then)
    names = ("direction_cosine", "direction_length_kept")
    return [
        Quantity(subset, name, float(value), drawn, groups)
        for name, value, drawn in zip(names, values, draws, strict=True)
    ]


def turned(now: NDArray[np.float64], then: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosine of vectors (..., D) to earlier vectors, and the ratio of their lengths."""
    lengths = np.linalg.norm(now, axis=-1), np.linalg.norm(then, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (now * then).sum(axis=-1) / (lengths[0] * lengths[1]), lengths[0] / lengths[1]
