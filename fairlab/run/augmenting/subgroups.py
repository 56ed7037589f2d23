"""Augmentation of one row at a time, for rows about subgroups."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from fairlab.run.augmenting.row_by_row import RowByRow
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError, Row


class OfSubgroups(RowByRow):
    """Plan of augmentations with a setting ``subgroup``, an implementation of :class:`fairlab.protocols.Plan`."""

    def prepare(self) -> tuple[Iterator[Any], partial[Any]]:
        """Return the unchanged rows and a builder of the augmentation.

        Raises:
            FairlabError: No row has the column of subgroups, without which no version can be made.
        """
        column = self.values["augmentation"]["subgroup"]
        if column is None:
            return super().prepare()
        first: Row | None = None
        for row in (one for one in self.read() if isinstance(one, Row)):
            if column in row.extra:
                return super().prepare()
            first = first or row
        there = listed_names(first.extra if first else (), "no other column")
        raise FairlabError(
            f"{self.values['input']} has no column '{column}'; it has: {there}; give augmentation.subgroup=NAME, the "
            "column that contains category:subgroup, or augmentation.subgroup=null to find subgroups by words"
        )
