"""Steps of a ``fairlab mend`` run: each has its own record, and finished steps are reused after an interruption."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from fairlab.backbones.hub import licence_in
from fairlab.backbones.loading import find_weights
from fairlab.data.stream.parts import changed_facts
from fairlab.files import folder_replaced_when_written, refuse_used, write_whole
from fairlab.mend.outcome import ANSWER, MODEL
from fairlab.record import Comparison, Note, NotRun, Reading, Record
from fairlab.reporting.card import model_card
from fairlab.run.config.composing import composed, composing, from_model, written
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.folders import plain_config
from fairlab.run.job import accounted, do_work, lock_folder
from fairlab.types import FairlabError

Entry = TypeVar("Entry", Reading, Comparison, NotRun, Note)
BEGUN = "begun.json"  # file with the facts that a run of fairlab mend was started with


@contextmanager
def begun(folder: Path, facts: Mapping[str, Any]) -> Iterator[None]:
    """Lock the folder of a new or resumed run.

    If the run fails before it finishes a step, remove the folder.

    Args:
        folder: Folder of the run.
        facts: Model, data and settings, which must be the same when a run is resumed.

    Raises:
        FairlabError: The folder contains a finished run, a run with other facts or unrelated files, or another process
            is using it.
    """
    resumed = (folder / BEGUN).is_file() and not (folder / ANSWER).exists()
    if not resumed:
        refuse_used(folder, "give a new folder as output")
    elif changed := changed_facts(folder / BEGUN, facts):
        raise FairlabError(
            f"{folder} was started with another {', another '.join(changed)}; repeat the first command to resume it, "
            "or give a new folder as output"
        )
    folder.mkdir(parents=True, exist_ok=True)
    lock = lock_folder(folder, "another output")
    try:
        write_whole(folder / BEGUN, json.dumps(facts, indent=1) + "\n")
        yield
    except FairlabError:
        if not any(finished_part(record.parent) for record in folder.glob("*/*/record.json")):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        lock.release()


def finished_part(folder: Path) -> Record | None:
    """Return the record of a finished step, or None if it is not finished."""
    try:
        record = Record.load(folder)
    except FairlabError:
        return None
    return record if record.status == "finished" else None


def kept_part(folder: Path) -> Record | None:
    """Return the record of a finished step.

    If the step is not finished, remove the files of a killed process and return None.
    """
    found = finished_part(folder)
    if found is None:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def run_part(entry: str, given: Sequence[str], values: Mapping[str, Any], folder: Path) -> Record:
    """Train or evaluate as ``fairlab train`` or ``fairlab evaluate`` does, and return the record.

    A finished step is reused. ``given`` are overrides that choose from configuration groups, and ``values`` are
    settings by dotted key.

    Raises:
        FairlabError: The training or evaluation does not fit the model or the data.
    """
    if kept := kept_part(folder):
        return kept
    overrides = [f"{key}=" for key in values]
    config = composed(entry, given, values)
    if entry == "train":
        config = from_model(config, overrides)
    command = [f"{key}={written(value)}" for key, value in values.items() if value is not None]
    record = Record(folder, plain_config(config), shlex.join(["python", "-m", f"fairlab.{entry}", *given, *command]))
    folder.mkdir(parents=True)
    with composing(), accounted(record):
        refuse_misfits(entry, config, overrides)
        do_work(entry, config, record)
    return record


def join_methods(records: Mapping[str, Record], original: str, debiased: str, folder: Path) -> Record:
    """Write the records of several methods on the same items as one record, in which each method is a phase.

    Args:
        records: Record of each method, by name.
        original: Phase of the original model in every record. Its readings are taken from the first record.
        debiased: Phase of the debiased model in every record.
        folder: Folder of the joint record, which is replaced.
    """
    first, *_ = records.values()
    answers = first.provenance["answers"]
    joined = Record(
        folder,
        {**first.config, "model": {original: _model_of(first, original, "")}, "mend": None},
        first.command,
        "finished",
        provenance=first.provenance | {"answers": {original: answers[original]}, "stages": {}},
    )
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(first.folder / "items" / original, folder / "items" / original)
    for texts in (first.folder / "items").glob("*.texts.json"):
        shutil.copyfile(texts, folder / "items" / texts.name)
    for name, record in records.items():
        phases = {debiased: name, f"{debiased} less {original}": f"{name} less {original}"}
        phases |= {one: one for one in ("", original) if record is first}
        joined.readings += _renamed(record.readings, phases)
        joined.comparisons += _renamed(record.comparisons, phases)
        joined.not_run += _renamed(record.not_run, phases)
        joined.add_notes(_renamed(record.notes, phases))
        joined.config["model"][name] = _model_of(record, debiased, f" with the rule {name}")
        joined.provenance["answers"][name] = record.provenance["answers"][debiased]
        shutil.copytree(record.folder / "items" / debiased, folder / "items" / name)
    return joined


def _renamed(entries: Sequence[Entry], phases: Mapping[str, str]) -> list[Entry]:
    """Return the entries of the listed phases, with the new names of the phases."""
    return [replace(one, phase=phases[one.phase]) for one in entries if one.phase in phases]


def _model_of(record: Record, phase: str, rule: str) -> str:
    """Return the name of the model of a phase. If a rule was fitted, the record names only the model without it."""
    named = record.config["model"]
    return str(named[phase]) if isinstance(named, Mapping) else f"{named}{rule}"


def remove_weights(runs: Sequence[Path]) -> None:
    """Remove the models of runs, and keep the records."""
    for run in runs:
        for part in (MODEL, "checkpoints"):
            shutil.rmtree(run / part, ignore_errors=True)


def export_trained(run_folder: Path, proof: Record, phases: Mapping[str, str], folder: Path) -> None:
    """Copy the model of a run, with a card that contains the readings before and after debiasing.

    ``phases`` has ``before`` or ``after`` for each phase of ``proof``, the record of the readings for confirmation.
    """
    run = Record.load(run_folder)
    run.readings = [replace(one, phase=phases[one.phase]) for one in proof.readings]
    backbone = run.config["backbone"]
    where = {key: backbone.get(key) for key in ("revision", "package", "gguf")}
    card = model_card(run, licence_in(find_weights(backbone["name"], **where)))
    with folder_replaced_when_written(folder / MODEL) as temporary:
        shutil.copytree(run_folder / MODEL, temporary, dirs_exist_ok=True)
        (temporary / "README.md").write_text(card, encoding="utf-8")
