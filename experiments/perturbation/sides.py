"""Fairscores of classifiers of pairs by what became of both texts of a copy.

    FAIRLAB_DATA=... python -m experiments.perturbation.sides RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=perturbation``. The copies that its classifiers were
measured on are made again and told apart: *both* texts were turned; *one* was, and the other has no word of the axis;
or *half*: one was, and the other has such a word and stayed as it was, so that the pair may not mean what its label
says. OUT gets a ``record.json`` with the share of labels that change and fairtuned less finetuned; seeds and copies are
resampled.
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
    """Return what became of the texts of an example in a copy that changed."""
    stayed = [old for old, new in zip(before.fields, after.fields, strict=True) if old == new]
    if not stayed:
        return "both"
    named = any(place.startswith(f"{axis}/") for text in stayed for place in words.attributes(text))
    return "half" if named else "one"


def sides_of(task: str) -> NDArray[np.str_]:
    """Return the side of every changed copy, in the order in which a fairscore keeps them."""
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
    """100 for every changed copy whose label differs from the original's, (S, copies)."""
    split = SPLITS[task]
    found = items_of(run, seeds, f"{task}_fairscore")
    return np.stack([100.0 * (one[f"{split}_original"] != one[f"{split}_perturbed"]) for one in found])


def main() -> None:
    """Measure, write the record and print it."""
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
