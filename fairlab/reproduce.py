"""``python -m fairlab.reproduce``: run what a paper's tables need, and set ours beside the printed numbers."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import hydra
from omegaconf import DictConfig

from fairlab.files import write_whole
from fairlab.record import Record
from fairlab.reporting.reproduction import Cell, Matrix, Table, cells, footnotes, read_matrix, rendered_table
from fairlab.run import cli
from fairlab.run.folders import is_finished
from fairlab.run.schema import refuse_misfits
from fairlab.types import FairlabError

EXPERIMENTS = Path("experiments")
SHIPPED = Path(__file__).parent / "experiments"  # the matrices in an installed wheel
FINISHED, UNFINISHED, MISSING = "finished", "unfinished", "missing"
# In overrides of a matrix: data that is made first, or the folder of a run that is run first.
PLACE = re.compile(r"(?<=[=\[,:])(made|runs)/([\w.]+)")
NO_ROW = "no row of the paper"
FORMS = {"md": "github", "tex": "latex_booktabs", "html": "html"}


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="reproduce")
def main(config: DictConfig) -> None:
    """Hydra's entry."""
    with cli.one_sentence():
        reproduce(config)


def reproduce(config: DictConfig) -> None:
    """Run what is missing, then write the tables; a run that fails is listed and the others go on.

    Raises:
        FairlabError: there is no such paper, table or number of seeds, or a run failed.
    """
    refuse_misfits("reproduce", config)
    output = Path(config.output)
    matrix = chosen(read_matrix(matrix_file(config.paper), config.scale.name), config)
    asked = (row.of(column) for table in matrix.tables.values() for row in table.rows for column in table.columns)
    needed = dict.fromkeys(run for run in asked if run in matrix.runs)
    jobs = jobs_of(needed, matrix)
    if config.dry_run:
        print(plan_of_paper(matrix, jobs, output, calibrate=config.calibrate))
    failed = []
    for number, (run, seed) in enumerate(jobs, start=1):
        folder = output / "runs" / run / f"seed_{seed}"
        if (folder / "record.json").exists() and readable(folder) is None:
            failed.append(f"{run} seed {seed}")
            continue
        commands, state = commands_of(run, seed, matrix, output)
        lacking = [f"{name} seed {other}" for name, other in starts_of(run, seed, matrix)]
        if lacking := [name for name in lacking if name in failed]:
            failed.append(f"{run} seed {seed}")
            print(f"{run} seed {seed} is not run: it needs {', '.join(lacking)}, which failed", file=sys.stderr)
            continue
        print(f"{number}/{len(jobs)} {run} seed {seed}: {state}")
        if config.dry_run:
            print("\n".join(f"  {shlex.join(['python', *command[1:]])}" for command in commands))
        elif sentence := next(filter(None, map(error_of, commands)), ""):
            failed.append(f"{run} seed {seed}")
            print(f"{run} seed {seed} failed: {sentence}", file=sys.stderr)
    if config.dry_run:
        return
    from fairlab.reporting.study import write_study
    from fairlab.results.folder_tables import write_tables

    records = finished_records(output / "runs", matrix)
    normalise(matrix, records)
    output.mkdir(parents=True, exist_ok=True)
    filled = [(table, cells(table, matrix, records)) for table in matrix.tables.values()]
    for table, rows in filled:
        write_table(table, rows, matrix, output)
    write_study(filled, matrix, records, output / "report.html")
    write_tables([record for of_run in records.values() for record in of_run.values()], output)
    print(f"report: {output / 'report.html'}")
    if failed:
        names = ", ".join(failed)
        raise FairlabError(f"{len(failed)} of {len(jobs)} runs failed ({names}); start again to try them again")


def matrix_file(paper: str) -> Path:
    """The matrix of a paper: below ``experiments`` here, else the checkout's or the installed wheel's."""
    places = [EXPERIMENTS, SHIPPED, Path(__file__).parents[1] / "experiments"]
    return next(
        (file for place in places if (file := place / paper / "matrix.yaml").is_file()),
        places[0] / paper / "matrix.yaml",
    )


def plan_of_paper(matrix: Matrix, jobs: Sequence[tuple[str, int]], output: Path, *, calibrate: bool) -> str:
    """What the runs of a matrix and the data that they train on need and take; runs of several seeds are said once."""
    from fairlab.planning.plan import RunPlan, plan_text
    from fairlab.planning.sizes import ModelSize
    from fairlab.run.planned import devices, planned

    seeds = Counter(run for run, _ in jobs)
    used = dict.fromkeys(n for run in seeds for kind, n in PLACE.findall(" ".join(matrix.runs[run])) if kind == "made")
    plans: list[RunPlan] = [
        planned("augment", f"made/{name}", making[3:], [making])
        for name in used
        for making in [making_of(name, matrix, output)]
    ]
    sizes: dict[str, ModelSize] = {}
    for run, count in seeds.items():
        entry = "evaluate" if run in matrix.evaluations else "train"
        plan = planned(entry, run, overrides_of(run, matrix.seeds[0], matrix, output), times=count, made=sizes)
        sizes |= {f"/runs/{run}/": plan.size} if plan.size is not None else {}
        plans.append(plan)
    found, busy = devices(calibrate=calibrate)
    title = f"Plan: paper={matrix.paper} scale={matrix.scale}, {len(jobs)} runs"
    shown = {row.of(column) for table in matrix.tables.values() for row in table.rows for column in table.columns}
    left_out = {run: reason for run, reason in matrix.unavailable.items() if run in shown and reason != NO_ROW}
    if left_out and matrix.scale == "paper":
        left_out["what stands in for them"] = f"python -m fairlab.reproduce paper={matrix.paper} scale=quickstart"
    return plan_text(title, plans, found, left_out, busy=busy) + "\n\nEvery run in order\n------------------"


def jobs_of(needed: Iterable[str], matrix: Matrix, above: tuple[str, ...] = ()) -> list[tuple[str, int]]:
    """Runs and seeds in the order they are to be done; what a run starts from, or measures, comes first.

    Args:
        needed: ids of runs.
        matrix: the paper's.
        above: ids of runs that need these.

    Raises:
        FairlabError: runs need one another in a circle, or one that there is not.
    """
    jobs: dict[tuple[str, int], None] = {}
    for seed, run in product(matrix.seeds, needed):
        if run in above:
            circle = " > ".join([*above[above.index(run) :], run])
            raise FairlabError(
                f"the runs of {matrix.paper} go in a circle: {circle}; let one of them start from no other"
            )
        if run not in matrix.runs:
            raise FairlabError(
                f"{above[-1]} starts from runs/{run}, which is not among the runs at {matrix.scale} scale"
            )
        starts = [name for name, _ in starts_of(run, seed, matrix)]
        seeds = [seed_of_sources(run, seed, matrix)]
        jobs |= dict.fromkeys((*jobs_of(starts, replace(matrix, seeds=seeds), (*above, run)), (run, seed)))
    return list(jobs)


def starts_of(run: str, seed: int, matrix: Matrix) -> list[tuple[str, int]]:
    """Runs and seeds that a run takes something from."""
    named = [name for kind, name in PLACE.findall(" ".join(matrix.runs[run])) if kind == "runs"]
    return [(name, seed_of_sources(run, seed, matrix)) for name in named]


def seed_of_sources(run: str, seed: int, matrix: Matrix) -> int:
    """The seed of the runs that a run takes something from: its own to measure them, the first to start from them."""
    return seed if run in matrix.evaluations else matrix.seeds[0]


def commands_of(run: str, seed: int, matrix: Matrix, output: Path) -> tuple[list[list[str]], str]:
    """The commands that a run still needs, data first, and its state."""
    folder, first = output / "runs" / run / f"seed_{seed}", f"seed_{matrix.seeds[0]}"
    used = [name for kind, name in PLACE.findall(" ".join(matrix.runs[run])) if kind == "made"]
    evaluates = run in matrix.evaluations
    overrides = overrides_of(run, seed, matrix, output)
    state = state_of(folder, overrides)
    if state == FINISHED:
        return [], state
    making = [making_of(name, matrix, output) for name in used if not is_finished(output / "made" / name)]
    running = [sys.executable, "-m", f"fairlab.{'evaluate' if evaluates else 'train'}", *overrides]
    before = output / "runs" / matrix.before / first
    if state == UNFINISHED:
        running.append(f"ckpt={folder}")
    elif matrix.before and folder != before and is_finished(before) and not evaluates:
        running.append(f"before={before}")
    return [*making, running], state


def making_of(name: str, matrix: Matrix, output: Path) -> list[str]:
    """The command that makes data which runs train on."""
    return [sys.executable, "-m", "fairlab.augment", *matrix.made[name], f"output={output / 'made' / name}"]


def overrides_of(run: str, seed: int, matrix: Matrix, output: Path) -> list[str]:
    """The overrides of a run, with the folders of what it takes from others in their place."""
    source = f"seed_{seed_of_sources(run, seed, matrix)}"
    placed = [
        PLACE.sub(lambda found: str(output / found[0] / (source if found[1] == "runs" else "")), override)
        for override in matrix.runs[run]
    ]
    scale, more = ([], []) if run in matrix.evaluations else ([f"scale={matrix.scale}"], matrix.overrides)
    return [*placed, *more, f"seed={seed}", *scale, f"hydra.run.dir={output / 'runs' / run / f'seed_{seed}'}"]


def error_of(command: Sequence[str]) -> str:
    """Run a command in a process of its own; empty, or the last line it had to say when it failed."""
    environment = {name: value for name, value in os.environ.items() if name != cli.FULL_ERROR}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1] if done.returncode else ""


def chosen(matrix: Matrix, config: DictConfig) -> Matrix:
    """The tables and the number of seeds asked for."""
    tables = matrix.tables
    if config.table is not None:
        if str(config.table) not in tables:
            raise FairlabError(f"{config.paper} has no table {config.table} in its matrix, only {', '.join(tables)}")
        tables = {str(config.table): tables[str(config.table)]}
    seeds = matrix.seeds if config.seeds is None else matrix.seeds[: config.seeds]
    if config.seeds is not None and len(seeds) != config.seeds:
        raise FairlabError(f"seeds must lie in 1..{len(matrix.seeds)}, not {config.seeds}")
    return replace(matrix, tables=tables, seeds=seeds, overrides=[str(one) for one in config.overrides])


def state_of(folder: Path, overrides: Sequence[str]) -> str:
    """Whether a run is finished, unfinished or missing.

    Raises:
        FairlabError: it was made by another command.
    """
    if not (folder / "record.json").is_file():
        return MISSING
    record = Record.load(folder)
    given = [part for part in shlex.split(record.command)[3:] if not part.startswith(("ckpt=", "before="))]
    if sorted(given) != sorted(overrides):
        raise FairlabError(f"{folder} was made by '{record.command}', which is not what the matrix asks; move it away")
    return FINISHED if record.status == "finished" else UNFINISHED


def finished_records(runs: Path, matrix: Matrix) -> dict[str, dict[int, Record]]:
    """Records of finished runs by id and seed."""
    found: dict[str, dict[int, Record]] = {}
    for run in matrix.runs:
        for seed in matrix.seeds:
            folder = runs / run / f"seed_{seed}"
            if (folder / "record.json").exists() and (record := readable(folder)) and record.status == "finished":
                found.setdefault(run, {})[seed] = record
    return found


def readable(folder: Path) -> Record | None:
    """A run's record; None of one that cannot be read, which is said."""
    try:
        return Record.load(folder)
    except FairlabError as error:
        print(f"fairlab: left out: {error}", file=sys.stderr)
        return None


def normalise(matrix: Matrix, records: Mapping[str, Mapping[int, Record]]) -> None:
    """Add the normalised mb-index to the runs of each table that has it and whose runs are all finished."""
    from fairlab.reporting.mb_index import NORMALISED, add_normalised

    for table in matrix.tables.values():
        if NORMALISED in table.columns:
            runs = [records.get(row.run, {}) for row in table.rows if row.run in matrix.runs]
            for seed in matrix.seeds:
                if all(seed in of_run for of_run in runs):
                    add_normalised([of_run[seed] for of_run in runs])


def write_table(table: Table, rows: Sequence[Sequence[Cell]], matrix: Matrix, output: Path) -> None:
    """A table as Markdown, LaTeX, HTML and, cell by cell, JSON."""
    name = f"table_{table.id}"
    ours = f"ours at {matrix.scale} scale, seeds {', '.join(map(str, matrix.seeds))}; * moved beyond chance in each"
    printed = f" Printed: {table.setting};" if table.published else ""
    heading = f"{table.where}: {table.title}.{printed} {ours}."
    notes = footnotes(table, rows)
    pages = {
        "md": "\n\n".join([heading, rendered_table(table, rows, FORMS["md"]), *notes]),
        "tex": "\n".join([f"% {heading}", rendered_table(table, rows, FORMS["tex"]), *(f"% {note}" for note in notes)]),
        "html": "\n".join(
            [
                f"<meta charset='utf-8'><title>{name}</title><p>{html.escape(heading)}</p>",
                rendered_table(table, rows, FORMS["html"]),
                *(f"<p>{html.escape(note)}</p>" for note in notes),
            ]
        ),
        "json": json.dumps(
            {
                row.name: {column: asdict(cell) for column, cell in zip(table.columns, of_row, strict=True)}
                for row, of_row in zip(table.rows, rows, strict=True)
            },
            indent=1,
        ),
    }
    for ending, text in pages.items():
        write_whole(output / f"{name}.{ending}", text + "\n")
    print(f"table {table.id}: {output / name}.md, .tex, .html, .json")


def command() -> None:
    """The console script's entry."""
    cli.run(main, "reproduce")


if __name__ == "__main__":
    command()
