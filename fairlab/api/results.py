"""What was measured of models, to be looked at, printed and kept."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.files import (
    check_folder,
    folder_replaced_when_written,
    no_space_is_one_sentence,
    replaced_when_written,
)
from fairlab.record import Comparison, Note, NotRun, Reading, Record, values_in
from fairlab.reporting.headlines import title
from fairlab.reporting.summary import summary_lines
from fairlab.reporting.tables.long_form import READING, long_form
from fairlab.reporting.tables.rendering import Printed, latex, markdown
from fairlab.types import FairlabError

if TYPE_CHECKING:  # pandas takes a second to import
    import pandas


@dataclass(frozen=True)
class Results:
    """Readings with their intervals, paired comparisons, notes, and what was not run and why.

    Attributes:
        record: the record with all of it, and with the configuration and provenance.
    """

    record: Record
    kept: Any = field(default=None, repr=False)  # the temporary folder of the record, which goes with this object

    @property
    def readings(self) -> list[Reading]:
        """Every number that was measured, with its interval."""
        return self.record.readings

    @property
    def comparisons(self) -> list[Comparison]:
        """Paired differences between the models of this measurement."""
        return self.record.comparisons

    @property
    def not_run(self) -> list[NotRun]:
        """What could not be measured, and why."""
        return self.record.not_run

    @property
    def notes(self) -> list[Note]:
        """What a reader of the numbers must know."""
        return self.record.notes

    def __getitem__(self, key: str) -> float:
        """The value at a key of ``metrics.json``, such as ``seat/average/absolute_effect_size``."""
        values = self.record.metrics()
        if key not in values:
            raise FairlabError(f"there is no reading {key}; there are: {', '.join(values)}")
        return values[key]

    def __str__(self) -> str:
        return "\n".join(summary_lines(self.record))

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each reading: model, benchmark, subset, quantity, value, bounds of the interval, unit, ideal, n."""
        return long_form([self.record])[list(READING)].rename(columns={"phase": "model"})

    def to_markdown(self) -> str:
        """Headline readings in rows and models in columns, in GitHub's Markdown."""
        return markdown(*self._table())

    def to_latex(self, caption: str = "") -> str:
        """Headline readings in rows and models in columns, in LaTeX with the package booktabs."""
        return latex(*self._table(), caption=caption, note="In brackets: 95 % intervals.")

    def _table(self) -> tuple[list[str], list[list[Printed]]]:
        phases = list(dict.fromkeys(reading.phase for reading in self.readings))
        rows = []
        for row in self.record.table():
            first = next(iter(row.values()))
            if first.headline:
                values = [_value(row[phase]) if phase in row else "" for phase in phases]
                rows.append([Printed(text) for text in (title(first), *values, first.unit, str(first.n))])
        return ["", *(phase or "value" for phase in phases), "unit", "n"], rows

    def report(self, path: str | Path) -> Path:
        """Write the report, one HTML file that opens offline."""
        from fairlab.reporting.report import write_report

        made, wanted = write_report(self.record), Path(path)
        if made.resolve() == wanted.resolve():
            return wanted
        with no_space_is_one_sentence(wanted), replaced_when_written(wanted) as temporary:
            shutil.copyfile(made, temporary)
        return wanted

    def save(self, folder: str | Path) -> Path:
        """Keep everything in a new folder, as ``fairlab evaluate`` does: record, report and values of each item.

        Raises:
            FairlabError: there is something in the folder already, or the disk is full.
        """
        from fairlab.reporting.report import write_report

        self.record.save()
        write_report(self.record)
        return copied(self.record.folder, Path(folder))


def copied(source: Path, folder: Path) -> Path:
    """A run folder copied to a new place, which appears whole.

    Raises:
        FairlabError: there is something at the new place already, or the disk is full.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FairlabError(f"{folder} is there already; give a new folder")
    check_folder(source)
    with no_space_is_one_sentence(folder), folder_replaced_when_written(folder) as temporary:
        shutil.copytree(source, temporary, ignore=shutil.ignore_patterns(".lock"), dirs_exist_ok=True)
    return folder


def _value(reading: Reading) -> str:
    return f"{reading.value:.4g} [{reading.low:.4g}, {reading.high:.4g}]"


@dataclass(frozen=True)
class Changes:
    """Differences between two models, paired item by item, later less earlier.

    Attributes:
        comparisons: a difference for each reading that both have, with interval, p-value, and for headline readings the
            p-value adjusted by Holm's method.
        left_out: a sentence per benchmark that the two were measured with by different versions of its definition.
    """

    comparisons: Sequence[Comparison]
    left_out: Sequence[str] = ()

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each difference."""
        import pandas

        return pandas.DataFrame([values_in(comparison) for comparison in self.comparisons]).drop(columns="phase")

    def to_markdown(self) -> str:
        """Return the differences of headline readings in GitHub's Markdown, then what was left out."""
        return "\n\n".join([markdown(*self._table()), *(f"Left out: {reason}." for reason in self.left_out)])

    def to_latex(self, caption: str = "") -> str:
        """Differences of headline readings, in LaTeX with the package booktabs."""
        return latex(*self._table(), caption=caption, note="In brackets: 95 % intervals. p: adjusted by Holm's method.")

    def __str__(self) -> str:
        return self.to_markdown()

    def _table(self) -> tuple[list[str], list[list[Printed]]]:
        rows = [
            [
                Printed(title(c)),
                Printed(f"{c.difference:+.4g} [{c.low:+.4g}, {c.high:+.4g}]"),
                Printed(c.unit),
                Printed("" if c.p_holm is None else f"{c.p_holm:.2g}"),
                Printed(str(c.n)),
            ]
            for c in self.comparisons
            if c.headline
        ]
        return ["", "difference", "unit", "p", "n"], rows
