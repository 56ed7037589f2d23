"""Projections of embeddings of held-out groups before and after training, and distances to the neutral version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.cced import distances
from fairlab.benchmarks.group_sets import held_out_groups, set_name
from fairlab.benchmarks.readings import evenly
from fairlab.checks.foreign import read_tensors
from fairlab.record import Record
from fairlab.reporting.charts import Marks, Panel, figure
from fairlab.reporting.page import Figure, PageCell, PageTable, Section, Text
from fairlab.types import NEUTRAL

HELD_OUT, DISTANCE = "held_out_", "distance_"  # prefixes of held-out sets and of distances by attribute
MAX_PROJECTED = 150
MOST_REMAINING = 8
MOST_DRAWN = 2_000  # maximum number of groups drawn as points, which a browser draws within a second
Array = NDArray[np.floating]


@dataclass(frozen=True)
class Embedded:
    """Embeddings of a CCED set before and after training, as stored in the run's folder.

    Attributes:
        subset: Name of the set in readings.
        attributes: Names of the A attributes, without the neutral version.
        texts: Texts of the versions of each of the N groups, with the neutral version first.
        before, after: Embeddings (N, 1 + A, D), with the neutral version first.
    """

    subset: str
    attributes: Sequence[str]
    texts: Sequence[Sequence[str]]
    before: Array
    after: Array


def embedded(record: Record) -> Embedded | None:
    """Return the embeddings to draw: held-out groups of the trained axis or, without such groups, the first set.

    The result is None if the run stored no embeddings.
    """
    files = [record.folder / "items" / phase / "cced.safetensors" for phase in ("before", "after")]
    if not all(file.exists() for file in files):
        return None
    before, after = (read_tensors(file) for file in files)
    for subset in after:
        if (
            subset.startswith(HELD_OUT)
            and subset in before
            and (found := _held_out_embeddings(record, subset, before, after))
        ):
            return found
    settings = record.config["benchmark"]["cced"]
    name = next((name for name in settings["sets"] if set_name(name) in after), None)
    if name is None:
        return None
    subset = set_name(name)
    groups = evenly(held_out_groups(name, settings.get("test")), len(after[subset]))
    texts = [group.texts for group in groups]
    return Embedded(subset, groups[0].attributes, texts, before[subset], after[subset])


def _held_out_embeddings(
    record: Record, subset: str, before: Mapping[str, Array], after: Mapping[str, Array]
) -> Embedded | None:
    """Return the embeddings of held-out groups, with placeholder texts because the run does not store the texts.

    The result is None if the attributes do not match the embeddings.
    """
    distances_of = [
        one.quantity.removeprefix(DISTANCE)
        for one in record.readings
        if (one.phase, one.benchmark, one.subset) == ("after", "cced", subset) and one.quantity.startswith(DISTANCE)
    ]
    attributes = [name for name in distances_of if name != "kept"]
    if len(attributes) != after[subset].shape[1] - 1:
        return None
    versions = [NEUTRAL, *attributes]
    texts = [[f"held-out group {k + 1}, {version}" for version in versions] for k in range(len(after[subset]))]
    return Embedded(subset, attributes, texts, before[subset], after[subset])


def tsne_figure(record: Record) -> Figure | None:
    """Return a joint t-SNE map of the embeddings before and after training, or None if there are no embeddings."""
    found = embedded(record)
    if found is None:
        return None
    shown = slice(0, MAX_PROJECTED)
    mapped = tsne(found.before[shown], found.after[shown], seed=record.config["seed"])
    return projection(found.attributes, *mapped, found.texts[shown])


def embedding_sections(record: Record) -> list[Section]:
    """Return the sections with distances and the t-SNE map, if the run stored embeddings."""
    found = embedded(record)
    mapped = tsne_figure(record)
    if found is None or mapped is None:
        return []
    earlier, later = distances(found.before), distances(found.after)
    worst = np.argsort(-np.ptp(later, axis=1))[:MOST_REMAINING]
    remaining = [[found.texts[k][0], *(f"{value:.3f}" for value in later[k])] for k in worst]
    drawn = evenly(range(len(found.texts)), MOST_DRAWN)
    texts = [found.texts[k] for k in drawn]
    few = f"{len(drawn):,} of {len(found.texts):,} groups are drawn." if len(drawn) < len(found.texts) else ""
    of_map = f"versions of {min(MAX_PROJECTED, len(found.texts))} groups, before and after together."
    return [
        Section(
            f"Distances to neutral, {found.subset}",
            [
                *([Text(few, "note")] if few else []),
                distance_figure(found.attributes, earlier[drawn], later[drawn], [row[0] for row in texts]),
                Text("Largest remaining gaps (neutral version; distance of each attribute after):"),
                PageTable([PageCell("text"), *found.attributes], remaining),
            ],
        ),
        Section("Embeddings", [Text(f"One t-SNE map of the {of_map}", "note"), mapped]),
    ]


def distance_figure(attributes: Sequence[str], before: Array, after: Array, texts: Sequence[str]) -> Figure:
    """Plot the distances of the first two attributes to the neutral version against each other, one point per group.

    On the diagonal, both distances are equal, which is fair.
    """
    top = float(max(before.max(), after.max())) * 1.05
    marks = [Marks("equal distance", [0, top], [0, top], colour=None, dashed=True)]
    for values, name, colour in ((before, "before", None), (after, "after", 0)):
        said = [f"{name}: {text} ({x:.3f}, {y:.3f})" for text, (x, y) in zip(texts, values[:, :2], strict=True)]
        marks.append(Marks(name, values[:, 0].tolist(), values[:, 1].tolist(), "dots", colour, texts=said))
    across, up = (f"distance of '{name}' to neutral" for name in attributes[:2])
    return figure([Panel("", marks, across, up, x_held=[0.0], y_held=[0.0])])


def tsne(before: Array, after: Array, seed: int) -> tuple[Array, Array]:
    """Compute a joint t-SNE map of the embeddings before and after training, as in figure 2 of the CCD paper."""
    from sklearn.manifold import TSNE

    stacked = np.concatenate([before, after])
    flat = stacked.reshape(-1, before.shape[-1])
    points = TSNE(perplexity=min(30, (len(flat) - 1) / 3), init="pca", random_state=seed).fit_transform(flat)
    shaped = points.reshape(*stacked.shape[:-1], 2)
    return shaped[: len(before)], shaped[len(before) :]


def projection(attributes: Sequence[str], before: Array, after: Array, texts: Sequence[Sequence[str]]) -> Figure:
    """Draw the points before and after training in two panels with the same scale and one colour per version.

    Args:
        attributes: Names of the A attributes.
        before: Points (N, 1 + A, 2) before training, with the neutral version first.
        after: Points (N, 1 + A, 2) after training.
        texts: Tooltip of each point.
    """
    flat = np.concatenate([before, after]).reshape(-1, 2)
    scale = {"x_held": flat[:, 0].tolist(), "y_held": flat[:, 1].tolist()}
    names = [NEUTRAL, *attributes]
    panels = []
    for title, points in (("before", before), ("after", after)):
        marks = []
        for version in [*range(1, len(names)), 0]:
            of_version = points[:, version]
            marks.append(
                Marks(
                    names[version],
                    of_version[:, 0].tolist(),
                    of_version[:, 1].tolist(),
                    "dots",
                    version - 1 if version else None,
                    texts=[row[version] for row in texts],
                )
            )
        panels.append(Panel(title, marks, **scale))
    return figure(panels)
