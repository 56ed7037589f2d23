"""Comparison of the axes that benchmarks measure, such as disability, with the axes that a model was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlab.benchmarks.group_sets import OfGroups
from fairlab.benchmarks.likelihood_pairs import LikelihoodPairs
from fairlab.data.counterfactual import CounterfactualData
from fairlab.data.groups import read_groups
from fairlab.protocols import Benchmark, TrainingData
from fairlab.record import TRAINING, Note
from fairlab.types import Group

# Names that benchmarks use for an axis, by the name of the lexicon.
SAME = {
    "race": {"race_color", "race_ethnicity"},
    "ethnicity": {"race_color", "race_ethnicity", "cultural"},
    "gender": {"gender_and_sex"},
    "orientation": {"sexual_orientation"},
    "disability": {"ability"},
}
MARK = "another axis"


def follow_axes(benchmarks: Sequence[Benchmark], data: TrainingData) -> list[Note]:
    """Let group benchmarks measure held-out groups, and note benchmarks that measure untrained axes.

    Group benchmarks, and :class:`LikelihoodPairs`, also measure the groups that the data holds out. If no groups are
    held out, a benchmark whose sets do not cover an axis measures the test split of the file. If the file has no test
    split, it measures the validation groups.

    Args:
        benchmarks: Benchmarks of a run. A benchmark can list its axes by subset in the attribute ``measured_axes``.
        data: Training data.

    Returns:
        Notes on benchmarks or subsets that measure untrained axes, and on trained axes that no benchmark measures.
    """
    trained = data.axes()
    if not trained:
        return []
    measured = {axis for benchmark in benchmarks for axes in axes_of(benchmark).values() for axis in axes}
    notes = [
        Note(benchmark.name, _elsewhere(axes, trained), phase="after", subset=subset, mark=MARK)
        for benchmark in benchmarks
        for subset, axes in axes_of(benchmark).items()
        if axes and not any(_among(axis, axes) for axis in trained)
    ]
    for axis in sorted(trained):
        takers: list[OfGroups | LikelihoodPairs] = []
        if isinstance(data, CounterfactualData):
            takers, name = _measuring_groups(benchmarks, data, axis), f"held_out_{axis}".replace(" ", "_")
            groups, which = held_out_of(data, axis)
            text = f"also measured on the {which} groups of the training data"
            notes += [Note(benchmark.name, text, subset=name) for benchmark in takers]
            for benchmark in takers:
                benchmark.own[name] = groups
        if takers or _among(axis, measured):
            continue
        text = f"no benchmark of this run measures the axis {axis} of the training data; add one that does, such as "
        notes.append(Note(TRAINING, f"{text}benchmark.cced.sets=[FILE] of groups that were not trained on"))
    return notes


def axes_of(benchmark: Any) -> Mapping[str, frozenset[str]]:
    """Return the axes that a benchmark measures, by subset. Utility benchmarks measure no axis.

    An empty subset name stands for the whole benchmark.
    """
    found: Mapping[str, frozenset[str]] = getattr(benchmark, "measured_axes", {})
    return found


def _among(axis: str, axes: frozenset[str] | set[str]) -> bool:
    return axis in axes or bool(SAME.get(axis, set()) & axes)


def _elsewhere(measured: frozenset[str], trained: frozenset[str]) -> str:
    return (
        f"this benchmark measures the axis {', '.join(sorted(measured))}, while the training data are of "
        f"{', '.join(sorted(trained))}: it does not show the effect of the training"
    )


def _measuring_groups(
    benchmarks: Sequence[Benchmark], data: CounterfactualData, axis: str
) -> list[OfGroups | LikelihoodPairs]:
    """Return the benchmarks that should measure the data's groups of an axis."""
    return [
        one
        for one in benchmarks
        if isinstance(one, OfGroups | LikelihoodPairs)
        and (data.held_out or not _among(axis, {name for axes in axes_of(one).values() for name in axes}))
    ]


def held_out_of(data: CounterfactualData, axis: str) -> tuple[list[Group], str]:
    """Return groups of an axis that were not used for training, and a description of them.

    The groups are the held-out groups of the data. If there are none, they are the test split of the file or, without a
    test split, the validation groups.
    """
    if held_out := [group for group in data.held_out if group.axis == axis]:
        return held_out, f"{len(held_out)} held-out"
    test = [group for group in read_groups(data.path) if group.extra.get("split") == "test" and group.axis == axis]
    if test:
        return test, f"{len(test)} test"
    kept = [group for group in data.groups["validation"] if group.axis == axis]
    return kept or data.groups["validation"], f"{len(kept or data.groups['validation'])} validation"
