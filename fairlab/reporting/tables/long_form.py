"""Table of the results of any runs in long form: one row per run and reading, with the run's configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairlab.checks.escapes import csv_cell, frame_of
from fairlab.files import no_space_is_one_sentence, replaced_when_written
from fairlab.record import Record, values_in
from fairlab.reporting.tables.grouping import identity, settings_of
from fairlab.types import FairlabError

if TYPE_CHECKING:  # pandas takes a second to import
    import pandas

READING = (
    "phase", "benchmark", "subset", "quantity", "value", "low", "high", "unit", "ideal", "n", "p", "p_holm", "headline",
    "version",
)  # fmt: skip


TAKEN = {"run", "status", "configuration", "seed", *READING}  # clashing settings are prefixed with config.


def configuration(record: Record) -> str:
    """Return an identifier of a run's configuration without the seed: the first twelve digits of a hash."""
    content = json.dumps(sorted(identity(record).items()))
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def long_form(records: Sequence[Record]) -> pandas.DataFrame:
    """Return a table with one row per run, finished or not, and reading.

    The columns are ``run`` (folder of the run), ``status``, ``configuration`` (equal for runs that differ only in their
    seed), ``seed``, one column for each setting that distinguishes the runs (such as ``method.beta``), and the fields
    of :class:`fairlab.record.Reading`.
    """
    settings = [
        {f"config.{key}" if key in TAKEN else key: value for key, value in told.items()}
        for told in settings_of(records)
    ]
    names = list(settings[0]) if settings else []
    rows = [
        {
            "run": str(record.folder),
            "status": record.status,
            "configuration": configuration(record),
            "seed": record.config.get("seed"),
            **told,
            **{name: value for name, value in values_in(reading).items() if name in READING},
        }
        for record, told in zip(records, settings, strict=True)
        for reading in record.readings
    ]
    return frame_of(rows, ["run", "status", "configuration", "seed", *names, *READING])


def write_long_form(records: Sequence[Record], path: Path) -> None:
    """Write the long-form table to a ``.csv`` or ``.parquet`` file.

    Raises:
        FairlabError: The path does not end in one of these suffixes, or the disk is full.
    """
    if path.suffix not in (".csv", ".parquet"):
        raise FairlabError(f"{path} has no known file ending; give a name that ends in .csv or .parquet")
    table = long_form(records)
    with no_space_is_one_sentence(path), replaced_when_written(path) as temporary:
        if path.suffix == ".csv":
            table.map(csv_cell).rename(columns=csv_cell).to_csv(temporary, index=False)
        else:
            table.to_parquet(temporary, index=False)
