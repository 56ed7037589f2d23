"""Base class of augmentations that keep some rows of a labelled dataset and omit others."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fairlab.protocols import Planned, refuse_axis
from fairlab.rewriting.labelled.label_keeping import Labelled, labelled_item
from fairlab.types import Made, Row


class Filter(Planned):
    """Base class for filters, which select the rows to keep from a whole labelled dataset.

    Args:
        label: Column of the label.

    Attributes:
        why: Reason for omitting a row.
        settings: Names of the settings that are stored in the manifest.
    """

    plan = "fairlab.run.augmenting.whole_set.WholeSet"
    needs_rewriter = False
    why: ClassVar[str]
    settings: ClassVar[tuple[str, ...]]

    def __init__(self, label: str) -> None:
        self.label = label

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings, for the manifest.

        Raises:
            FairlabError: An axis was given.
        """
        refuse_axis(values, f"{cls.name} reads labels without an axis")
        return {name: values["augmentation"][name] for name in ("label", *cls.settings)}

    @abstractmethod
    def kept(self, items: Sequence[Labelled]) -> set[int] | Counter[int]:
        """Return the indices of the documents to keep, or the number of times to keep each document.

        Raises:
            FairlabError: There are too few documents, or all have the same label.
        """

    def decide(self, rows: Sequence[Row]) -> dict[int, Made]:
        """Return the output for every row, by the row's number.

        Raises:
            FairlabError: :meth:`kept` fails.
        """
        times = Counter(self.kept([labelled_item(row, self.label) for row in rows]))
        return {
            row.number: stays(row, times[place]) if times[place] else Made(reason=self.why)
            for place, row in enumerate(rows)
        }


def stays(row: Row, times: int = 1) -> Made:
    """Return a row unchanged, ``times`` times.

    The second and later copies have numbered ids.
    """
    one = {"id": row.id, **row.named, **row.extra}
    again = ({**one, "id": f"{row.id}-{number}", "source_id": row.id} for number in range(2, times + 1))
    return Made(rows=(one, *again))
