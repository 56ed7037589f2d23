"""What fairtuning changes against finetuning, and one twin against the other, on the same examples and their copies.

    python -m experiments.perturbation.paired RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=perturbation``. OUT gets a ``record.json`` with the
mean difference over seeds of accuracy and of fairscore, a run less the other's run of the same seed. Intervals and
p-values resample seeds and examples, an example with all its copies, all seeds by the same examples.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from fairlab.api.evaluating import compare
from fairlab.metrics.bootstrap import nested_draws, percentile_interval, two_sided_p
from fairlab.record import Comparison, Record
from fairlab.run.environment import environment

SPLITS = {"snli_validation": "test", "qqp_halves": "dev", "sst2_halves": "dev", "bios": "dev", "rte": "dev"}
AXES = ("gender", "race", "age")  # in the order of conf/benchmark/fairscore.yaml
KINDS = (("roberta_fair", "roberta_orig"), ("fairberta_fair", "fairberta_orig"), ("fairberta_orig", "roberta_orig"))
TWINS = "fairberta less roberta"
Array = NDArray[np.float64]
Samples = tuple[Array, Array]  # sums over the copies of each example, (S, N), and their numbers, (N,)


def items_of(runs: Path, run: str, seeds: list[int], benchmark: str) -> list[dict[str, Array]]:
    """What a run's seeds kept of a benchmark."""
    return [load_file(runs / run / f"seed_{seed}" / "items" / "after" / f"{benchmark}.safetensors") for seed in seeds]


def right(runs: Path, run: str, seeds: list[int], task: str) -> Samples:
    """100 where a run has an example right, 0 elsewhere."""
    split = SPLITS[task]
    found = items_of(runs, run, seeds, task)
    values = np.stack([100.0 * (one[f"{split}_predictions"] == one[f"{split}_labels"]) for one in found])
    return values, np.ones(values.shape[1])


def flipped(runs: Path, run: str, seeds: list[int], task: str, axis: str = "") -> Samples:
    """100 for every changed copy of an example whose label differs from the original's, of one axis or of all."""
    split = SPLITS[task]
    sums = []
    for one in items_of(runs, run, seeds, f"{task}_fairscore"):
        axes_CN = one[f"{split}_axes"].reshape(len(AXES), -1)
        chosen_CN = axes_CN == AXES.index(axis) if axis else axes_CN >= 0
        differs_CN = np.zeros(axes_CN.shape)
        differs_CN[axes_CN >= 0] = one[f"{split}_original"] != one[f"{split}_perturbed"]
        sums.append(100.0 * (differs_CN * chosen_CN).sum(axis=0))
    counts = chosen_CN.sum(axis=0)  # the same for every run of a task
    some = counts > 0
    return np.stack(sums)[:, some], counts[some].astype(np.float64)


def compared(later: Samples, earlier: Samples, place: tuple[str, str, str], phase: str) -> Comparison:
    """The mean difference over seeds and examples."""
    changes, sizes = later[0] - earlier[0], later[1]
    draws = nested_draws(changes, sizes)
    low, high = percentile_interval(draws)
    difference = float(changes.mean(axis=0).sum() / sizes.sum())
    return Comparison(
        *place, difference, "points", low, high, two_sided_p(draws), int(sizes.sum()), headline=True, phase=phase
    )


def comparisons(runs: Path, one: str, other: str, task: str, seeds: list[int]) -> Iterator[Comparison]:
    """Of accuracy, of fairscore, and of the fairscore of every axis with at least a hundred copies."""
    phase, names = f"{one} less {other}", (f"{one}_{task}", f"{other}_{task}")
    ours, theirs = (right(runs, name, seeds, task) for name in names)
    yield compared(ours, theirs, (task, SPLITS[task], "accuracy"), phase)
    for axis in ("", *AXES):
        ours, theirs = (flipped(runs, name, seeds, task, axis) for name in names)
        if not axis or ours[1].sum() >= 100:
            subset = f"{SPLITS[task]}_{axis}" if axis else SPLITS[task]
            yield compared(ours, theirs, (f"{task}_fairscore", subset, "fairscore"), phase)


def twins(runs: Path) -> Iterator[Comparison]:
    """Perturbed text less text as it was, over all that both twins were measured on, items paired."""
    for change in compare(runs / "roberta" / "seed_42", runs / "fairberta" / "seed_42").comparisons:
        yield replace(change, phase=TWINS)


def finished(runs: Path, run: str) -> list[int]:
    """Seeds of which a run has finished."""
    folders = [file.parent for file in runs.glob(f"{run}/seed_*/record.json")]
    return sorted(int(one.name.removeprefix("seed_")) for one in folders if Record.load(one).status == "finished")


def main() -> None:
    """Compare, write the record and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    record = Record(arguments.out, {}, shlex.join(["python", "-m", "experiments.perturbation.paired", *sys.argv[1:]]))
    record.comparisons += twins(arguments.runs)
    seeds = {}
    for one, other in KINDS:
        for task in SPLITS:
            both = sorted({*finished(arguments.runs, f"{one}_{task}")} & {*finished(arguments.runs, f"{other}_{task}")})
            if len(both) > 1:
                seeds[f"{one} less {other}, {task}"] = both
                record.comparisons += comparisons(arguments.runs, one, other, task, both)
    record.provenance |= environment() | {"seeds": seeds}
    record.status = "finished"
    record.save()
    for change in record.comparisons:
        print(f"{change.key} {change.difference:+.2f} [{change.low:+.2f}, {change.high:+.2f}] p {change.p:.3f}")


if __name__ == "__main__":
    main()
