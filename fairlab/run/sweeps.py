"""The runs of a sweep, each a process of its own: what is finished is not run again, what failed stops no other."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from filelock import FileLock
from omegaconf import DictConfig

from fairlab.files import write_whole
from fairlab.record import Record, without_secrets
from fairlab.run import cli
from fairlab.run.folders import SWEEP, changed_key, is_finished, plain_config, sweep_overrides
from fairlab.run.job import lock_folder
from fairlab.types import FairlabError

# Of the command of a sweep, what the command of one run does not repeat.
OF_SWEEP = re.compile(r"\+?(launcher|output)=|hydra[./](mode|launcher|sweep|sweeper|run)\b")
INSTALL = {"submitit": "slurm", "ray": "ray"}
_running: set[subprocess.Popen[bytes]] = set()
_stopping = threading.Event()


@dataclass(frozen=True)
class Job:
    """One run of a sweep.

    Attributes:
        overrides: of the run.
        folder: of the run.
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
        """What the run printed; of all its attempts."""
        return self.place.parent / "logs" / f"{self.folder.name}.txt"


def make_job(config: DictConfig, overrides: Sequence[str], sweep: Path) -> Job:
    """A job from its composed configuration and its overrides."""
    folder = sweep / str(config.hydra.sweep.subdir)
    given = [one for one in (*overrides, *config.hydra.overrides.hydra) if not OF_SWEEP.match(one)]
    place = "output" if "output" in config else "hydra.run.dir"
    sources = [one.path for one in config.hydra.runtime.config_sources if one.provider == "command-line"]
    own = [part for path in sources for part in ("--config-dir", str(path))]
    command = [sys.executable, "-m", f"fairlab.{config.hydra.job.name}", *own, *given]
    command += ["hydra.mode=RUN", f"{place}={folder}"]
    if "output" in config:
        config.output = str(folder)
    return Job(tuple(overrides), folder, command, plain_config(config), Path.cwd())


def launch(
    jobs: Sequence[Job], sweep: Path, overrides: Sequence[str], over: str, settings: dict[str, Any], objective: Any
) -> list[Any]:
    """Run the jobs that have no finished record, and write the sweep's report.

    Args:
        jobs: of the sweep.
        sweep: its folder.
        overrides: of its command line, by which it is found again.
        over: what runs the jobs: ``basic``, ``joblib``, ``submitit`` or ``ray``.
        settings: of ``over``, and ``threads`` for each job.
        objective: key of the metric that is a job's result; None for no result.

    Returns:
        A result for each job: its objective, None, or the error that says which jobs failed.

    Raises:
        FairlabError: a folder holds another run, another process runs this sweep, or a package is missing.
        KeyboardInterrupt: the sweep was interrupted; the runs were told to take a checkpoint.
    """
    refuse_ckpt(jobs)
    refuse_other_runs(jobs)
    open_jobs = [job for job in jobs if not is_finished(job.place)]
    if settings.get("threads"):
        for job in jobs:
            job.environment["OMP_NUM_THREADS"] = str(settings["threads"])
    own = {key: value for key, value in settings.items() if key != "threads"}
    (sweep / "logs").mkdir(parents=True, exist_ok=True)
    content = {"overrides": sweep_overrides(overrides), "status": "running"}
    lock = lock_folder(sweep)
    common = set(jobs[0].overrides).intersection(*(job.overrides for job in jobs))
    failed: dict[Path, str] = {}
    try:
        runner, at_once = RUNNERS[over](open_jobs, sweep, **own)
        write_state(sweep, content)
        print(f"{sweep}: {len(jobs)} runs, {len(jobs) - len(open_jobs)} of them finished before")
        with stopped_by_signals():
            for count, (job, sentence) in enumerate(done_by(runner, open_jobs, at_once), start=1):
                ended = f"failed: {sentence}" if sentence else "finished"
                name = " ".join(one for one in job.overrides if one not in common)
                print(f"{count}/{len(open_jobs)} run {job.folder.name} {name}: {ended}", flush=True)
                if sentence:
                    failed[job.folder] = sentence
    finally:
        lock.release()
    if _stopping.is_set():
        raise KeyboardInterrupt
    from fairlab.reporting.sweep import report_sweep

    if not failed:
        write_state(sweep, content | {"status": "finished"})
    report_sweep(sweep)
    return [results(job, failed, objective, len(jobs)) for job in jobs]


def write_state(sweep: Path, content: dict[str, Any]) -> None:
    """Note a sweep's overrides and its state; what Hydra wrote beside is rid of secrets."""
    write_whole(sweep / SWEEP, without_secrets(json.dumps(content, indent=1) + "\n"))
    if (sweep / "multirun.yaml").is_file():
        write_whole(sweep / "multirun.yaml", without_secrets((sweep / "multirun.yaml").read_text(encoding="utf-8")))


def refuse_ckpt(jobs: Sequence[Job]) -> None:
    """Raise where the sweep was given a run to continue."""
    if any(job.config.get("ckpt") is not None for job in jobs):
        raise FairlabError(
            "ckpt continues one run and cannot be used with -m; a sweep goes on when its command is given again"
        )


def refuse_other_runs(jobs: Sequence[Job]) -> None:
    """Raise where the folder of a job holds a run of another configuration."""
    for job in jobs:
        if (job.place / "record.json").is_file() and (key := changed_key(Record.load(job.place), job.config)):
            raise FairlabError(f"{job.folder} holds another run ({key}); choose another hydra.sweep.dir")


def results(job: Job, failed: dict[Path, str], objective: str | None, total: int) -> Any:
    """What a job gives to the sweeper."""
    if job.folder in failed:
        sentences = "; ".join(f"{folder.name}: {sentence}" for folder, sentence in failed.items())
        return FairlabError(
            f"{len(failed)} of {total} runs failed ({sentences}); give the same command again to do only these"
        )
    if objective is None:
        return None
    metrics = Record.load(job.place).metrics()
    if objective not in metrics:
        return FairlabError(f"{job.folder} has no {objective}; hydra.launcher.objective takes one of {sorted(metrics)}")
    return metrics[objective]


def done_by(run: Callable[[Job], str], jobs: Sequence[Job], at_once: int) -> Iterator[tuple[Job, str]]:
    """The jobs as they end, each with why it failed or nothing."""
    from joblib import Parallel, delayed

    def one(job: Job) -> tuple[Job, str]:
        if _stopping.is_set():
            return job, "interrupted before it began"
        sentence = run(job)
        return job, "" if is_finished(job.place) else sentence or "it left no finished record"

    # Threads, as each only waits for a process: one that dies takes no other along.
    yield from Parallel(n_jobs=at_once, backend="threading", return_as="generator_unordered")(
        delayed(one)(job) for job in jobs
    )


def run_job(job: Job, **environment: str) -> str:
    """Do one run, or go on with it; empty, or why it failed.

    Where a process that an earlier attempt left behind still works on it, that one is waited for.
    """
    job.place.mkdir(parents=True, exist_ok=True)
    with FileLock(job.place / ".lock"):
        pass
    if is_finished(job.place):
        return ""
    resumed = "ckpt" in job.config and (job.place / "record.json").is_file()
    command = [*job.command, *([f"ckpt={job.folder}"] if resumed else [])]
    variables = {name: value for name, value in os.environ.items() if name != cli.FULL_ERROR}
    with job.log.open("ab") as log:
        process = subprocess.Popen(
            command, cwd=job.cwd, env=variables | job.environment | environment, stdout=log, stderr=log
        )
        _running.add(process)
        try:
            code = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            _running.discard(process)
    printed = without_secrets(job.log.read_text(encoding="utf-8", errors="replace"))
    write_whole(job.log, printed)
    return sentence_of(code, printed) if code else ""


def sentence_of(code: int, printed: str) -> str:
    """Why a process ended as it did: its last line, or the signal that ended it."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    lines = printed.strip().splitlines()
    return lines[-1].removeprefix("fairlab: ") if lines else f"exit code {code}"


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


def over_basic(jobs: Sequence[Job], sweep: Path) -> tuple[Callable[[Job], str], int]:
    """One after the other."""
    return run_job, 1


def over_joblib(
    jobs: Sequence[Job], sweep: Path, *, n_jobs: int, gpus: Sequence[int] | None
) -> tuple[Callable[[Job], str], int]:
    """Several at a time on this machine; with ``gpus``, each alone on one of them."""
    if not gpus:
        return run_job, n_jobs
    free: SimpleQueue[int] = SimpleQueue()
    for number in gpus:
        free.put(number)

    def on_a_gpu(job: Job) -> str:
        number = free.get()
        try:
            return run_job(job, CUDA_VISIBLE_DEVICES=str(number))
        finally:
            free.put(number)

    return on_a_gpu, len(gpus)


class Requeued:
    """A job as submitit takes it: when told to stop it takes a checkpoint and is queued again."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def __call__(self) -> str:
        """Do the run, or go on with it."""
        return run_job(self.job)

    def checkpoint(self) -> Any:
        """Called by submitit on preemption and before the time limit."""
        from submitit.helpers import DelayedSubmission

        stop_runs()
        for process in list(_running):  # not wait(): this may be a signal's handler within it
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return DelayedSubmission(Requeued(self.job))


def over_submitit(
    jobs: Sequence[Job], sweep: Path, *, cluster: str, n_jobs: int | None, parameters: dict[str, Any]
) -> tuple[Callable[[Job], str], int]:
    """As submitit's jobs, on this machine or as one array of Slurm."""
    with extra("submitit"):
        import submitit
    try:
        executor = submitit.AutoExecutor(sweep / "submitit", cluster=cluster)
        executor.update_parameters(**parameters)
    except (RuntimeError, ValueError, NameError, TypeError) as error:
        raise FairlabError(f"launcher=submitit_{cluster}: {error}") from error
    array: dict[Path, Any] = {}
    if cluster != "local" and jobs:
        with executor.batch():
            submitted = [executor.submit(Requeued(job)) for job in jobs]
        array = {job.folder: one for job, one in zip(jobs, submitted, strict=True)}

    def run(job: Job) -> str:
        one = array.get(job.folder) or executor.submit(Requeued(job))
        while not one.done():
            if _stopping.is_set():
                one.cancel()
                return "interrupted"
            time.sleep(1)
        error = one.exception()
        return str(one.result()) if error is None else str(error).strip().splitlines()[-1]

    return run, len(jobs) or 1 if n_jobs is None else n_jobs


def over_ray(
    jobs: Sequence[Job], sweep: Path, *, init: dict[str, Any], task: dict[str, Any]
) -> tuple[Callable[[Job], str], int]:
    """As tasks of Ray."""
    with extra("ray"):
        import ray
    if not ray.is_initialized():
        ray.init(**init)
    remote = ray.remote(**task)(run_job)

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


@contextmanager
def extra(package: str) -> Iterator[None]:
    """Around the import of a launcher's package.

    Raises:
        FairlabError: it is not installed; the sentence names the extra.
    """
    try:
        yield
    except ImportError as error:
        name = INSTALL[package]
        raise FairlabError(f"this launcher needs the extra {name}: pip install 'fairlab[{name}]'") from error


# Each gives what runs a job, and how many jobs at a time.
RUNNERS: dict[str, Callable[..., tuple[Callable[[Job], str], int]]] = {
    "basic": over_basic,
    "joblib": over_joblib,
    "submitit": over_submitit,
    "ray": over_ray,
}
