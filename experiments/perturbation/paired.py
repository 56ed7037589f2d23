"""What fairtuning changes against finetuning, and one twin against the other, on the same examples and their copies.

    python -m experiments.perturbation.paired RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=perturbation``. OUT gets a ``record.json`` with the
mean difference over seeds of accuracy and of fairscore, a run less the other's run of the same seed. Intervals and
p-values resample seeds and examples, an example with all its copies, all seeds by the same examples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.over_seeds import Samples, arguments_of, compared, finished, items_of, record_in, right, save
from fairlab.api.evaluating import compare
from fairlab.record import Comparison

SPLITS = {"snli_validation": "test", "qqp_halves": "dev", "sst2_halves": "dev", "bios": "dev", "rte": "dev"}
AXES = ("gender", "race", "age")  # in the order of conf/benchmark/fairscore.yaml
KINDS = (("roberta_fair", "roberta_orig"), ("fairberta_fair", "fairberta_orig"), ("fairberta_orig", "roberta_orig"))
TWINS = "fairberta less roberta"


def flipped(run: Path, seeds: list[int], task: str, axis: str = "") -> Samples:
    """100 for every changed copy of an example whose label differs from the original's, of one axis or of all."""
    split = SPLITS[task]
    sums = []
    for one in items_of(run, seeds, f"{task}_fairscore"):
        axes_CN = one[f"{split}_axes"].reshape(len(AXES), -1)
        chosen_CN = axes_CN == AXES.index(axis) if axis else axes_CN >= 0
        differs_CN = np.zeros(axes_CN.shape)
        differs_CN[axes_CN >= 0] = one[f"{split}_original"] != one[f"{split}_perturbed"]
        sums.append(100.0 * (differs_CN * chosen_CN).sum(axis=0))
    counts = chosen_CN.sum(axis=0)  # the same for every run of a task
    some = counts > 0
    return np.stack(sums)[:, some], counts[some].astype(np.float64)


def comparisons(runs: Path, one: str, other: str, task: str, seeds: list[int]) -> Iterator[Comparison]:
    """Of accuracy, of fairscore, and of the fairscore of every axis with at least a hundred copies."""
    phase, split = f"{one} less {other}", SPLITS[task]
    folders = [runs / f"{name}_{task}" for name in (one, other)]
    ours, theirs = (right(folder, seeds, task, split) for folder in folders)
    yield compared(ours, theirs, (task, split, "accuracy"), phase)
    for axis in ("", *AXES):
        ours, theirs = (flipped(folder, seeds, task, axis) for folder in folders)
        if not axis or ours[1].sum() >= 100:
            subset = f"{split}_{axis}" if axis else split
            yield compared(ours, theirs, (f"{task}_fairscore", subset, "fairscore"), phase)


def twins(runs: Path) -> Iterator[Comparison]:
    """Perturbed text less text as it was, over all that both twins were measured on, items paired."""
    for change in compare(runs / "roberta" / "seed_42", runs / "fairberta" / "seed_42").comparisons:
        yield replace(change, phase=TWINS)


def main() -> None:
    """Compare, write the record and print it."""
    arguments = arguments_of(__doc__).parse_args()
    record = record_in(arguments.out, "-m", "experiments.perturbation.paired")
    record.comparisons += twins(arguments.runs)
    seeds = {}
    for one, other in KINDS:
        for task in SPLITS:
            both = finished(arguments.runs / f"{one}_{task}", arguments.runs / f"{other}_{task}")
            if len(both) > 1:
                seeds[f"{one} less {other}, {task}"] = both
                record.comparisons += comparisons(arguments.runs, one, other, task, both)
    save(record, {"seeds": seeds})


if __name__ == "__main__":
    main()
