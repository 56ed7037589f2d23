"""Check that the columns of the input are kept: an augmentation must not write its own value into one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fairlab.types import FairlabError, Made, Row

PROVENANCE = ("source_text", "changed")  # columns of new rows, which an earlier output has both
CHANGED = ("label", "subgroup")  # settings that name columns whose values an augmentation is expected to change


class _RowMaker(Protocol):
    def make(self, rows: Sequence[Row]) -> list[Made]: ...


@dataclass(frozen=True)
class KeptColumns:
    """Augmentation that raises an error if it would overwrite a column of the input.

    ``changed`` are the columns that the augmentation may change, next to those of the texts.
    """

    augmentation: _RowMaker
    source: str
    changed: frozenset[str]

    def make(self, rows: Sequence[Row]) -> list[Made]:
        """Return the output for every row, in order.

        Raises:
            FairlabError: A column of a row would be overwritten.
        """
        found = self.augmentation.make(rows)
        for row, made in zip(rows, found, strict=True):
            self._refuse_overwritten(row, made)
        return found

    def _refuse_overwritten(self, row: Row, made: Made) -> None:
        if not made.rows or all(name in row.extra for name in PROVENANCE):
            return
        texts = {name.partition(".")[0] for name in row.names}
        for name, value in row.extra.items():
            is_kept = value in (None, "") or name in texts or name in self.changed
            if not is_kept and any(one.get(name, value) != value for one in made.rows):
                raise FairlabError(
                    f"{self.source}, {row.place}: the column '{name}' has a name that this augmentation uses for its "
                    "own values; rename the column"
                )


def keeping_columns(build: Callable[[], _RowMaker], values: Mapping[str, Any]) -> _RowMaker:
    """Build an augmentation that must keep the columns of its input.

    The input may be an earlier output of ``fairlab.augment``, whose columns are written again.
    """
    from fairlab.data.stream.manifest import NAME

    place = Path(values["input"])
    if any((folder / NAME).is_file() for folder in (place, place.parent)):
        return build()
    changed = (values["augmentation"].get(name) for name in CHANGED)
    return KeptColumns(build(), values["input"], frozenset(name for name in changed if isinstance(name, str)))
