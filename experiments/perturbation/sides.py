"""Measure fairscores of pair classifiers, depending on which texts of a copy were rewritten.

    FAIRLAB_DATA=... python -m experiments.perturbation.sides RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=perturbation``. The copies on which its classifiers
were measured are made again and divided into three kinds. In *both*, both texts were rewritten. In *one*, one text was
rewritten, and the other has no word of the axis. In *half*, one text was rewritten, and the other has such a word but
stayed unchanged, so the pair's label may be wrong. OUT gets a ``record.json`` with the percentage of labels that
change, and the difference between fairtuned and finetuned classifiers. Intervals come from resampling seeds and copies.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.over_seeds import arguments_of, finished, items_of, record_in, save, whole
from experiments.perturbation.controls import FAIR, ORIG, add_fairscores
from experiments.perturbation.paired import AXES, SPLITS
from fairlab.benchmarks.fairscore import Fairscore
from fairlab.data.published.tasks import Example
from fairlab.rewriting.perturbable_words import PerturbableWords

TASKS = ("snli_validation", "qqp_halves")
SIDES = ("both", "one", "half")


def side(before: Example, after: Example, axis: str, words: PerturbableWords) -> str:
    """Return the kind of a changed copy, depending on which texts of the example were rewritten."""
    if not any(old == new for old, new in zip(before.fields, after.fields, strict=True)):
        return "both"
    return "half" if words.stayed(before.fields, after.fields, axis) else "one"


def sides_of(task: str) -> NDArray[np.str_]:
    """Return the kind of every changed copy, in the order of the stored fairscore items."""
    benchmark = Fairscore(task, axes=AXES, sampling="inverse_frequency", copies="axis")
    examples, copies = benchmark.pairs(SPLITS[task])
    return np.array(
        [
            side(examples[k], copy.examples[k], copy.axes[k], perturbation.words)
            for perturbation, copy in zip(benchmark.perturbations, copies, strict=True)
            for k in copy.changed
        ]
    )


def flips(run: Path, seeds: list[int], task: str) -> NDArray[np.float64]:
    """Return, per seed, 100 for each changed copy whose label differs from the original's and 0 for the others."""
    split = SPLITS[task]
    found = items_of(run, seeds, f"{task}_fairscore")
    return np.stack([100.0 * (one[f"{split}_original"] != one[f"{split}_perturbed"]) for one in found])


def main() -> None:
    """Measure the fairscores, write the record and print it."""
    arguments = arguments_of(__doc__).parse_args()
    record = record_in(arguments.out, "-m", "experiments.perturbation.sides")
    facts: dict[str, object] = {}
    for task in TASKS:
        sides = sides_of(task)
        folders = {model: arguments.runs / f"{model}_{task}" for model in (ORIG, FAIR)}
        seeds = finished(*folders.values())
        found = {model: flips(folder, seeds, task) for model, folder in folders.items()}
        for one in SIDES:
            samples = {model: whole(values[:, sides == one]) for model, values in found.items()}
            add_fairscores(record, samples, f"{task}_fairscore", one)
        facts[f"{task}_seeds"] = seeds
    save(record, facts)


if __name__ == "__main__":
    main()
