"""Shared base of augmentations that keep some pairs of a labelled dataset and leave others out."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fairlab.protocols import Planned, refuse_axis
from fairlab.rewriting.labelled.label_keeping import Labelled, labelled_item
from fairlab.types import Made, Row


class Filter(Planned):
    """Base class of filters that decide which rows of a whole labelled dataset are kept.

    Args:
        label: Column of the label.

    Attributes:
        why: Reason for leaving a row out.
        settings: Names of the settings in an output's manifest.
    """

    plan = "fairlab.run.augmenting.whole_set.WholeSet"
    needs_rewriter = False
    why: ClassVar[str]
    settings: ClassVar[tuple[str, ...]]

    def __init__(self, label: str) -> None:
        self.label = label

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings, for an output's manifest.

        Raises:
            FairlabError: An axis was given.
        """
        refuse_axis(values, f"{cls.name} reads labels without an axis")
        return {name: values["augmentation"][name] for name in ("label", *cls.settings)}

    @abstractmethod
    def kept(self, items: Sequence[Labelled]) -> set[int] | Counter[int]:
        """Return the indices of the documents to keep, or how often to keep each.

        Raises:
            FairlabError: The documents are too few, or all have the same label.
        """

    def decide(self, rows: Sequence[Row]) -> dict[int, Made]:
        """Return the outcome of every row, by its number.

        Raises:
            FairlabError: A row has no label; see :meth:`kept`.
        """
        times = Counter(self.kept([labelled_item(row, self.label) for row in rows]))
        return {
            row.number: stays(row, times[place]) if times[place] else Made(reason=self.why)
            for place, row in enumerate(rows)
        }


def stays(row: Row, times: int = 1) -> Made:
    """Return a row unchanged ``times`` times; the ids of the second and later copies are numbered."""
    one = {"id": row.id, **row.named, **row.extra}
    again = ({**one, "id": f"{row.id}-{number}", "source_id": row.id} for number in range(2, times + 1))
    return Made(rows=(one, *again))
