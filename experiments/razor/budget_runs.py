"""Classifiers of the second study's budgets, one row per training in ``budgets.jsonl``.

    python -m experiments.razor.budget_runs OUT [--seeds 42 43 44 45 46] [--percent 25] [--training float32]

OUT is the folder of ``budgets.py``. A training whose row exists is not repeated, so the same command resumes.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from experiments.razor.budgets import ARMS, PERCENT, read_pairs, settings_of, write_arm
from experiments.razor.known_truth_runs import TRAINING, Result, add, finished, measured
from experiments.shared import resumed
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import Example

FILE = Path(__file__).with_name("budgets.jsonl")
NONE = "none"  # arm without rewriting
STEPS, EVERY = 600, 200
Key = tuple[str, int, int]  # arm, percentage of rewritten claims, and seed


def trainings(seeds: Sequence[int], percent: int, done: Sequence[Result]) -> Iterator[Key]:
    """Yield the trainings without a row, all arms of a seed before the next seed."""
    rows = {(row["arm"], row["percent"], row["seed"]) for row in done}
    for seed in seeds:
        for key in (*((arm, percent, seed) for arm in ARMS), (NONE, 0, seed)):
            if key not in rows:
                yield key


def run(key: Key, held: Sequence[Example], out: Path, training: str = TRAINING) -> Result:
    """Train a classifier, measure it on FEVER-Symmetric v0.2 and on the held-out pairs, and return its row."""
    arm, percent, seed = key
    data, folder = out / "data" / f"{arm}_{percent}", out / "runs" / f"{arm}_{percent}_{seed}"
    record = resumed.trained(folder, [*settings_of(data, STEPS, EVERY, training), f"seed={seed}"])
    row: Result = {"arm": arm, "percent": percent, "seed": seed, "training": training}
    row["seconds"] = round(record.provenance["wall_seconds"])
    losses = [one["train/loss"] for one in record.history if "train/loss" in one]
    row["losses"] = [round(fmean(part), 3) for part in (losses[:5], losses[-5:])]
    row |= measured(folder / "model", {"symmetric": read_task("fever_symmetric", "test"), "held": held})
    shutil.rmtree(folder)  # the model is several thousand times as large as the row
    return row


def main() -> None:
    """Run the missing trainings, and add a row for each of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[42, 43, 44, 45, 46])
    parser.add_argument("--percent", type=int, choices=PERCENT, default=PERCENT[0])
    parser.add_argument("--training", choices=("mixed", "float32"), default=TRAINING)
    given = parser.parse_args()
    rows, held = read_pairs()
    write_arm(rows, held, [], {}, given.out / "data" / f"{NONE}_0")
    for key in trainings(given.seeds, given.percent, finished(FILE)):
        row = run(key, held, given.out, given.training)
        add(row, FILE)
        print(*key, row["seconds"], row["losses"], flush=True)


if __name__ == "__main__":
    main()
