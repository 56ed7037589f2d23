"""Plan of augmentations that read the whole labelled dataset before they decide on each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fairlab.record import Note, Reading
from fairlab.run.augmenting.building import PlanOfRun, build_augmentation
from fairlab.types import Made, Row

if TYPE_CHECKING:  # imported lazily so that --help is fast
    from fairlab.data.stream.manifest import Manifest


class WholeSet(PlanOfRun):
    """Plan of augmentations with a method ``decide``, an implementation of :class:`fairlab.protocols.Plan`."""

    def prepare(self) -> tuple[Iterator[Any], partial[Any]]:
        """Decide on all rows, and return the rows and a builder of the object that applies the decisions.

        Raises:
            FairlabError: A row has no label, or the augmentation does not suit the rows.
        """
        from fairlab.rewriting.labelled.label_keeping import refuse_unlabelled

        rows = [row for row in self.read() if isinstance(row, Row)]
        refuse_unlabelled(self.values["input"], rows, self.values["augmentation"]["label"])
        return self.read(), partial(RowDecisions, build_augmentation(self.values).decide(rows))

    def provenance(self) -> dict[str, Any]:
        """Return an empty dict: there is no rewriter."""
        return {}

    def report(self, manifest: Manifest, made: int) -> tuple[list[Reading], list[Note]]:
        """Return no readings, because ``benchmark=shortcuts`` measures the shortcuts before and after."""
        del manifest, made
        return [], []


class RowDecisions:
    """Lookup of the decisions on all rows, by the row's number."""

    def __init__(self, made: Mapping[int, Made]) -> None:
        self.made = made

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return the output for every row, in order."""
        return [self.made[row.number] for row in rows]
