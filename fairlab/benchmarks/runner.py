"""Execution of benchmarks on models or data; results are stored in the record and are not measured again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlab.benchmarks.generations import keeping_generations
from fairlab.benchmarks.inputs import READ_BY, changed_file, facts_of, refuse_changed_files
from fairlab.benchmarks.kept_items import draws_file, items_are_intact, items_file, keep_texts
from fairlab.benchmarks.needs import LABELS, why_not_measured
from fairlab.benchmarks.stages import Stage, keep_stage, timed
from fairlab.benchmarks.versions import definition
from fairlab.checks.foreign import read_tensors
from fairlab.checks.progress import steps
from fairlab.distributed import gather_over_ranks, rank, ranks
from fairlab.files import holds_run, save_arrays
from fairlab.protocols import Benchmark, DataBenchmark
from fairlab.record import Comparison, Note, NotRun, Outcome, Record
from fairlab.text.fingerprints import Fingerprints
from fairlab.types import CannotScore, DataUnavailable, FairlabError

if TYPE_CHECKING:
    from fairlab.backbones.backbone import Backbone
    from fairlab.benchmarks.validity import Validity

EVERYTHING = "all"


def measure(
    benchmarks: Sequence[Benchmark],
    backbone: Backbone,
    phase: str,
    record: Record,
    *,
    earlier: str | None = None,
    change: str = "change",
    trained_on: Fingerprints | None = None,
) -> None:
    """Run every benchmark that the record does not yet contain for this model, and compare with an earlier model.

    A model that fails a check of :mod:`fairlab.benchmarks.validity` is not measured, or its results get a warning that
    they do not show bias.

    Args:
        benchmarks: Benchmarks to run.
        backbone: Model to measure.
        phase: Label under which the readings are stored: ``before``, ``after``, or a model's name; empty for the only
            model.
        record: The run's record, which receives readings, comparisons, notes and benchmarks that were not run; per-item
            values are written to files in its folder.
        earlier: Phase of the model to compare with, measured earlier in the same run; None disables the comparison.
        change: Label under which the comparisons are stored.
        trained_on: Hashes of the texts that the model was trained on, to detect benchmarks that use them; None if
            unknown.
    """
    tasks: dict[str, Callable[[], Outcome]] = {}
    _forget_other_versions(benchmarks, phase, record)
    found = gate(backbone, phase, record)
    for benchmark in benchmarks:
        other = None if earlier is None else items_file(record.folder, earlier, benchmark.name)
        lacking = why_not_measured(benchmark, backbone)
        if phase == "before" and LABELS in benchmark.description.needs:
            lacking = ""  # training adds the head; the benchmark reads its data first, so bad data is reported now
        tasks[benchmark.name] = partial(_run_with_earlier, benchmark, backbone, other, found, trained_on, lacking)
    with _remembering(backbone), keeping_generations(record.folder, phase):
        _keep(tasks, {benchmark.name: benchmark for benchmark in benchmarks}, phase, record, change)
    for benchmark in benchmarks:
        keep_texts(benchmark, record.folder)
    record.comparisons = adjusted(record.comparisons, change)
    record.save()


def measure_models(
    benchmarks: Sequence[Benchmark],
    models: Iterable[tuple[str, Backbone]],
    record: Record,
    trained_on: Mapping[str, Fingerprints | None] | None = None,
) -> None:
    """Run every benchmark on every model, and compare the later models with the first.

    Args:
        benchmarks: Benchmarks to run.
        models: Labels and models, provided one at a time; a single model has an empty label.
        record: The run's record, as in :func:`measure`.
        trained_on: Hashes of the texts that each model was trained on, by label, if known.
    """
    first: str | None = None
    seen: dict[str, str] = {}
    known = trained_on or {}
    for label, backbone in models:
        if (twin := seen.setdefault(backbone.digest(), label)) != label:
            text = f"{label} and {twin} have the same weights, so any difference can only come from their settings"
            record.add_notes([Note("weights", text)])
        if first is None:
            first = label
            measure(benchmarks, backbone, label, record, trained_on=known.get(label))
        else:
            change = f"{label} less {first}"
            measure(benchmarks, backbone, label, record, earlier=first, change=change, trained_on=known.get(label))


def take(phase: str, folder: Path, record: Record, versions: Mapping[str, int]) -> None:
    """Copy the readings of a phase from another run with the same model and the same benchmarks.

    Args:
        phase: Label of the readings to copy: ``before``.
        folder: Folder of the other run.
        record: The run's record, which receives the other run's readings, notes and benchmarks that were not run;
            per-item values are copied to its folder.
        versions: Version of each benchmark of the run, by name.

    Raises:
        FairlabError: The run does not exist, it is not finished, or its model, benchmarks or their versions differ.
    """
    if f"{phase}_taken_from" in record.provenance:  # a resumed run
        return
    items = items_file(folder, phase, "").parent
    if not holds_run(folder) or not items.is_dir():
        raise FairlabError(f"{phase}={folder} holds no run with its items; give the folder of such a run")
    other = Record.load(folder)
    if other.status != "finished":
        raise FairlabError(f"{phase}={folder} is {other.status}; finish it first, or leave {phase} out")
    for part in ("backbone", "benchmark"):
        if other.config.get(part) != record.config[part]:
            raise FairlabError(f"{phase}={folder} has a different {part}; leave {phase} out to measure it again")
    for reading in other.readings:
        present = versions.get(reading.benchmark, definition(reading))
        if reading.phase == phase and definition(reading) != present:
            raise FairlabError(
                f"{phase}={folder} measured {reading.benchmark} with version {definition(reading)} of its definition, "
                f"but this run uses {present}; leave {phase} out to measure it again"
            )
    changed = changed_file(other.provenance["weights"], record.provenance["weights"])
    if changed is not None:
        what = f"a model with a different {changed}" if changed else "other weights"
        raise FairlabError(f"{phase}={folder} measured {what}; leave {phase} out to measure these")
    measured = {reading.benchmark for reading in other.readings if reading.phase == phase}
    refuse_changed_files(other, sorted(measured), f"leave {phase} out to measure again")
    shutil.copytree(items, items_file(record.folder, phase, "").parent, dirs_exist_ok=True)
    seed = record.config["seed"]
    record.readings += [replace(reading, seed=seed) for reading in other.readings if reading.phase == phase]
    record.not_run += [entry for entry in other.not_run if entry.phase == phase]
    record.notes += [note for note in other.notes if note.phase == phase or note.item]
    kept = other.provenance.get(READ_BY, {})
    record.provenance.setdefault(READ_BY, {}).update({name: kept[name] for name in measured if name in kept})
    record.provenance[f"{phase}_taken_from"] = {"folder": str(folder), "revision": other.provenance["revision"]}
    record.save()


def measure_data(
    benchmark: DataBenchmark,
    dataset: str,
    field: Any,
    embed: Callable[[Sequence[str]], Any] | None,
    phase: str,
    record: Record,
) -> None:
    """Run a benchmark that measures data, unless the record already contains it for this dataset.

    Args:
        benchmark: Benchmark to run.
        dataset: File, folder or name of a dataset that the benchmark can read.
        field: Name of the column with the texts, or several names.
        embed: Function from texts to vectors; None if the benchmark does not need it.
        phase: Label of the dataset; empty if only one dataset is measured.
        record: The run's record, which receives readings, notes and benchmarks that were not run; per-item values are
            written to files in its folder.
    """

    def measuring() -> Outcome:
        return _set_version(benchmark.measure_data(dataset, field, embed, record.folder), benchmark)

    _keep({benchmark.name: measuring}, {benchmark.name: benchmark}, phase, record)
    keep_texts(benchmark, record.folder)


def gate(backbone: object, phase: str, record: Record) -> Validity:
    """Check a model once, and store the result in the record's provenance.

    The scores of an ensemble always pass, because they have no weights and no tokenizer to check. If the configuration
    of the record is ``strict``, a model that fails is refused.

    Raises:
        FairlabError: The model fails, and the run is strict.
    """
    from fairlab.backbones.backbone import Backbone
    from fairlab.backbones.model_object import ModelObject
    from fairlab.benchmarks.validity import Validity, refuse_failed, validity

    if not isinstance(backbone, Backbone | ModelObject):
        return Validity()
    kept = record.provenance.setdefault("validity", {})
    if phase not in kept:
        kept[phase] = asdict(validity(backbone))
    found = Validity.of(kept[phase])
    if record.config.get("strict"):
        refuse_failed(found, phase or "the model")
    return found


def _remembering(backbone: object) -> AbstractContextManager[None]:
    """Return a context in which embeddings are cached, so that later benchmarks reuse them."""
    from fairlab.backbones.backbone import Backbone

    return backbone.remembering() if isinstance(backbone, Backbone) else nullcontext()


def _run_with_earlier(
    benchmark: Benchmark,
    backbone: Backbone,
    other: Path | None,
    validity: Validity,
    trained_on: Fingerprints | None,
    lacking: str,
) -> Outcome:
    """Run a benchmark, and pass it the items of the earlier model if there are any.

    Notes are added on texts that were truncated or used for training, and on the checks of the model. An ensemble has
    no note on training texts, because its texts are scored by models that saw no version of them.

    Raises:
        CannotScore: The model lacks an ability that the benchmark needs, or all of its results would be meaningless.
    """
    from fairlab.backbones.backbone import Backbone
    from fairlab.backbones.watching import watching
    from fairlab.benchmarks.overlap import overlap_notes
    from fairlab.benchmarks.readings import cut_notes

    if reason := lacking or validity.reason:
        raise CannotScore(reason)
    before = read_tensors(other) if other is not None and other.exists() else None
    if limit := _most_tokens(backbone):
        backbone.cut.clear()
    if trained_on is not None and isinstance(backbone, Backbone):
        shown = Fingerprints()
        with watching(backbone, shown.add):
            outcome = benchmark.measure(backbone, before)
        outcome.notes += overlap_notes(benchmark.name, shown, trained_on)
    else:
        outcome = benchmark.measure(backbone, before)
    if limit:
        outcome.notes += cut_notes(benchmark.name, len(backbone.cut), limit)
    if outcome.readings:
        outcome.notes += validity.notes(benchmark.name)
    return _set_version(outcome, benchmark)


def _most_tokens(backbone: object) -> int:
    """Return the number of tokens at which a model truncates texts, or 0 if it does not count truncated texts."""
    from fairlab.backbones.backbone import Backbone
    from fairlab.backbones.model_object import ModelObject

    if isinstance(backbone, Backbone):
        return backbone.max_length
    return backbone.limit.tokens if isinstance(backbone, ModelObject) and backbone.limit else 0


def _set_version(outcome: Outcome, benchmark: Benchmark | DataBenchmark) -> Outcome:
    """Write the version of the benchmark's definition into every reading."""
    outcome.readings = [replace(reading, version=benchmark.version) for reading in outcome.readings]
    return outcome


def _keep(
    tasks: Mapping[str, Callable[[], Outcome]],
    benchmarks: Mapping[str, Any],
    phase: str,
    record: Record,
    change: str = "change",
) -> None:
    """Add missing measurements to the record, and record benchmarks that cannot be run.

    The processes of a run divide the benchmarks among themselves. The result is the same as with a single process.
    """
    missing = [name for name in tasks if not _is_kept(name, phase, record)]
    blocks = {", ".join(missing[k : k + ranks()]): missing[k : k + ranks()] for k in range(0, len(missing), ranks())}
    for block in steps(list(blocks), phase) if rank() == 0 else blocks:
        names = blocks[block]
        own = names[rank()] if rank() < len(names) else None
        found = gather_over_ranks(None if own is None else _run_timed(benchmarks[own], tasks[own], record))
        for name, one in zip(names, found, strict=False):
            assert one is not None
            outcome, taken, facts = one
            record.provenance.setdefault(READ_BY, {})[name] = facts
            keep_stage(record, "/".join(filter(None, (phase, name))), taken)
            if isinstance(outcome, Exception):
                raise outcome
            file = items_file(record.folder, phase, name)
            add(outcome, phase, record, change)
            save_arrays(outcome.draws, draws_file(record.folder, phase, name))
            save_arrays(outcome.items, file)


def _forget_other_versions(benchmarks: Sequence[Benchmark], phase: str, record: Record) -> None:
    """Remove the items of benchmarks whose definition has changed since the measurement, so that they run again."""
    present = {benchmark.name: benchmark.version for benchmark in benchmarks}
    kept = [reading for reading in record.readings if reading.phase == phase and reading.benchmark in present]
    for name in {reading.benchmark for reading in kept if definition(reading) != present[reading.benchmark]}:
        items_file(record.folder, phase, name).unlink(missing_ok=True)


def _is_kept(name: str, phase: str, record: Record) -> bool:
    """Return whether a benchmark's per-item values exist and are intact, and note damaged values in the record."""
    file = items_file(record.folder, phase, name)
    if not file.exists():
        return False
    if not items_are_intact(file):
        text = f"items/{phase}/{file.name} was damaged, so it was measured again"
        record.notes.append(Note(name, text, phase=phase))
        return False
    return True


def _run_timed(
    benchmark: Any, measuring: Callable[[], Outcome], record: Record
) -> tuple[Outcome | Exception, Stage, dict[str, Any]]:
    """Run a benchmark, and return its outcome, its time and memory, and its inputs.

    An error is returned instead of the outcome, so that it can be sent to the other processes.
    """
    from fairlab.data.reads import noting_reads

    taken = Stage()
    outcome: Outcome | Exception
    try:
        with timed(taken), noting_reads() as read:
            outcome = measuring()
    except (CannotScore, DataUnavailable) as error:
        outcome = Outcome(not_run=[NotRun(benchmark.name, EVERYTHING, str(error))])
    except Exception as error:
        if ranks() == 1:
            raise
        outcome = error
    config = (record.config.get("benchmark") or {}).get(benchmark.name.split("@")[0])
    return outcome, taken, facts_of(benchmark, read, config)


def add(outcome: Outcome, phase: str, record: Record, change: str = "change") -> None:
    """Add an outcome to the record, and replace any results left by a killed run."""
    seed = record.config["seed"]
    readings = [replace(reading, phase=phase, seed=seed) for reading in outcome.readings]
    comparisons = [replace(comparison, phase=change) for comparison in outcome.comparisons]
    not_run = [replace(entry, phase=phase) for entry in outcome.not_run]
    notes = [replace(note, phase="" if note.item else phase) for note in outcome.notes]
    keys = {reading.key for reading in readings} | {comparison.key for comparison in comparisons}
    record.readings = [reading for reading in record.readings if reading.key not in keys] + readings
    record.comparisons = [entry for entry in record.comparisons if entry.key not in keys] + comparisons
    record.not_run = [entry for entry in record.not_run if entry not in not_run] + not_run
    record.notes = [note for note in record.notes if note not in notes] + notes
    record.save()


def adjusted(comparisons: Sequence[Comparison], change: str) -> list[Comparison]:
    """Return comparisons with Holm's adjustment over the headline comparisons of the phase ``change``."""
    from fairlab.metrics.significance import adjust_tested

    p_values = adjust_tested(
        {k: entry.p for k, entry in enumerate(comparisons) if entry.headline and entry.phase == change}
    )
    return [replace(entry, p_holm=p_values.get(k, entry.p_holm)) for k, entry in enumerate(comparisons)]
