"""What augmentations share that keep some pairs of a labelled data set and leave others out."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fairlab.protocols import Planned, refuse_axis
from fairlab.rewriting.labelled.label_keeping import Labelled, labelled_item
from fairlab.types import Made, Row


class Filter(Planned):
    """Decides which rows of a whole labelled data set stay.

    Args:
        label: column of the label.

    Attributes:
        why: reason of a row that is left out.
        settings: names of the settings that an output's manifest holds.
    """

    plan = "fairlab.run.augmenting.whole_set.WholeSet"
    needs_rewriter = False
    why: ClassVar[str]
    settings: ClassVar[tuple[str, ...]]

    def __init__(self, label: str) -> None:
        self.label = label

    @classmethod
    def made_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings, for an output's manifest.

        Raises:
            FairlabError: an axis was given.
        """
        refuse_axis(values, f"{cls.name} looks at labels without an axis")
        return {name: values["augmentation"][name] for name in ("label", *cls.settings)}

    @abstractmethod
    def kept(self, items: Sequence[Labelled]) -> set[int] | Counter[int]:
        """Places of the documents that stay, or how often each stands in what is kept.

        Raises:
            FairlabError: they are too few, or of one label.
        """

    def decide(self, rows: Sequence[Row]) -> dict[int, Made]:
        """What becomes of every row, by its number.

        Raises:
            FairlabError: a row has no label; see :meth:`kept`.
        """
        times = Counter(self.kept([labelled_item(row, self.label) for row in rows]))
        return {
            row.number: stays(row, times[place]) if times[place] else Made(reason=self.why)
            for place, row in enumerate(rows)
        }


def stays(row: Row, times: int = 1) -> Made:
    """A row as it was, so many times; the second and later ones have numbers of their own in their ids."""
    one = {"id": row.id, **row.named, **row.extra}
    again = ({**one, "id": f"{row.id}-{number}", "source_id": row.id} for number in range(2, times + 1))
    return Made(rows=(one, *again))
