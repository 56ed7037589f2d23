"""The runs of a sweep, each a process of its own: what is finished is not run again, what failed stops no other."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from filelock import FileLock

from fairlab.files import write_whole
from fairlab.record import without_secrets
from fairlab.reporting.sweep import report_sweep
from fairlab.results.folder_tables import write_tables
from fairlab.results.runs import read_runs
from fairlab.run import cli
from fairlab.run.folders import is_finished, refuse_other_run_of_sweep, write_sweep_state
from fairlab.run.job import lock_folder
from fairlab.types import FairlabError, missing_extra

_running: set[subprocess.Popen[bytes]] = set()
_stopping = threading.Event()


@dataclass(frozen=True)
class Job:
    """One run of a sweep.

    Attributes:
        overrides, folder: of the run.
        command: that does it; without ``ckpt``.
        config: composed, as plain containers.
        cwd: where the command is run.
        environment: variables in addition to those that are there.
    """

    overrides: tuple[str, ...]
    folder: Path
    command: list[str]
    config: dict[str, Any]
    cwd: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> Path:
        """The folder from wherever the run is started."""
        return self.cwd / self.folder

    @property
    def log(self) -> Path:
        """What the run printed, in all its attempts."""
        return self.place.parent / "logs" / f"{self.folder.name}.txt"

    def __call__(self, **environment: str) -> str:
        """Do the run, or go on with it, after what an earlier attempt left behind; empty, or why it failed."""
        self.place.mkdir(parents=True, exist_ok=True)
        with FileLock(self.place / ".lock"):
            pass
        if is_finished(self.place):
            return ""
        resumed = "ckpt" in self.config and (self.place / "record.json").is_file()
        command = [*self.command, *([f"ckpt={self.folder}"] if resumed else [])]
        env = {name: value for name, value in os.environ.items() if name != cli.FULL_ERROR}
        env |= self.environment | environment
        with self.log.open("ab") as log:
            process = subprocess.Popen(command, cwd=self.cwd, env=env, stdout=log, stderr=log)
            _running.add(process)
            try:
                code = process.wait()
            finally:
                process.terminate()  # where this process is told to end; else it has ended
                process.wait()
                _running.discard(process)
        printed = without_secrets(self.log.read_text(encoding="utf-8", errors="replace"))
        write_whole(self.log, printed)
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        last = printed.strip().splitlines()[-1:] or [f"exit code {code}"]
        return last[0].removeprefix("fairlab: ") if code else ""

    def checkpoint(self) -> Any:
        """Called by submitit on preemption and before the time limit: take a checkpoint, and be queued again."""
        from submitit.helpers import DelayedSubmission

        stop_runs()
        for process in list(_running):  # not wait(): this may be a signal's handler within it
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return DelayedSubmission(self)


Runner = tuple[Callable[[Job], str], int]  # what runs a job and gives why it failed, and how many jobs at a time


def launch(
    jobs: Sequence[Job], sweep: Path, overrides: Sequence[str], *, over: str, threads: int | None, **settings: Any
) -> dict[Path, str]:
    """Run the jobs that have no finished record, and write the sweep's report.

    Args:
        jobs: of the sweep.
        sweep: its folder.
        overrides: of the command line, by which the sweep is found again.
        over: what runs the jobs: ``here``, ``submitit`` or ``ray``.
        threads: ``OMP_NUM_THREADS`` of each job; None leaves the environment's.
        settings: of ``over``; see conf/launcher.

    Returns:
        Why each job that failed did, by its folder.

    Raises:
        FairlabError: a folder holds another run, another process runs this sweep, or a package is missing.
        KeyboardInterrupt: the sweep was interrupted; the runs were told to take a checkpoint.
    """
    for job in jobs:
        refuse_other_run_of_sweep(job.folder, job.config)
        job.environment.update({"OMP_NUM_THREADS": str(threads)} if threads else {})
    open_jobs = [job for job in jobs if not is_finished(job.place)]
    common = set(jobs[0].overrides).intersection(*(job.overrides for job in jobs))
    (sweep / "logs").mkdir(parents=True, exist_ok=True)
    lock = lock_folder(sweep)
    failed: dict[Path, str] = {}
    try:
        run, at_once = RUNNERS[over](open_jobs, sweep, **settings)
        write_sweep_state(sweep, overrides, "running")
        print(f"{sweep}: {len(jobs)} runs, {len(jobs) - len(open_jobs)} of them finished before")
        with stopped_by_signals():
            for count, (job, sentence) in enumerate(done_by(run, open_jobs, at_once), start=1):
                name = " ".join(one for one in job.overrides if one not in common)
                said = f"failed: {sentence}" if sentence else "finished"
                print(f"{count}/{len(open_jobs)} run {job.folder.name} {name}: {said}", flush=True)
                failed |= {job.folder: sentence} if sentence else {}
    except ImportError as error:
        name = {"submitit": "slurm"}.get(over, over)
        raise missing_extra(name, "this launcher") from error
    finally:
        lock.release()
    if _stopping.is_set():
        raise KeyboardInterrupt
    write_sweep_state(sweep, overrides, "running" if failed else "finished")
    report_sweep(sweep)
    write_tables(read_runs(sweep), sweep)
    return failed


def done_by(run: Callable[[Job], str], jobs: Sequence[Job], at_once: int) -> Iterator[tuple[Job, str]]:
    """The jobs as they end, each with why it failed or nothing."""
    from joblib import Parallel, delayed

    def one(job: Job) -> tuple[Job, str]:
        sentence = "interrupted" if _stopping.is_set() else run(job)
        return job, "" if is_finished(job.place) else sentence or "it left no finished record"

    # Threads, as each only waits for a process: one that dies takes no other along.
    parallel = Parallel(n_jobs=at_once, backend="threading", return_as="generator_unordered")
    yield from parallel(delayed(one)(job) for job in jobs)


def stop_runs() -> None:
    """Tell this process's runs to take a checkpoint and end, and begin no other."""
    _stopping.set()
    for process in list(_running):
        process.terminate()


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Hand Ctrl-C and SIGTERM on to the runs as a request to stop."""
    _stopping.clear()
    earlier = {number: signal.signal(number, lambda *_: stop_runs()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def run_here(jobs: Sequence[Job], sweep: Path, *, n_jobs: int, gpus: Sequence[int] | None) -> Runner:
    """One or several at a time on this machine; with ``gpus``, each alone on one of them."""
    if not gpus:
        return Job.__call__, n_jobs
    free: SimpleQueue[int] = SimpleQueue()
    for number in gpus:
        free.put(number)

    def on_a_gpu(job: Job) -> str:
        number = free.get()
        try:
            return job(CUDA_VISIBLE_DEVICES=str(number))
        finally:
            free.put(number)

    return on_a_gpu, len(gpus)


def run_by_submitit(
    jobs: Sequence[Job], sweep: Path, *, cluster: str, n_jobs: int | None, parameters: dict[str, Any]
) -> Runner:
    """As submitit's jobs, on this machine or as one array of Slurm."""
    import submitit

    try:
        executor = submitit.AutoExecutor(sweep / "submitit", cluster=cluster)
        executor.update_parameters(**parameters)
    except (RuntimeError, ValueError, NameError, TypeError) as error:
        raise FairlabError(f"launcher=submitit_{cluster}: {error}") from error
    array: dict[Path, Any] = {}
    if cluster != "local" and jobs:
        with executor.batch():
            array = {job.folder: executor.submit(job) for job in jobs}

    def run(job: Job) -> str:
        one = array.get(job.folder) or executor.submit(job)
        while not one.done():
            if _stopping.wait(1):
                one.cancel()
                return "interrupted"
        error = one.exception()
        return str(one.result()) if error is None else str(error).strip().splitlines()[-1]

    return run, len(jobs) or 1 if n_jobs is None else n_jobs


def run_by_ray(jobs: Sequence[Job], sweep: Path, *, init: dict[str, Any], task: dict[str, Any]) -> Runner:
    """As tasks of Ray."""
    import ray

    if not ray.is_initialized():
        ray.init(**init)
    remote = ray.remote(**task)(Job.__call__)

    def run(job: Job) -> str:
        reference = remote.remote(job)
        while not ray.wait([reference], timeout=1)[0]:
            if _stopping.is_set():
                ray.cancel(reference)
                return "interrupted"
        try:
            return str(ray.get(reference))
        except ray.exceptions.RayError as error:
            return str(error).strip().splitlines()[-1]

    return run, len(jobs) or 1


RUNNERS: dict[str, Callable[..., Runner]] = {"here": run_here, "submitit": run_by_submitit, "ray": run_by_ray}
