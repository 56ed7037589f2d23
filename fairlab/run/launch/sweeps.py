"""Execution of a sweep: finished runs are not repeated, and a failed run does not stop the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairlab.checks.escapes import print_escaped
from fairlab.reporting.many_runs.sweep import report_sweep
from fairlab.reporting.tables.folder_tables import write_tables
from fairlab.reporting.tables.grouping import choices_of
from fairlab.reporting.tables.runs import read_runs
from fairlab.reporting.tables.validation import chosen_by_validation
from fairlab.run.folders import is_finished, refuse_other_run_of_sweep, write_sweep_state
from fairlab.run.job import lock_folder
from fairlab.run.launch.jobs import Job, own_threads, run_jobs


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep: the sweeper's overrides, the composed configuration as plain containers, and the job."""

    overrides: tuple[str, ...]
    config: dict[str, Any]
    job: Job


def launch(
    runs: Sequence[SweepRun], sweep: Path, overrides: Sequence[str], *, over: str, threads: int | None, **settings: Any
) -> dict[Path, str]:
    """Run the jobs without a finished record, write the sweep's report, and return why runs failed, by their folders.

    The overrides of the command line identify the sweep when it is resumed. ``threads`` is the ``OMP_NUM_THREADS`` of
    each job, or None to keep the value of the environment; ``over`` and ``settings`` are those of
    :func:`fairlab.run.launch.jobs.run_jobs`.

    Raises:
        FairlabError: A folder contains another run, another process runs this sweep, or a package is missing.
        KeyboardInterrupt: The sweep was interrupted. Its runs were asked to save a checkpoint.
    """
    for run in runs:
        refuse_other_run_of_sweep(run.job.folder, run.config)
        run.job.environment.update(own_threads(threads))
    unfinished = {run.job.folder.name: run for run in runs if not is_finished(run.job.place)}
    common = set(runs[0].overrides).intersection(*(run.overrides for run in runs))
    (sweep / "logs").mkdir(parents=True, exist_ok=True)
    lock = lock_folder(sweep)
    failed: dict[Path, str] = {}
    try:
        jobs = {name: run.job for name, run in unfinished.items()}
        alone: dict[str, Sequence[str]] = dict.fromkeys(jobs, ())
        done = run_jobs(alone, jobs.__getitem__, over=over, logs=sweep, array=list(jobs.values()), **settings)
        write_sweep_state(sweep, overrides, "running")
        print_escaped(f"{sweep}: {len(runs)} runs, {len(runs) - len(unfinished)} of them already finished")
        for count, (name, sentence) in enumerate(done, start=1):
            own = " ".join(one for one in unfinished[name].overrides if one not in common)
            said = f"failed: {sentence}" if sentence else "finished"
            print_escaped(f"{count}/{len(unfinished)} run {name} {own}: {said}")
            failed |= {unfinished[name].job.folder: sentence} if sentence else {}
    finally:
        lock.release()
    status = "running" if failed else "finished"
    write_sweep_state(sweep, overrides, status)
    report_sweep(sweep)
    records = read_runs(sweep)
    write_tables(records, sweep)
    write_sweep_state(sweep, overrides, status, [asdict(one) for one in chosen_by_validation(choices_of(records, []))])
    return failed
