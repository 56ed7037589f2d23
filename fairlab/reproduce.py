"""``python -m fairlab.reproduce``: run a paper's experiments, and compare the results with the printed numbers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig

from fairlab.checks.escapes import print_escaped
from fairlab.files import holds_run, write_whole
from fairlab.record import Record
from fairlab.reporting.many_runs.reproduction import Cell, Matrix, Table, cells, footnotes, read_matrix, table_lines
from fairlab.reporting.tables.rendering import Printed, latex, markdown
from fairlab.run.command_line import cli
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.run.config.build import plain
from fairlab.run.config.schema import refuse_misfits
from fairlab.run.launch.matrix_jobs import (
    RunOfSeed,
    command_of,
    data_of,
    folder_of,
    job_name,
    jobs_of,
    making_of,
    overrides_of,
    run_missing,
    state_of,
    takes_over,
)
from fairlab.types import FairlabError

QUESTION = "Does a claim hold?"

EXPERIMENTS = Path("experiments")
SHIPPED = Path(__file__).parent / "experiments"  # matrices in an installed wheel
NO_ROW = "no row of the paper"


@hydra.main(version_base="1.3", config_path=cli.conf_dir(), config_name="reproduce")
def main(config: DictConfig) -> None:
    """Reproduce a paper as Hydra's entry point."""
    with cli.one_sentence():
        reproduce(config)


def reproduce(config: DictConfig) -> None:
    """Run the missing jobs, then write the tables.

    If a run fails, the others continue and the failure is reported.

    Raises:
        FairlabError: The paper, the table or the number of seeds does not exist, or a run failed.
    """
    refuse_misfits("reproduce", config)
    output = Path(str(config.output))
    matrix = chosen(read_matrix(matrix_file(config.paper), config.scale.name), config)
    asked = (row.of(column) for table in matrix.tables.values() for row in table.rows for column in table.columns)
    needed = dict.fromkeys(run for run in asked if run in matrix.runs)
    jobs = jobs_of(needed, matrix)
    if config.dry_run:
        print_escaped(plan_of_paper(matrix, jobs, output))
        return
    for number, (run, seed) in enumerate(jobs, start=1):
        print_escaped(f"{number}/{len(jobs)} {job_name(run, seed)}: {state_of(run, seed, matrix, output)}")
    failed = run_and_say(jobs, matrix, output, plain(config.launcher))
    from fairlab.reporting.many_runs.study import write_study
    from fairlab.reporting.tables.folder_tables import write_tables

    records = finished_records(output / "runs", matrix)
    normalise(matrix, records)
    output.mkdir(parents=True, exist_ok=True)
    filled = [(table, cells(table, matrix, records)) for table in matrix.tables.values()]
    for table, rows in filled:
        write_table(table, rows, matrix, output)
    write_study(filled, matrix, records, output / "report.html")
    write_tables([record for of_run in records.values() for record in of_run.values()], output)
    print_escaped(f"report: {output / 'report.html'}")
    if failed:
        names = ", ".join(failed)
        raise FairlabError(
            f"{len(failed)} of {len(jobs)} runs failed ({names}); run the same command to try them again"
        )


def run_and_say(jobs: Sequence[RunOfSeed], matrix: Matrix, output: Path, launcher: Mapping[str, Any]) -> list[str]:
    """Run the missing jobs, print a line as each one ends, and return the names of the failed and skipped runs."""
    failed = set()
    for name, sentence in run_missing(jobs, matrix, output, **launcher):
        if sentence:
            failed.add(name)
            print_escaped(f"{name} failed: {sentence}", error=True)
        else:
            print_escaped(f"{name} is done")
    return [name for job in jobs if (name := job_name(*job)) in failed]


def matrix_file(paper: str) -> Path:
    """Return the path of a paper's matrix: in ``experiments`` of the working directory, the wheel or the checkout."""
    places = [EXPERIMENTS, SHIPPED, Path(__file__).parents[1] / "experiments"]
    return next(
        (file for place in places if (file := place / paper / "matrix.yaml").is_file()),
        places[0] / paper / "matrix.yaml",
    )


def plan_of_paper(matrix: Matrix, jobs: Sequence[RunOfSeed], output: Path) -> str:
    """Return the plan of a paper's runs and their training data.

    All seeds of a run share one entry.
    """
    from fairlab.run.planned import planned
    from fairlab.run.planning.plan import RunPlan, plan_text
    from fairlab.run.planning.sizes import ModelSize

    seeds = Counter(run for run, _ in jobs)
    used = dict.fromkeys(name for run in seeds for name in data_of(run, matrix))
    plans: list[RunPlan] = [
        planned("augment", f"made/{name}", making[3:], [making])
        for name in used
        for making in [making_of(name, matrix, output)]
    ]
    sizes: dict[str, ModelSize] = {}
    for run, count in seeds.items():
        entry = "evaluate" if run in matrix.evaluations else "train"
        overrides = overrides_of(run, matrix.seeds[0], matrix, output)
        if matrix.before not in ("", run) and takes_over(run, matrix):
            overrides.append(f"before={folder_of(matrix.before, matrix.seeds[0], output)}")
        command = command_of(run, matrix.seeds[0], matrix, output)
        plan = planned(entry, run, overrides, [command], times=count, made=sizes)
        sizes |= {f"/runs/{run}/": plan.size} if plan.size is not None else {}
        plans.append(plan)
    states = Counter(state_of(*job, matrix, output) for job in jobs)
    states_text = ", ".join(f"{count} {state}" for state, count in states.items())
    title = f"Plan: paper={matrix.paper} scale={matrix.scale}, {len(jobs)} runs: {states_text}"
    shown = {row.of(column) for table in matrix.tables.values() for row in table.rows for column in table.columns}
    left_out = {run: reason for run, reason in matrix.unavailable.items() if run in shown and reason != NO_ROW}
    if left_out and matrix.scale == "paper":
        left_out["to run at quickstart scale"] = f"python -m fairlab.reproduce paper={matrix.paper} scale=quickstart"
    return plan_text(title, plans, left_out)


def chosen(matrix: Matrix, config: DictConfig) -> Matrix:
    """Return the matrix limited to the requested table and number of seeds.

    Raises:
        FairlabError: There is no such table, or there are fewer seeds.
    """
    tables = matrix.tables
    if config.table is not None:
        if str(config.table) not in tables:
            raise FairlabError(
                f"{config.paper} has no table {config.table} in its matrix; it has: {', '.join(tables) or 'none'}"
            )
        tables = {str(config.table): tables[str(config.table)]}
    seeds = matrix.seeds if config.seeds is None else matrix.seeds[: config.seeds]
    if config.seeds is not None and len(seeds) != config.seeds:
        raise FairlabError(f"seeds must be in 1..{len(matrix.seeds)}, not {config.seeds}")
    return replace(matrix, tables=tables, seeds=seeds, overrides=[str(one) for one in config.overrides])


def finished_records(runs: Path, matrix: Matrix) -> dict[str, dict[int, Record]]:
    """Return the records of finished runs, by id and seed."""
    found: dict[str, dict[int, Record]] = {}
    for run in matrix.runs:
        for seed in matrix.seeds:
            folder = runs / run / f"seed_{seed}"
            if holds_run(folder) and (record := readable(folder)) and record.status == "finished":
                found.setdefault(run, {})[seed] = record
    return found


def readable(folder: Path) -> Record | None:
    """Load a run's record, or print the error and return None if it cannot be read."""
    try:
        return Record.load(folder)
    except FairlabError as error:
        print_escaped(f"fairlab: left out: {error}", error=True)
        return None


def normalise(matrix: Matrix, records: Mapping[str, Mapping[int, Record]]) -> None:
    """Add the normalised mb-index to the runs of each table that has a column for it.

    Seeds with unfinished runs are left out.
    """
    from fairlab.reporting.many_runs.mb_index import NORMALISED, add_normalised

    for table in matrix.tables.values():
        if NORMALISED in table.columns:
            runs = [records.get(row.run, {}) for row in table.rows if row.run in matrix.runs]
            for seed in matrix.seeds:
                if all(seed in of_run for of_run in runs):
                    add_normalised([of_run[seed] for of_run in runs])


def write_table(table: Table, rows: Sequence[Sequence[Cell]], matrix: Matrix, output: Path) -> None:
    """Write a table as Markdown, LaTeX and JSON.

    The JSON file has one entry per cell.
    """
    name = f"table_{table.id}"
    ours = f"ours at {matrix.scale} scale, seeds {', '.join(map(str, matrix.seeds))}; * moved beyond chance in each"
    printed = f" Printed: {table.setting};" if table.published else ""
    heading = f"{table.where}: {table.title}.{printed} {ours}."
    notes = footnotes(table, rows)
    header, lines = table_lines(table, rows)
    printed_lines = [[Printed(entry) for entry in line] for line in lines]
    pages = {
        "md": "\n\n".join([heading, markdown(header, printed_lines), *notes]),
        "tex": "\n".join(
            [
                latex(header, printed_lines, caption=f"{table.where}: {table.title}", note=ours),
                *(f"% {note}" for note in notes),
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
    print_escaped(f"table {table.id}: {output / name}.md, .tex, .json")


@quiet_when_unread()
def command() -> None:
    """Run the command as the console script does."""
    cli.run(main, "reproduce")


if __name__ == "__main__":
    command()
