"""Execution of one run of an entry point: its folder, its record and its final status."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from fairlab.benchmarks.inputs import READ_BY, changed_file, refuse_changed_files
from fairlab.benchmarks.stages import LOADING, stages_of
from fairlab.checks.redaction import without_secrets
from fairlab.distributed import rank
from fairlab.files import (
    check_folder,
    holds_run,
    no_space_is_one_sentence,
    read_bounded,
    remove_unfinished,
    write_whole,
)
from fairlab.record import Record
from fairlab.run.command_line import cli
from fairlab.run.command_line.pipes import nobody_reads
from fairlab.run.config.build import as_config
from fairlab.run.config.schema import refuse_misfits, refuse_missing
from fairlab.run.folders import made_nothing, plain_config, refuse_changed_config, refuse_other_augmentation
from fairlab.run.launch.processes import count_of, refuse_other_count, run_in_processes
from fairlab.text.pipeline import parsing_with
from fairlab.types import FairlabError, NotPushed, ReviewNeeded


def job(entry: str, config: DictConfig, announce: Callable[[DictConfig], None] | None = None) -> None:
    """Run the work of an entry point, and record the final status in any case.

    ``announce`` prints a summary of the run before the values are checked, because the check imports torch, which takes
    seconds.
    """
    from fairlab.reporting.summary import print_summary

    folder = Path(HydraConfig.get().runtime.output_dir)
    lock = lock_folder(folder)
    try:
        record = open_record(entry, config, folder)
        with accounted(record):
            refuse_missing(config)
            if announce is not None:
                announce(config)
            refuse_misfits(entry, config)
            do_work(entry, config, record)
    finally:
        lock.release()
    print_summary(record)


@contextmanager
def accounted(record: Record) -> Iterator[None]:
    """Save the final status and the duration in the record, whether or not the body succeeds."""
    started, busy = time.perf_counter(), processor_seconds()
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as error:  # Lightning turns Ctrl-C into SystemExit
        record.status = "interrupted"
        record.reason = "Ctrl-C" if type(error) in (KeyboardInterrupt, SystemExit) else "SIGTERM"
        raise KeyboardInterrupt from error
    except ReviewNeeded as error:
        record.status, record.reason = "interrupted", str(error)
        raise
    except NotPushed:  # the work itself is finished
        raise
    except BrokenPipeError as error:
        unread = nobody_reads()
        record.status = "interrupted" if unread else "failed"
        record.reason = "nobody read its output" if unread else f"{type(error).__name__}: {error}"
        raise
    except Exception as error:
        record.status, record.reason = "failed", cli.explain(error) or f"{type(error).__name__}: {error}"
        raise
    finally:
        taken = {"wall_seconds": time.perf_counter() - started, "processor_seconds": processor_seconds() - busy}
        for name, seconds in taken.items():  # times of an earlier attempt are already in the record
            record.provenance[name] = round(record.provenance.get(name, 0.0) + seconds, 1)
        record.save()


def processor_seconds() -> float:
    """Return the CPU seconds used by this process and by its child processes that have ended."""
    return sum(os.times()[:4])


def work_of(entry: str) -> Callable[[DictConfig, Record], None]:
    """Return the function ``work`` of an entry point, which sets the record's status to ``finished`` at its end."""
    work: Callable[[DictConfig, Record], None] = import_module(f"fairlab.{entry}").work
    return work


def do_work(entry: str, config: DictConfig, record: Record) -> None:
    """Run an entry point's work in the configured number of processes, and update ``record`` with rank 0's results."""
    count = process_count(config)
    refuse_other_count(count)
    with parsing_with(config.get("spacy")):
        if count == 1:
            with no_space_is_one_sentence(record.folder):
                work_of(entry)(config, record)
            return
        try:
            run_in_processes(count, do_share, entry, record.config, record.folder)
        finally:
            vars(record).update(vars(Record.load(record.folder)))


def process_count(config: DictConfig) -> int:
    """Return the number of processes of a run, from the trainer's configuration or from ``processes``."""
    if config.get("trainer") and config.get("backbone"):
        return count_of(config.trainer)
    return 1 if config.get("dataset") else int(config.get("processes", 1))


def do_share(entry: str, config: dict[str, Any], folder: Path) -> None:
    """Do the work of one process: rank 0 writes to the run folder, and other ranks write to a temporary folder.

    Raises:
        FairlabError: Any error that the user can fix.
    """
    hydra = GlobalHydra.instance().is_initialized()
    with (
        nullcontext() if hydra else cli.initialised(),
        nullcontext(folder) if rank() == 0 else temporary_copy(folder) as own,
    ):
        record = replace(Record.load(folder), folder=own)
        try:
            with no_space_is_one_sentence(own):
                work_of(entry)(as_config(config), record)
        except Exception as error:
            if sentence := cli.explain(error):
                raise FairlabError(sentence) from error
            raise
        finally:
            record.save()


@contextmanager
def temporary_copy(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder with a copy of a run's item files and a link to the run's checkpoints."""
    with tempfile.TemporaryDirectory() as place:
        own = Path(place)
        if (folder / "items").is_dir():
            shutil.copytree(folder / "items", own / "items")
        (own / "checkpoints").symlink_to(folder.resolve() / "checkpoints")
        yield own


def lock_folder(folder: Path, other: str = "another hydra.run.dir") -> FileLock:
    """Lock a run folder for this process, and remove partial files of a killed process.

    The lock is released when the process ends for any reason.

    Raises:
        FairlabError: Another process holds the lock, or a link in the folder leads out of it.
    """
    check_folder(folder)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise FairlabError(f"another process is running in {folder}; wait for it or choose {other}") from error
    remove_unfinished(folder)
    return lock


def open_record(entry: str, config: DictConfig, folder: Path) -> Record:
    """Return a new record, or the record of the resumed run with its readings so far.

    An entry point without the key ``ckpt`` resumes if the folder contains an earlier run that wrote data.
    """
    by_key = "ckpt" in config
    plain = plain_config(config)
    found = Record.load(folder) if holds_run(folder) else None
    if by_key and config.ckpt is not None:
        refuse_changed_config(folder, plain)
    if found and (config.ckpt is not None if by_key else not made_nothing(found)):
        if not by_key:
            refuse_other_augmentation(found, plain)
        record = found
        record.status, record.reason = "running", ""
    elif found and has_results(found):
        raise FairlabError(
            f"{folder} already holds a run; choose another hydra.run.dir, or continue it with ckpt={folder}"
        )
    else:
        record = Record(folder, config=plain, command=command_line(entry))
    record.save()
    for file in (folder / ".hydra").glob("*.yaml"):  # Hydra's copies of the configuration
        write_whole(file, without_secrets(read_bounded(file)))
    return record


def has_results(record: Record) -> bool:
    """Return whether a run has results.

    Only a run that failed while loading has no results. It may be overwritten.
    """
    done = record.readings or record.history or stages_of(record).keys() - {LOADING}
    return record.status != "failed" or bool(done)


def command_line(entry: str) -> str:
    """Return the command of this run, as a user would type it."""
    hydra = HydraConfig.get()  # processes started by Hydra's launchers have a different command line
    given = sys.argv[1:] if hydra.mode == RunMode.RUN else hydra.overrides.task
    return shlex.join(["python", "-m", f"fairlab.{entry}", *given])


def refuse_changed_inputs(record: Record, inputs: dict[str, dict[str, object]]) -> None:
    """Raise an error if the data, the weights or the benchmark files of a resumed run have changed since it started."""
    instead = "put the old file back, or start a new run"
    for name, now in inputs.items():
        kept = record.provenance.get(name)
        if kept and (changed := changed_file(kept, now)) is not None:
            what = f"{changed} next to the {name}" if changed else f"the {name}"
            raise FairlabError(f"{what} of the run in {record.folder} changed since it started; {instead}")
    refuse_changed_files(record, record.provenance.get(READ_BY, {}), instead)
