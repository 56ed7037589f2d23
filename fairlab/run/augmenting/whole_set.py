"""Augmentations that look at a whole labelled data set before they decide about its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fairlab.checks.values import target_of
from fairlab.record import Note, Reading, Record
from fairlab.run.augmenting.building import build_augmentation
from fairlab.types import Made, Row

if TYPE_CHECKING:  # imported where it is used: --help answers at once
    from fairlab.data.stream.manifest import Manifest


class WholeSet:
    """The plan of augmentations with a method ``decide``; see :mod:`fairlab.plans`."""

    def __init__(self, values: dict[str, Any], read: Callable[[], Iterator[Any]], record: Record) -> None:
        self.values, self.read, self.record = values, read, record

    def made_by(self) -> dict[str, Any]:
        """The augmentation's settings."""
        return target_of(self.values["augmentation"]).made_by(self.values)

    def prepare(self) -> tuple[Iterator[Any], partial[Any]]:
        """The rows, and what was decided about each."""
        rows = [row for row in self.read() if isinstance(row, Row)]
        return self.read(), partial(Decided, build_augmentation(self.values).decide(rows))

    def provenance(self) -> dict[str, Any]:
        """Nothing: there is no rewriter."""
        return {}

    def report(self, manifest: Manifest, made: int) -> tuple[list[Reading], list[Note]]:
        """No readings: how well a probe does before and after is ``benchmark=shortcuts``."""
        del manifest, made
        return [], []


class Decided:
    """Rows as was decided about them.

    Args:
        made: what becomes of every row, by its number.
    """

    def __init__(self, made: Mapping[int, Made]) -> None:
        self.made = made

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """What becomes of every row, in order."""
        return [self.made[row.number] for row in rows]
