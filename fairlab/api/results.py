"""Results of an evaluation, for inspection, printing and saving."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.api.arguments import checked
from fairlab.checks.escapes import frame_of
from fairlab.files import (
    check_folder,
    folder_replaced_when_written,
    no_space_is_one_sentence,
    refuse_used,
    replaced_when_written,
)
from fairlab.record import Comparison, Note, NotRun, Reading, Record, values_in
from fairlab.reporting.headlines import few_compared, title
from fairlab.reporting.summary import summary_lines
from fairlab.reporting.tables.long_form import READING, long_form
from fairlab.reporting.tables.rendering import Printed, latex, markdown
from fairlab.reporting.verdicts import TOO_FEW, corrected_interval
from fairlab.types import FairlabError

if TYPE_CHECKING:  # importing pandas takes a second
    import pandas

    from fairlab.reporting.view.items import ScoredItems


@dataclass(frozen=True)
class Results:
    """Readings with intervals, paired comparisons, notes, and the skipped benchmarks with the reasons.

    Attributes:
        record: Complete record, including the configuration and provenance.
    """

    record: Record
    kept: Any = field(default=None, repr=False)  # temporary folder of the record, deleted with this object

    @property
    def readings(self) -> list[Reading]:
        """Return all readings, with their intervals."""
        return self.record.readings

    @property
    def comparisons(self) -> list[Comparison]:
        """Return the paired differences between the models that were evaluated together."""
        return self.record.comparisons

    @property
    def not_run(self) -> list[NotRun]:
        """Return the benchmarks that could not be run, with the reasons."""
        return self.record.not_run

    @property
    def notes(self) -> list[Note]:
        """Return the notes that are needed to interpret the readings."""
        return self.record.notes

    @checked
    def __getitem__(self, key: str) -> float:
        """Return the value of a key of ``metrics.json``, such as ``seat/average/absolute_effect_size``."""
        values = self.record.metrics()
        if key not in values:
            raise FairlabError(f"there is no reading {key}; there are: {', '.join(values)}")
        return values[key]

    def __str__(self) -> str:
        return "\n".join(summary_lines(self.record))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per reading.

        The columns are model, benchmark, subset, quantity, value, interval bounds, unit, ideal value and n.
        """
        return long_form([self.record])[list(READING)].rename(columns={"phase": "model"})

    @checked
    def items(self) -> pandas.DataFrame:
        """Return a table with one row per item.

        The columns are benchmark, id, group and texts if available, and one column per score and model.
        """
        from fairlab.reporting.view.items import items_of

        return frame_of([row for found in items_of(self.record) for row in _rows_of(found)])

    def to_markdown(self) -> str:
        """Return a GitHub Markdown table with headline readings in rows and models in columns."""
        return markdown(*self._table())

    @checked
    def to_latex(self, caption: str = "") -> str:
        """Return a LaTeX table (booktabs package) with headline readings in rows and models in columns."""
        return latex(*self._table(), caption=caption, note="In brackets: 95 % intervals.")

    def _table(self) -> tuple[list[str], list[list[Printed]]]:
        phases = list(dict.fromkeys(reading.phase for reading in self.readings))
        rows = []
        for row in self.record.table():
            first = next(iter(row.values()))
            if first.headline:
                values = [_value(self.record, row[phase]) if phase in row else "" for phase in phases]
                rows.append([Printed(text) for text in (title(first), *values, first.unit, str(first.n))])
        return ["", *(phase or "value" for phase in phases), "unit", "n"], rows

    @checked
    def report(self, path: str | Path) -> Path:
        """Write the report to a single HTML file that can be opened offline.

        Raises:
            FairlabError: The folder of the results no longer exists, or the file cannot be written.
        """
        from fairlab.reporting.report import write_report

        _refuse_gone(self.record.folder)
        made, wanted = write_report(self.record), Path(path)
        if made.resolve() == wanted.resolve():
            return wanted
        with no_space_is_one_sentence(wanted), replaced_when_written(wanted) as temporary:
            shutil.copyfile(made, temporary)
        return wanted

    @checked
    def export(self, form: str, folder: str | Path) -> list[Path]:
        """Write the results to a new folder in the format of another tool, and return the paths of the files.

        Args:
            form: Name of the format: ``csv`` (scores of items), ``eee`` (Every Eval Ever), ``eval_results`` (the hub),
                ``lm_eval`` or ``mteb``.
            folder: New folder; several models are written to one subfolder each.

        Raises:
            FairlabError: The format does not exist, there is nothing to write, or the folder is not empty.
        """
        from fairlab.reporting.exports.exporting import export_results

        return export_results(self.record, form, Path(folder))

    @checked
    def save(self, folder: str | Path) -> Path:
        """Save the record, the report and the per-item values to a new folder, as ``fairlab evaluate`` does.

        Raises:
            FairlabError: The new folder is not empty, the folder of the results no longer exists, or the disk is full.
        """
        from fairlab.reporting.report import write_report

        _refuse_gone(self.record.folder)
        self.record.save()
        write_report(self.record)
        return copied(self.record.folder, Path(folder))


def _rows_of(found: ScoredItems) -> Iterator[dict[str, Any]]:
    """Yield one row per item of a benchmark."""
    for k, name in enumerate(found.ids):
        texts = {f"text {place}": text for place, text in enumerate(found.texts[k] if found.texts else (), start=1)}
        scores = {
            f"{value} ({phase})" if phase else value: float(values[k, place])
            for phase, values in found.scores.items()
            for place, value in enumerate(found.values)
        }
        group = {"group": found.groups[k]} if found.groups else {}
        yield {"benchmark": found.name, "id": name, **group, **texts, **scores}


def _refuse_gone(folder: Path) -> None:
    if not folder.is_dir():
        raise FairlabError(f"the folder of these results, {folder}, is gone; measure again")


def copied(source: Path, folder: Path) -> Path:
    """Copy a run folder to a new location atomically, and return the new path.

    Raises:
        FairlabError: The new location is a folder that is not empty, or the disk is full.
    """
    _refuse_gone(source)
    refuse_used(folder)
    check_folder(source)
    with no_space_is_one_sentence(folder), folder_replaced_when_written(folder) as temporary:
        shutil.copytree(source, temporary, ignore=shutil.ignore_patterns(".lock"), dirs_exist_ok=True)
    return folder


def _value(record: Record, reading: Reading) -> str:
    low, high = corrected_interval(record, reading)
    return f"{reading.value:.4g} " + (f"({TOO_FEW})" if math.isnan(low) else f"[{low:.4g}, {high:.4g}]")


@dataclass(frozen=True)
class Changes:
    """Differences between two models, paired item by item: later minus earlier model.

    Attributes:
        comparisons: One difference per reading that both models have, with interval and p-value. Headline readings also
            have a p-value adjusted by Holm's method.
        left_out: One sentence per benchmark whose version differs between the two models.
        warnings: One sentence per run whose headline readings have warnings, for example because it did not train.
    """

    comparisons: Sequence[Comparison]
    left_out: Sequence[str] = ()
    warnings: Sequence[str] = ()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per difference."""
        return frame_of([values_in(comparison) for comparison in self.comparisons]).drop(columns="phase")

    def to_markdown(self) -> str:
        """Return a GitHub Markdown table of the differences in headline readings.

        Omitted benchmarks and warnings follow the table.
        """
        more = [f"Left out: {reason}." for reason in self.left_out] + [f"Warning: {one}." for one in self.warnings]
        return "\n\n".join([markdown(*self._table()), *more])

    @checked
    def to_latex(self, caption: str = "") -> str:
        """Return a LaTeX table (booktabs package) of the differences in headline readings."""
        return latex(*self._table(), caption=caption, note="In brackets: 95 % intervals. p: adjusted by Holm's method.")

    def __str__(self) -> str:
        return self.to_markdown()

    def _table(self) -> tuple[list[str], list[list[Printed]]]:
        rows = [
            [
                Printed(title(c)),
                Printed(f"{c.difference:+.4g} " + (f"({TOO_FEW})" if few else f"[{c.low:+.4g}, {c.high:+.4g}]")),
                Printed(c.unit),
                Printed("" if c.p_holm is None or few else f"{c.p_holm:.2g}"),
                Printed(str(c.n)),
            ]
            for c in self.comparisons
            if c.headline
            for few in [few_compared(c)]
        ]
        return ["", "second minus first", "unit", "p", "n"], rows
