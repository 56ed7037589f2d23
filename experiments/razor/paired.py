"""What each method of the study changes against training on the original pairs, on the same test examples.

    python experiments/razor/paired.py RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=razor table=study``. OUT gets a ``record.json`` with
the mean difference over seeds of each method and test set, the run of a seed less the original's of the same seed. Its
interval and p-value resample seeds and examples, all seeds by the same examples.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from fairlab.metrics.bootstrap import nested_draws, percentile_interval, two_sided_p
from fairlab.record import Comparison, Record
from fairlab.run.environment import environment

REFERENCE = "claims_original"
SETS = {
    "fever_symmetric": "test",
    "fever_symmetric_v01": "full",
    "vitaminc_two_way": "test",
    "mnli_two_way": "dev",
}


def right(runs: Path, seeds: list[int], task: str) -> NDArray[np.float64]:
    """100 where a run has an example of a test set right, 0 elsewhere, (seeds, N)."""
    found = []
    for seed in seeds:
        items = load_file(runs / f"seed_{seed}" / "items" / "after" / f"{task}.safetensors")
        found.append(100.0 * (items[f"{SETS[task]}_predictions"] == items[f"{SETS[task]}_labels"]))
    return np.stack(found)


def compared(method: str, runs: Path, seeds: list[int]) -> list[Comparison]:
    """The differences of one method to the original on every test set."""
    found = []
    for task, split in SETS.items():
        changes = right(runs / method, seeds, task) - right(runs / REFERENCE, seeds, task)
        draws = nested_draws(changes)
        low, high = percentile_interval(draws)
        place = (task, split, "accuracy")
        difference = float(changes.mean())
        found.append(
            Comparison(
                *place, difference, "points", low, high, two_sided_p(draws), changes.shape[1], True, phase=method
            )
        )
    return found


def finished(runs: Path, method: str) -> list[int]:
    """Seeds of which a method has a finished run."""
    folders = [file.parent for file in runs.glob(f"{method}/seed_*/record.json")]
    return sorted(int(one.name.removeprefix("seed_")) for one in folders if Record.load(one).status == "finished")


def main() -> None:
    """Compare, write the record and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    record = Record(arguments.out, {}, shlex.join(["python", *sys.argv]))
    seeds = {}
    for folder in sorted(arguments.runs.glob("claims_*")):
        both = sorted({*finished(arguments.runs, folder.name)} & {*finished(arguments.runs, REFERENCE)})
        if folder.name != REFERENCE and len(both) > 1:
            seeds[folder.name] = both
            record.comparisons += compared(folder.name, arguments.runs, both)
    record.provenance |= environment() | {"reference": REFERENCE, "seeds": seeds}
    record.status = "finished"
    record.save()
    for one in record.comparisons:
        print(f"{one.key} {one.difference:+.2f} [{one.low:+.2f}, {one.high:+.2f}] p {one.p:.3f}")


if __name__ == "__main__":
    main()
