"""Runs of all papers' matrices at paper scale on a simulated cluster: two workers of submitit's local executor.

    python experiments/cluster/simulate.py            # in outputs/cluster; runs that are finished there are not
    repeated
    python experiments/cluster/simulate.py --write    # also writes the outcome of each run to record.json.xz
    python experiments/cluster/simulate.py --launcher ray --papers ccd    # two workers of Ray, in another folder

All values are those of ``scale=paper`` except for the size of models and data. Models are tiny, with random weights and
the published architecture, under their published names in the layout of the hub's cache. Data are a few rows in the
published layout. A stub server answers for every language model. The commands are those of the plan. The purpose is to
execute every step of every run; the measured numbers are meaningless.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the path of a script contains only its own folder
from experiments.cluster.answers import server
from experiments.cluster.matrices import PAPERS, SIZE_OF_DATA, TRIALS, write_matrix
from fairlab.files import COMPACT, compressed, read_record
from fairlab.record import Record
from fairlab.reporting.many_runs.reproduction import read_matrix
from fairlab.run.environment import environment
from fairlab.run.folders import is_finished
from fairlab.run.launch.matrix_jobs import command_of, folder_of, job_name, making_of, places

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name(COMPACT)
SCALE, SEED = "paper", 42
LAUNCHERS = {
    "submitit_local": ["launcher=submitit_local", "launcher.n_jobs=2"],
    "ray": ["launcher=ray", "+launcher.init.num_cpus=2"],
}
FINISHED, STARTED, NOT_BEGUN, STOPPED = "finished", "start", "not begun", "stopped"
ENDED = re.compile(r"^(?P<name>.+?) (?:is done|failed: (?P<why>.*))$")


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run, or of making a dataset.

    Attributes:
        launcher: Name of the launcher.
        paper: Name of the paper, or ``trials``.
        run: Id of the run, or ``data`` followed by the name of the dataset.
        stage: ``finished``, the last completed stage, ``start`` or ``not begun``.
        seconds: Duration of all stages, including delays by other processes on the machine; 0 for data.
        why: Reason for a failure; empty if there is none.
        losses: Loss of every training step in all attempts of a trial; empty for other runs.
    """

    launcher: str
    paper: str
    run: str
    stage: str
    seconds: float
    why: str
    losses: list[float]


def make_world(folder: Path, published: Path) -> None:
    """Write models, data and stored scores to a folder, unless it already contains them."""
    if (folder / "made").is_file():
        return
    from experiments.cluster.data import news, write_data, write_hub_data
    from experiments.cluster.models import write_models
    from experiments.cluster.scores import write_scores

    write_data(folder / "data", published)
    write_hub_data(folder / "datasets", published)
    write_models(folder / "hub", news())
    os.environ["FAIRLAB_DATA"] = str(folder / "data")
    write_scores(folder / "scores")
    (folder / "made").touch()


def variables(folder: Path) -> dict[str, str]:
    """Return environment variables that restrict the lookup of all models and data to the folder."""
    return os.environ | {
        "FAIRLAB_DATA": str(folder / "data"),
        "HF_HUB_CACHE": str(folder / "hub"),
        "HF_DATASETS_CACHE": str(folder / "datasets"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(ROOT),
        "OPENAI_API_KEY": "simulated",
        "GEMINI_API_KEY": "simulated",
    }


def reproduce(paper: str, folder: Path, launcher: str, more: list[str]) -> Iterator[tuple[str, str]]:
    """Run the missing runs of a paper.

    Args:
        paper: Name of a matrix in the folder.
        folder: Folder of the simulated cluster.
        launcher: One of ``LAUNCHERS``.
        more: Overrides for all training runs.

    Yields:
        Names of runs and datasets as they end, with the reason for a failure or an empty text.
    """
    command = [sys.executable, "-m", "fairlab.reproduce", f"paper={paper}", f"scale={SCALE}", "seeds=1"]
    command += [*LAUNCHERS[launcher], f"overrides={more}"]
    both: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=folder, env=variables(folder), **both) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if found := ENDED.match(line.rstrip()):
                yield found["name"], found["why"] or ""


def stop_a_run(folder: Path) -> None:
    """Start the run that tests interruption, and stop it once it has a checkpoint.

    ``reproduce`` later resumes it.
    """
    matrix = read_matrix(folder / f"experiments/{TRIALS}/matrix.yaml", SCALE)
    output = Path(f"outputs/reproduce/{TRIALS}/{SCALE}")
    place = folder / folder_of(STOPPED, SEED, output)
    if (place / "record.json").is_file():
        return
    for name in matrix.made:
        subprocess.run(making_of(name, matrix, output), cwd=folder, env=variables(folder), check=True)
    process = subprocess.Popen(command_of(STOPPED, SEED, matrix, output), cwd=folder, env=variables(folder))
    while process.poll() is None and not (place / "checkpoints" / "last.ckpt").is_file():
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.wait()


def outcomes(paper: str, folder: Path, launcher: str, ended: dict[str, str]) -> list[Outcome]:
    """Return the outcomes of all datasets and runs of a paper."""
    place = folder / "outputs" / "reproduce" / paper / SCALE
    matrix = read_matrix(folder / f"experiments/{paper}/matrix.yaml", SCALE)
    asked = {row.of(column) for table in matrix.tables.values() for row in table.rows for column in table.columns}
    runs = [name for name in matrix.runs if name in asked]
    found = []
    for name in dict.fromkeys(one for run in runs for one in places("made", run, matrix)):
        data = place / "made" / name
        stage = FINISHED if is_finished(data) else STARTED if data.is_dir() else NOT_BEGUN
        found.append(Outcome(launcher, paper, f"data {name}", stage, 0.0, ended.get(f"data {name}", ""), []))
    for name in runs:
        run = folder_of(name, SEED, place)
        if not (run / "record.json").is_file():
            why = ended.get(job_name(name, SEED), "")
            found.append(Outcome(launcher, paper, name, STARTED if why else NOT_BEGUN, 0.0, why, []))
            continue
        record = Record.load(run)
        stages = record.provenance.get("stages", {})
        stage = FINISHED if record.status == FINISHED else next(reversed(stages), STARTED)
        why = "" if stage == FINISHED else record.reason or "not finished when this was written"
        losses = [row["train/loss"] for row in record.history if "train/loss" in row] if paper == TRIALS else []
        seconds = round(sum(one["seconds"] for one in stages.values()), 1)
        found.append(Outcome(launcher, paper, name, stage, seconds, why, losses))
    return found


def beside(committed: list[dict[str, Any]], found: list[Outcome]) -> list[dict[str, Any]]:
    """Merge new outcomes with the committed outcomes of other papers and launchers."""
    order = [(launcher, paper) for launcher in LAUNCHERS for paper in (*PAPERS, TRIALS)]
    new = {(one.launcher, one.paper) for one in found}
    kept = [one for one in committed if (one["launcher"], one["paper"]) not in new]
    return sorted([*kept, *map(asdict, found)], key=lambda one: order.index((one["launcher"], one["paper"])))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", nargs="*", default=[*PAPERS, TRIALS], choices=[*PAPERS, TRIALS])
    parser.add_argument("--launcher", default="submitit_local", choices=LAUNCHERS)
    parser.add_argument("--folder", type=Path, default=Path("outputs/cluster"), help="each launcher has its own in it")
    parser.add_argument("--write", action="store_true", help=f"write {RECORD.name}")
    parser.add_argument(
        "--only-report", action="store_true", help="run nothing, and report the results of finished runs"
    )
    arguments = parser.parse_args()
    if "FAIRLAB_DATA" not in os.environ and not arguments.only_report:
        parser.error("set FAIRLAB_DATA to the folder that holds the published data, of which the runs read a few rows")
    folder = arguments.folder.absolute() / arguments.launcher
    found: list[Outcome] = []
    if not arguments.only_report:
        make_world(folder, Path(os.environ["FAIRLAB_DATA"]))
    with server() as address:
        for paper in arguments.papers:
            ended: dict[str, str] = {}
            write_matrix(paper, folder / f"experiments/{paper}/matrix.yaml", address)
            if not arguments.only_report:
                if paper == TRIALS:
                    stop_a_run(folder)
                ended = dict(reproduce(paper, folder, arguments.launcher, [] if paper == TRIALS else [SIZE_OF_DATA]))
            found += outcomes(paper, folder, arguments.launcher, ended)
    for one in found:
        print(f"{one.paper:12} {one.run:28} {one.stage:18} {one.seconds:7.1f} s  {one.why}")
    if arguments.write:
        committed = json.loads(read_record(RECORD))["outcomes"]
        content = {"machine": environment(), "outcomes": beside(committed, found)}
        RECORD.write_bytes(compressed(json.dumps(content, separators=(",", ":")) + "\n"))


if __name__ == "__main__":
    main()
