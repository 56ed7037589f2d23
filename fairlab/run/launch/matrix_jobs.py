"""Execution of a paper's experiment matrix: order, commands, and selection of the missing runs."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from fairlab.files import holds_run
from fairlab.record import Record
from fairlab.reporting.many_runs.reproduction import Matrix
from fairlab.run.folders import is_finished
from fairlab.run.launch.jobs import Job, own_threads, run_jobs
from fairlab.types import FairlabError

FINISHED, UNFINISHED, MISSING, DAMAGED = "finished", "unfinished", "missing", "damaged"
# References in a matrix's overrides: data to make first, or the folder of a run that must be run first.
PLACE = re.compile(r"(?<=[=\[,:])(made|runs)/([\w.]+)")
RunOfSeed = tuple[str, int]  # id of a run, and a seed


def jobs_of(
    needed: Iterable[str], matrix: Matrix, above: tuple[str, ...] = (), seeds: Sequence[int] | None = None
) -> list[RunOfSeed]:
    """Return runs and seeds in execution order: each run follows the runs that it starts from or measures.

    ``above`` are the runs that depend on the needed runs. Without ``seeds``, all seeds of the matrix are used.

    Raises:
        FairlabError: Runs depend on each other in a circle, or a required run does not exist.
    """
    jobs: dict[RunOfSeed, None] = {}
    for seed, run in product(matrix.seeds if seeds is None else seeds, needed):
        if run in above:
            circle = " > ".join([*above[above.index(run) :], run])
            raise FairlabError(
                f"the runs of {matrix.paper} depend on each other in a circle: {circle}; "
                "let one of them start from no other"
            )
        if run not in matrix.runs:
            raise FairlabError(
                f"{above[-1]} starts from runs/{run}, which is not among the runs at {matrix.scale} scale"
            )
        for name, of in starts_of(run, seed, matrix):
            jobs |= dict.fromkeys(jobs_of([name], matrix, (*above, run), [of]))
        jobs[run, seed] = None
    return list(jobs)


def starts_of(run: str, seed: int, matrix: Matrix) -> list[RunOfSeed]:
    """Return the runs and seeds that a run depends on."""
    return [(name, seed_of_sources(run, seed, matrix)) for name in places("runs", run, matrix)]


def seed_of_sources(run: str, seed: int, matrix: Matrix) -> int:
    """Return the seed of the runs that a run depends on: an evaluation's own seed, or the first seed for training."""
    return seed if run in matrix.evaluations else matrix.seeds[0]


def run_missing(
    jobs: Sequence[RunOfSeed], matrix: Matrix, output: Path, *, threads: int | None, **launcher: Any
) -> Iterator[tuple[str, str]]:
    """Run the jobs without a finished record, in parallel if the launcher allows it.

    Data is made once, before the runs that train on it. A run starts after the run whose model it uses. If runs reuse
    the readings before training, the run that measures these readings comes first. ``threads`` is the
    ``OMP_NUM_THREADS`` of each process, or None to keep the value of the environment. The settings of the launcher are
    those of :func:`fairlab.run.launch.jobs.run_jobs`.

    Returns:
        Iterator over the names of runs and data as they end, each with the reason for its failure or an empty string.
    """
    runs = {job_name(*job): job for job in jobs if state_of(*job, matrix, output) != FINISHED}
    data = {f"data {name}": name for run, _ in runs.values() for name in data_of(run, matrix)}
    data = {made: name for made, name in data.items() if not is_finished(output / "made" / name)}
    needs: dict[str, Sequence[str]] = {
        name: [f"data {one}" for one in ids("made", matrix.made[made]) if f"data {one}" in data]
        for name, made in data.items()
    }
    for name, (run, seed) in runs.items():
        starts = [job_name(*start) for start in starts_of(run, seed, matrix)]
        needs[name] = [
            one
            for one in (*starts, *(f"data {made}" for made in places("made", run, matrix)))
            if one in {**runs, **data}
        ]
    first = job_name(matrix.before, matrix.seeds[0])
    ahead = jobs_of([matrix.before], matrix, seeds=matrix.seeds[:1]) if first in runs else []
    later = [job for job in runs.values() if ahead and job not in ahead and takes_over(job[0], matrix)]
    after = {job_name(*job): [first] for job in later}

    def make(name: str) -> Job:
        environment = own_threads(threads)
        if name in data:
            command = making_of(data[name], matrix, output)
            return Job(output / "made" / data[name], command, False, Path.cwd(), environment)
        folder = folder_of(*runs[name], output)
        if holds_run(folder):
            Record.load(folder)  # an unreadable record raises an error and is not overwritten
        return Job(folder, command_of(*runs[name], matrix, output), True, Path.cwd(), environment)

    return run_jobs(needs, make, after=after, logs=output, **launcher)


def takes_over(run: str, matrix: Matrix) -> bool:
    """Return whether a run can reuse the readings before training from the run that the matrix names ``before``.

    Evaluations cannot reuse these readings. Runs that do not measure before training, or that have another backbone or
    other benchmarks, cannot reuse them either.
    """
    if run in matrix.evaluations or "measure_before=false" in matrix.runs[run]:
        return False
    asked, there = (
        [override for override in matrix.runs[one] if override.startswith(("backbone", "benchmark"))]
        for one in (run, matrix.before)
    )
    return asked == there


def job_name(run: str, seed: int) -> str:
    """Return the name of the job for a run with a seed."""
    return f"{run} seed {seed}"


def folder_of(run: str, seed: int, output: Path) -> Path:
    """Return the folder of a run with a seed."""
    return output / "runs" / run / f"seed_{seed}"


def ids(kind: str, overrides: Sequence[str]) -> list[str]:
    """Return the ids of the datasets (``made``) or runs (``runs``) that overrides refer to."""
    return [name for found, name in PLACE.findall(" ".join(overrides)) if found == kind]


def places(kind: str, run: str, matrix: Matrix) -> list[str]:
    """Return the ids of the datasets (``made``) or runs (``runs``) that the overrides of a run refer to."""
    return ids(kind, matrix.runs[run])


def data_of(run: str, matrix: Matrix) -> list[str]:
    """Return the ids of the datasets that a run needs, in the order of creation: sources before derived data.

    Raises:
        FairlabError: Data depends on itself, or on data that does not exist.
    """
    found: dict[str, None] = {}

    def add(names: Sequence[str], above: tuple[str, ...]) -> None:
        for name in names:
            if name in above:
                raise FairlabError(f"the data of {matrix.paper} depends on itself: {' > '.join([*above, name])}")
            if name not in matrix.made:
                raise FairlabError(f"made/{name} is not among the data that {matrix.paper} makes")
            add(ids("made", matrix.made[name]), (*above, name))
            found[name] = None

    add(places("made", run, matrix), ())
    return list(found)


def command_of(run: str, seed: int, matrix: Matrix, output: Path) -> list[str]:
    """Return the command for a run with a seed, without ``ckpt``."""
    evaluates, folder = run in matrix.evaluations, folder_of(run, seed, output)
    overrides = overrides_of(run, seed, matrix, output)
    command = [sys.executable, "-m", f"fairlab.{'evaluate' if evaluates else 'train'}", *overrides]
    before = folder_of(matrix.before, matrix.seeds[0], output)
    is_new = not holds_run(folder)
    if is_new and matrix.before and folder != before and is_finished(before) and takes_over(run, matrix):
        command.append(f"before={before}")
    return command


def making_of(name: str, matrix: Matrix, output: Path) -> list[str]:
    """Return the command that makes training data."""
    placed = [replace_references(output, override) for override in matrix.made[name]]
    return [sys.executable, "-m", "fairlab.augment", *placed, f"output={output / 'made' / name}"]


def replace_references(output: Path, override: str, source: str = "") -> str:
    """Replace references to data and other runs in an override with their folders.

    ``source`` is the name of the subfolder of another run, which is its seed.
    """
    return PLACE.sub(lambda found: str(output / found[0] / (source if found[1] == "runs" else "")), override)


def overrides_of(run: str, seed: int, matrix: Matrix, output: Path) -> list[str]:
    """Return the overrides of a run, with references to data and other runs replaced with their folders."""
    source = f"seed_{seed_of_sources(run, seed, matrix)}"
    placed = [replace_references(output, override, source) for override in matrix.runs[run]]
    scale, more = ([], []) if run in matrix.evaluations else ([f"scale={matrix.scale}"], matrix.overrides)
    return [*placed, *more, f"seed={seed}", *scale, f"hydra.run.dir={folder_of(run, seed, output)}"]


def state_of(run: str, seed: int, matrix: Matrix, output: Path) -> str:
    """Return the state of a run: finished, unfinished, missing, or damaged if its record cannot be read.

    Raises:
        FairlabError: The run was made by another command.
    """
    folder = folder_of(run, seed, output)
    if not holds_run(folder):
        return MISSING
    try:
        record = Record.load(folder)
    except FairlabError:
        return DAMAGED
    asked = overrides_of(run, seed, matrix, output)
    given = shlex.split(record.command)[3:]
    if sorted(filter(makes_a_run, given)) != sorted(filter(makes_a_run, asked)):
        raise FairlabError(
            f"{folder} was made by '{record.command}', which is not the command in the matrix; move it away"
        )
    return FINISHED if record.status == "finished" else UNFINISHED


def makes_a_run(override: str) -> bool:
    """Return whether an override is part of a run's identity.

    ``ckpt`` and ``before`` are not part of it.
    """
    return not override.startswith(("ckpt=", "before="))
