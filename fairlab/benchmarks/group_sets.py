"""Sets of counterfactual groups for benchmarks of embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlab.benchmarks.readings import evenly
from fairlab.data.counterfactual import hold_out
from fairlab.data.groups import read_groups
from fairlab.data.published.download import locate
from fairlab.data.published.winogender import read_winogender
from fairlab.protocols import Benchmark
from fairlab.record import NotRun
from fairlab.types import DataUnavailable, FairlabError, Group, NotNegative, Texts

WINOGENDER = "winogender"
FREE = {"embedded": "CC0-1.0", WINOGENDER: "MIT"}  # licences of the named sets


class OfGroups(Benchmark):
    """Base class of benchmarks that measure sets of counterfactual groups.

    Args:
        sets: Names or files of the sets to measure on: ``winogender``, ``embedded`` (the test split that comes with
            fairlab), or files of groups, from which the split ``test`` is used, or all groups if there are no splits.
            Do not use sets that you train on.
        test: Number of groups to measure in a set without splits, or their fraction if below 1. The groups are the ones
            that ``data.test`` holds out in training. None for all.
        limit: Maximum number of groups per set, spread evenly over it; None for all.

    Attributes:
        own: Groups of additional sets, by the name of the set.

    Raises:
        FairlabError: Two sets have the same name in results.
    """

    def __init__(self, sets: Texts, test: NotNegative | None = None, limit: int | None = None) -> None:
        self.limit = limit
        self.test = test
        self.sets = list(sets)
        self.own: dict[str, list[Group]] = {}
        refuse_same_names(self.sets)

    @property
    def measured_axes(self) -> dict[str, frozenset[str]]:
        """Return the axes of every available set, by its name in results."""
        return {subset: frozenset(group.axis for group in groups) for _, subset, groups in self.available()}

    def available(self, missing: list[NotRun] | None = None) -> Iterator[tuple[str, str, list[Group]]]:
        """Yield the name or file, the name in results and the groups of every set that is available.

        Args:
            missing: List that receives the sets that are not available; with None, they are ignored.
        """
        for name in [*self.sets, *self.own]:
            try:
                groups = self.own[name] if name in self.own else held_out_groups(name, self.test)
            except DataUnavailable as error:
                if missing is not None:
                    missing.append(NotRun(self.name, set_name(name), str(error)))
                continue
            yield name, set_name(name), evenly(groups, self.limit)


def set_name(name: str) -> str:
    """Return the name of a set in readings. The name of a file is its stem in lower case with underscores."""
    return (
        name.rsplit("/", 1)[-1].removesuffix(".jsonl").removesuffix(".csv").lower().replace("-", "_").replace(" ", "_")
    )


def refuse_same_names(sets: Sequence[str]) -> None:
    """Raise FairlabError if two sets have the same name in results."""
    if len({set_name(name) for name in sets}) < len(sets):
        raise FairlabError(f"two of the sets {', '.join(sets)} have the same name in results; rename a file")


def held_out_groups(name: str, held_out: float | None = None) -> list[Group]:
    """Return the test groups of a set or, for a file without splits, the groups that ``data.test=held_out`` holds out.

    Raises:
        DataUnavailable: The set is not available.
        FairlabError: The set has splits but no split ``test``, or it has too few groups.
    """
    if name == WINOGENDER:
        return read_winogender(locate("winogender/all_sentences.tsv"))
    groups = read_groups("embedded/people" if name == "embedded" else name)
    if not any("split" in group.extra for group in groups):
        return groups if held_out is None else hold_out(groups, held_out, 0, name)[1]
    test = [group for group in groups if group.extra.get("split") == "test"]
    if not test:
        raise FairlabError(f"{name} has splits, but no group in the split 'test' to measure on; assign some to it")
    return test
