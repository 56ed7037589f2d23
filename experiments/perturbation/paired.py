"""Compare fairtuned with finetuned classifiers, and two twin encoders, on the same examples and their copies.

    python -m experiments.perturbation.paired RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=perturbation``. The twins were trained on original
and on perturbed text. OUT gets a ``record.json`` with the differences in accuracy and fairscore between runs of the
same seed, averaged over seeds. Intervals and p-values come from resampling seeds and examples. An example is resampled
with all its copies, and the same examples are used for all seeds.
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
    """Return, per seed and example, 100 times the number of changed copies whose label differs from the original's.

    The number of changed copies per example is returned as well. Both cover one axis, or all axes if it is empty.
    """
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
    """Yield the comparisons of accuracy, of fairscore, and of the fairscore on each axis with at least 100 copies."""
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
    """Yield the differences in every quantity between training on perturbed and on original text, paired by item."""
    for change in compare(runs / "roberta" / "seed_42", runs / "fairberta" / "seed_42").comparisons:
        yield replace(change, phase=TWINS)


def main() -> None:
    """Compare the runs, write the record and print it."""
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
