"""Every row of every paper's matrix at paper scale on a simulated cluster: two workers of submitit's local executor.

    python experiments/cluster/simulate.py            # into outputs/cluster; what is finished there is not run again
    python experiments/cluster/simulate.py --write    # and keep what became of each run in record.json

All values are those of ``scale=paper`` but the size of models and data: models are tiny, of random weights and the
published architecture, under their published names in a cache of the hub's layout; data are a few rows in the published
layout; a server that answers by rules stands for every language model. The commands are the plan's own. What they are
for is that each has been through every line; no number that they measure means anything.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # run as a script, it has its own folder there alone
from experiments.cluster.answers import server
from experiments.cluster.matrices import PAPERS, SIZE_OF_DATA, write_matrix
from fairlab.files import write_whole

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("record.json")
SCALE = "paper"
LAUNCHER = ["launcher=submitit_local", "launcher.n_jobs=2"]
FINISHED = "finished"
ENDED = re.compile(r"^(?P<name>.+?) (?:is done|failed: (?P<why>.*))$")


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes:
        paper: name of the paper.
        run: id of the run, or of the data that was made.
        stage: ``finished``, or the last stage that was begun.
        seconds: of all its stages.
        why: why it failed; empty where it did not.
    """

    paper: str
    run: str
    stage: str
    seconds: float
    why: str


def make_world(folder: Path, published: Path) -> None:
    """Make models, data and scores, once."""
    if (folder / "made").is_file():
        return
    from experiments.cluster.data import news, write_data, write_hub_data
    from experiments.cluster.models import write_models
    from experiments.cluster.scores import write_scores

    write_data(folder / "data", published)
    write_hub_data(folder / "datasets", published)
    write_models(folder / "hub", news()[:500])
    os.environ["FAIRLAB_DATA"] = str(folder / "data")
    write_scores(folder / "scores")
    (folder / "made").touch()


def environment(folder: Path) -> dict[str, str]:
    """The variables by which everything is found in the folder, and nothing elsewhere."""
    return os.environ | {
        "FAIRLAB_DATA": str(folder / "data"),
        "HF_HUB_CACHE": str(folder / "hub"),
        "HF_DATASETS_CACHE": str(folder / "datasets"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(ROOT),
        "OPENAI_API_KEY": "simulated",
        "GEMINI_API_KEY": "simulated",
    }


def reproduce(paper: str, folder: Path, more: list[str]) -> dict[str, str]:
    """Run what is missing of a paper; why each piece that ended failed, empty where it did not."""
    command = [sys.executable, "-m", "fairlab.reproduce", f"paper={paper}", f"scale={SCALE}", "seeds=1"]
    command += [*LAUNCHER, f"overrides={[SIZE_OF_DATA, *more]}"]
    ended = {}
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment(folder), **both) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            if found := ENDED.match(line.rstrip()):
                ended[found["name"]] = found["why"] or ""
    return ended


def outcomes(paper: str, folder: Path, failed: dict[str, str]) -> list[Outcome]:
    """What became of every piece of data and every run of a paper."""
    place = folder / "outputs" / "reproduce" / paper / SCALE
    found = []
    for file in sorted(place.glob("made/*")):
        name = f"data {file.name}"
        if file.is_dir() and file.name != "logs":
            found.append(Outcome(paper, name, "" if failed.get(name) else FINISHED, 0.0, failed.get(name, "")))
    for file in sorted(place.glob("runs/*/seed_*")):
        name = file.parent.name
        record = file / "record.json"
        content = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
        stages = content.get("provenance", {}).get("stages", {})
        ended = content.get("status") == FINISHED
        why = "" if ended else failed.get(f"{name} {file.name.replace('_', ' ')}", "no record")
        seconds = sum(stage["seconds"] for stage in stages.values())
        found.append(
            Outcome(paper, name, FINISHED if ended else next(reversed(stages), "start"), round(seconds, 1), why)
        )
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", nargs="*", default=PAPERS, choices=PAPERS)
    parser.add_argument("--folder", type=Path, default=Path("outputs/cluster"))
    parser.add_argument("--write", action="store_true", help=f"write {RECORD.name}")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    make_world(folder, Path(os.environ["FAIRLAB_DATA"]))
    found: list[Outcome] = []
    with server() as address:
        for paper in arguments.papers:
            write_matrix(
                paper, ROOT / f"experiments/{paper}/matrix.yaml", folder / f"experiments/{paper}/matrix.yaml", address
            )
            started = time.perf_counter()
            found += outcomes(paper, folder, reproduce(paper, folder, []))
            print(f"{paper}: {time.perf_counter() - started:.0f} s", flush=True)
    for one in found:
        print(f"{one.paper:12} {one.run:28} {one.stage:18} {one.seconds:7.1f} s  {one.why}")
    if arguments.write:
        write_whole(RECORD, json.dumps([asdict(one) for one in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
