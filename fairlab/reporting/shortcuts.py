"""Report sections on a dataset's shortcuts: n-grams that predict labels, their positions, and shortcut scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.shortcuts import Shortcuts
from fairlab.checks.foreign import read_tensors
from fairlab.record import Record
from fairlab.reporting.charts import Marks, Panel, figure
from fairlab.reporting.page import Block, Figure, Heading, PageCell, PageTable, Row, Section, Text

Items = Mapping[str, NDArray[np.floating]]
NAME = Shortcuts.description.name
BINS = 40


def shortcuts(record: Record) -> list[Section]:
    """Return one section per dataset, or an empty list if no dataset was measured.

    If there are several datasets, the first section compares the first one with the others.
    """
    found = {
        phase: read_tensors(file)
        for phase in dict.fromkeys(reading.phase for reading in record.readings if reading.benchmark == NAME)
        if (file := record.folder / "items" / phase / f"{NAME}.safetensors").exists()
    }
    beside = [_comparison_section(found)] if len(found) > 1 else []
    return [*beside, *(_dataset_section(phase, items) for phase, items in found.items())]


def _labels(items: Items) -> list[str]:
    return [name.removeprefix("gamma/") for name in items if name.startswith("gamma/")]


def _grams(items: Items, label: str) -> dict[str, NDArray[np.floating]]:
    """Return the n-grams of a label in decreasing order of local mutual information (LMI)."""
    start = f"lmi/{label}/"
    grams = {name.removeprefix(start): values for name, values in items.items() if name.startswith(start)}
    return dict(sorted(grams.items(), key=lambda pair: -float(pair[1][0])))


def _dataset_section(phase: str, items: Items) -> Section:
    blocks: list[Block] = []
    for label in _labels(items):
        rows: list[Row] = [
            [PageCell(gram), f"{value:.0f}", f"{100 * share:.0f} %", f"{int(count):,}"]
            for gram, (value, share, count) in _grams(items, label).items()
        ]
        shown = PageTable([PageCell("n-gram"), "LMI, x 1e6", "of them with the label", "occurrences"], rows)
        blocks += [Heading(label), shown if rows else Text("No n-gram is associated with this label.")]
    blocks += [
        Text(
            "Local mutual information of n-grams of the last field with a label (Schuster et al. 2019). The maps show "
            "the position of a word in a text, counted from 1, and the share of its occurrences there with the label. "
            "Below, shortcut scores of documents by label: 1 minus the mean cosine to documents with other labels.",
            "note",
        ),
        *(block for label in _labels(items) for block in _map(label, items)),
        _gammas(items),
    ]
    return Section(f"Shortcuts of {phase}" if phase else "Shortcuts", blocks)


def _map(label: str, items: Items) -> list[Block]:
    """Return the share of the label by word and position, or an empty list if there are no positions for the words."""
    start = f"map/{label}/"
    words = [gram for gram in _grams(items, label) if start + gram in items]
    if not words:
        return []
    counts, shares = (np.stack([items[start + word][k] for word in words]) for k in (0, 1))
    places = [str(k + 1) for k in range(counts.shape[1])]
    places[-1] += " on"
    rows = [
        [PageCell(word), *(_share_cell(share, count) for share, count in zip(*of_word, strict=True))]
        for word, *of_word in zip(words, shares, counts, strict=True)
    ]
    return [Heading(f"Share with the label {label} by position"), PageTable([PageCell("word"), *places], rows)]


def _share_cell(share: float, count: float) -> PageCell | str:
    return PageCell(f"{share:.0%}", heat=float(share)) if count else ""


def _gammas(items: Items) -> Figure:
    """Draw the distribution of shortcut scores for each label, as shares of the label's documents."""
    values = {label: items[f"gamma/{label}"] for label in _labels(items)}
    edges = np.histogram_bin_edges(np.concatenate(list(values.values())), BINS)
    middles = ((edges[:-1] + edges[1:]) / 2).tolist()
    marks = [
        Marks(label, middles, (np.histogram(some, edges)[0] / len(some)).tolist(), colour=k)
        for k, (label, some) in enumerate(values.items())
    ]
    return figure([Panel("", marks, "shortcut score gamma", "share of documents", y_held=[0.0])])


def _comparison_section(found: Mapping[str, Items]) -> Section:
    """Return the n-grams of the first dataset, with their values in all datasets."""
    first = next(iter(found))
    blocks: list[Block] = []
    for label in _labels(found[first]):
        beside: list[Row] = [
            [PageCell(gram), *(_cell(items.get(f"lmi/{label}/{gram}")) for items in found.values())]
            for gram in _grams(found[first], label)
        ]
        blocks += [Heading(label), PageTable([PageCell("n-gram"), *found], beside)]
    note = (
        "LMI x 1e6 and share of occurrences with the label, of the most informative n-grams in "
        f"{first}; empty if an n-gram is not among the most informative."
    )
    return Section("Shortcuts before and after", [*blocks, Text(note, "note")])


def _cell(values: NDArray[np.floating] | None) -> str:
    return "" if values is None else f"{values[0]:.0f} ({100 * values[1]:.0f} %)"
