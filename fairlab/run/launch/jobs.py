"""Commands run as separate processes, on this machine, by submitit or by Ray.

The failure of one command does not stop the others.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import Any

from filelock import FileLock

from fairlab.checks.redaction import without_secrets
from fairlab.files import check_folder, holds_run, write_whole
from fairlab.run.command_line import cli
from fairlab.run.folders import is_finished
from fairlab.run.launch.ordering import in_order
from fairlab.types import FairlabError, missing_extra

_running: set[subprocess.Popen[bytes]] = set()
_stopping = threading.Event()
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Job:
    """Command that writes a record to a folder.

    Attributes:
        folder: Folder of the record.
        command: Command to run, without ``ckpt``.
        takes_ckpt: Whether the command needs ``ckpt=FOLDER`` to resume an unfinished run; if not, it resumes
            automatically.
        cwd: Working directory of the command.
        environment: Additional environment variables of the command.
    """

    folder: Path
    command: list[str]
    takes_ckpt: bool
    cwd: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> Path:
        """Return the folder of the run, resolved against its working directory."""
        return self.cwd / self.folder

    @property
    def log(self) -> Path:
        """Return the path of the file with the output of all attempts."""
        return self.place.parent / "logs" / f"{self.folder.name}.txt"

    def __call__(self, **environment: str) -> str:
        """Run the command or resume an earlier attempt, and return the reason for a failure or an empty string."""
        self.place.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(exist_ok=True)
        for folder in (self.place, self.log.parent):
            check_folder(folder)
        with FileLock(self.place / ".lock"):
            pass
        if is_finished(self.place):
            return ""
        resumed = self.takes_ckpt and holds_run(self.place)
        command = [*self.command, *([f"ckpt={self.folder}"] if resumed else [])]
        env = {name: value for name, value in os.environ.items() if name != cli.FULL_ERROR}
        env |= self.environment | environment
        with self.log.open("ab") as log:
            process = subprocess.Popen(command, cwd=self.cwd, env=env, stdout=log, stderr=log)
            _running.add(process)
            try:
                code = process.wait()
            finally:
                process.terminate()  # stop the child if we were interrupted (no-op if it has exited)
                process.wait()
                _running.discard(process)
        printed = without_secrets(self.log.read_text(encoding="utf-8", errors="replace"))
        write_whole(self.log, printed)
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        last = printed.strip().splitlines()[-1:] or [f"exit code {code}"]
        return last[0].removeprefix("fairlab: ") if code else ""

    def checkpoint(self) -> Any:
        """Checkpoint and requeue the run.

        The package submitit calls this on preemption and before the time limit.
        """
        from submitit.helpers import DelayedSubmission

        stop_runs()
        for process in list(_running):  # no wait(): this may be a signal handler that interrupted wait()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return DelayedSubmission(self)


# function that runs a job and returns why it failed; maximum number in parallel
Runner = tuple[Callable[[Job], str], int | None]


def run_jobs(
    needs: Mapping[str, Sequence[str]],
    make: Callable[[str], Job],
    *,
    over: str,
    logs: Path,
    array: Sequence[Job] = (),
    after: Mapping[str, Sequence[str]] = MappingProxyType({}),
    **settings: Any,
) -> Iterator[tuple[str, str]]:
    """Run each job as soon as the jobs it depends on are done.

    If Ctrl-C or SIGTERM interrupts the jobs, the iterator raises KeyboardInterrupt at its end.

    Args:
        needs: Names of the required jobs, by job name.
        make: Function that creates the job for a name when it is due; the text of a FairlabError that it raises is
            the reason for failure.
        over: Runner of the jobs: ``here``, ``submitit`` or ``ray``.
        logs: Folder for submitit's files.
        array: Jobs without requirements, which are submitted to Slurm as one array.
        after: Names of jobs that must end first, even if they fail, by job name.
        settings: Settings of ``over``; see conf/launcher.

    Returns:
        Iterator over the names of jobs as they end, each with the reason for its failure or an empty string.

    Raises:
        FairlabError: A setting is wrong, or a package is missing.
    """
    try:
        run, at_once = RUNNERS[over](array, logs, **settings)
    except ImportError as error:
        raise missing_extra({"submitit": "slurm"}.get(over, over), "this launcher") from error

    def one(name: str) -> str:
        if _stopping.is_set():
            return INTERRUPTED
        try:
            job = make(name)
        except FairlabError as error:
            return str(error)
        sentence = run(job)
        return "" if is_finished(job.place) else sentence or "it did not write a finished record"

    return _unless_interrupted(in_order(needs, after, one, at_once))


def _unless_interrupted(done: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    with stopped_by_signals():
        yield from done
    if _stopping.is_set():
        raise KeyboardInterrupt


def own_threads(threads: int | None) -> dict[str, str]:
    """Return the environment variable that sets a job's number of threads.

    If there is no number, no variable is returned.
    """
    return {"OMP_NUM_THREADS": str(threads)} if threads else {}


def stop_runs() -> None:
    """Send SIGTERM to the runs of this process, and start no further runs.

    The runs then save a checkpoint and end.
    """
    _stopping.set()
    for process in list(_running):
        process.terminate()


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Stop the runs of this process on Ctrl-C or SIGTERM."""
    _stopping.clear()
    earlier = {number: signal.signal(number, lambda *_: stop_runs()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def run_here(array: Sequence[Job], logs: Path, *, n_jobs: int, gpus: Sequence[int] | None) -> Runner:
    """Return a runner on this machine for ``n_jobs`` jobs at a time or, with ``gpus``, one job per GPU."""
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
    array: Sequence[Job], logs: Path, *, cluster: str, n_jobs: int | None, parameters: dict[str, Any]
) -> Runner:
    """Return a runner that uses submitit on this machine or on Slurm; on Slurm, ``array`` is submitted as one array."""
    import submitit

    try:
        executor = submitit.AutoExecutor(logs / "submitit", cluster=cluster)
        executor.update_parameters(**parameters)
    except (RuntimeError, ValueError, NameError, TypeError) as error:
        raise FairlabError(f"launcher=submitit_{cluster}: {error}") from error
    queued: dict[Path, Any] = {}
    if cluster != "local" and array:
        with executor.batch():
            queued = {job.folder: executor.submit(job) for job in array}

    def run(job: Job) -> str:
        one = queued.get(job.folder) or executor.submit(job)
        while not one.done():
            if _stopping.wait(1):
                one.cancel()
                return INTERRUPTED
        error = one.exception()
        return str(one.result()) if error is None else str(error).strip().splitlines()[-1]

    return run, n_jobs


def run_by_ray(array: Sequence[Job], logs: Path, *, init: dict[str, Any], task: dict[str, Any]) -> Runner:
    """Return a runner that runs each job as a Ray task."""
    import ray

    if not ray.is_initialized():
        ray.init(**init)
    remote = ray.remote(**task)(Job.__call__)

    def run(job: Job) -> str:
        reference = remote.remote(job)
        while not ray.wait([reference], timeout=1)[0]:
            if _stopping.is_set():
                ray.cancel(reference)
                return INTERRUPTED
        try:
            return str(ray.get(reference))
        except ray.exceptions.RayError as error:
            return str(error).strip().splitlines()[-1]

    return run, None


RUNNERS: dict[str, Callable[..., Runner]] = {"here": run_here, "submitit": run_by_submitit, "ray": run_by_ray}
