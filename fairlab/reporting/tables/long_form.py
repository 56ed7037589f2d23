"""Results of any runs in one long-form table: a row for each reading, keyed by what its run was configured to do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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


TAKEN = {"run", "status", "configuration", "seed", *READING}  # a setting of such a name gets config. before it


def configuration(record: Record) -> str:
    """A short name of what a run does, whatever its seed: the first twelve digits of a hash of its identity."""
    content = json.dumps(sorted(identity(record).items()))
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def long_form(records: Sequence[Record]) -> pandas.DataFrame:
    """A row for each reading of each run.

    Columns: ``run`` (its folder), ``status``, ``configuration`` (equal for runs that differ in their seed alone),
    ``seed``, the settings that tell the runs apart by their keys (such as ``method.beta``), and the parts of a
    :class:`fairlab.record.Reading`.

    Args:
        records: records of runs, finished or not.
    """
    import pandas

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
    return pandas.DataFrame(rows, columns=["run", "status", "configuration", "seed", *names, *READING])


def write_long_form(records: Sequence[Record], path: Path) -> None:
    """Write the long-form table, by the ending of the file's name: ``.csv`` or ``.parquet``.

    Raises:
        FairlabError: the name has another ending, or the disk is full.
    """
    if path.suffix not in (".csv", ".parquet"):
        raise FairlabError(f"{path} has no ending that says its kind; give a name that ends in .csv or .parquet")
    table = long_form(records)
    with no_space_is_one_sentence(path), replaced_when_written(path) as temporary:
        if path.suffix == ".csv":
            table.to_csv(temporary, index=False)
        else:
            table.to_parquet(temporary, index=False)
