"""Collections of runs, read from all subfolders of a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.api.arguments import checked
from fairlab.record import Record
from fairlab.reporting.paper_table import PaperTable, Spread, paper_table
from fairlab.reporting.tables.grouping import records_below
from fairlab.reporting.tables.long_form import long_form, write_long_form
from fairlab.reporting.tables.naming import distinct_names
from fairlab.types import FairlabError

if TYPE_CHECKING:  # importing pandas takes a second
    import pandas


@dataclass(frozen=True)
class Runs:
    """Records of runs, in the order of their folders."""

    records: Sequence[Record]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    @checked
    def __getitem__(self, number: Any) -> Record:
        try:
            return self.records[number]
        except (TypeError, IndexError) as error:
            raise FairlabError(f"there is no run {number!r}; they are numbered 0..{len(self) - 1}") from error

    def __str__(self) -> str:
        folders = [str(record.folder) for record in self.records]
        names = distinct_names(
            [record.name or folder for record, folder in zip(self.records, folders, strict=True)], folders
        )
        return "\n".join(f"{k}  {name}  {self.records[k].status}" for k, name in enumerate(names))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per run and reading.

        The columns are those of :mod:`fairlab.reporting.tables.long_form`.
        """
        return long_form(self.records)

    @checked
    def save(self, path: str | Path) -> None:
        """Write the table of :meth:`to_pandas` to a ``.csv`` or ``.parquet`` file."""
        write_long_form(self.records, Path(path))

    @checked
    def table(
        self, readings: Sequence[str] | None = None, baseline: bool = True, spread: Spread = "interval"
    ) -> PaperTable:
        """Return a table of methods by readings, as ``fairlab table`` prints it.

        Runs that differ only in their seed count as one method. A run with several models gives one row per model. The
        best value of a reading is marked if it is significantly better.

        Args:
            readings: Keys of readings such as ``seat/average/absolute_effect_size``, or None for all headline readings.
            baseline: Whether to add the model before training as the first row, and to mark significant changes.
            spread: Statistic printed next to each mean: ``interval``, ``deviation`` or ``none``.
        """
        return paper_table(self.records, readings, baseline=baseline, spread=spread)


@checked
def runs(folder: str | Path = "outputs") -> Runs:
    """Return all runs in a folder and its subfolders. If there are no fairlab runs, return the runs of other tools.

    Args:
        folder: Folder of fairlab runs, or a file or folder that :mod:`fairlab.judge.reading` can read.

    Raises:
        FairlabError: The folder does not exist or contains no run, or a file is damaged.

    Example:
        >>> folder = fairlab.evaluate("minilm", "cced", limit=20).save("results/minilm")  # doctest: +SKIP
        >>> print(fairlab.runs("results"))  # doctest: +SKIP
        0  results/minilm  finished
    """
    return Runs(records_below(Path(folder)))
