"""Selection of an export format, and output to one folder per model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fairlab.files import no_space_is_one_sentence, refuse_used, write_whole
from fairlab.record import DATA, Reading, Record
from fairlab.reporting.exports import eval_results, every_eval_ever, item_csv, lm_eval_files, mteb_files
from fairlab.reporting.exports.measured_model import MeasuredModel
from fairlab.types import FairlabError

FORMS: dict[str, Callable[[MeasuredModel], dict[str, str]]] = {
    "csv": item_csv.csv_files,
    "eee": every_eval_ever.eee_files,
    "eval_results": eval_results.hub_files,
    "lm_eval": lm_eval_files.harness_files,
    "mteb": mteb_files.benchmark_files,
}


def export_results(record: Record, form: str, folder: Path) -> list[Path]:
    """Write the readings of each model of a record to a new folder, in another tool's format, and return the paths.

    Args:
        record: Record of a finished run.
        form: Name of the format: ``csv`` (scores of items, which ``fairlab compare`` can read), ``eee`` (Every Eval
            Ever), ``eval_results`` (the hub), ``lm_eval`` (lm-evaluation-harness) or ``mteb``.
        folder: New folder; several models are written to one subfolder each.

    Raises:
        FairlabError: The format does not exist, there is nothing to write, or the folder is not empty.
    """
    if form not in FORMS:
        raise FairlabError(f"there is no format '{form}'; there are: {', '.join(FORMS)}")
    refuse_used(folder)
    models = _models(record)
    made = [(model, name, text) for model in models for name, text in FORMS[form](model).items()]
    if not made:
        raise FairlabError(f"{record.folder} cannot be written as {form}: it has no readings, or no items")
    written = []
    with no_space_is_one_sentence(folder):
        for model, name, text in made:
            path = (folder / model.label if len(models) > 1 else folder) / name
            write_whole(path, text)
            written.append(path)
    return written


def _models(record: Record) -> Sequence[MeasuredModel]:
    readings: dict[str, list[Reading]] = {}
    for reading in record.readings:
        if reading.phase != DATA:
            readings.setdefault(reading.phase, []).append(reading)
    return [MeasuredModel(record, phase, tuple(some)) for phase, some in readings.items()]
