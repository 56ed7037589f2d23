"""Fairscores of classifiers of pairs by what became of both texts of a copy.

    FAIRLAB_DATA=... python -m experiments.perturbation.sides RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=perturbation``. The copies that its classifiers were
measured on are made again and told apart: *both* texts were turned; *one* was, and the other has no word of the axis;
or *half*: one was, and the other has such a word and stayed as it was, so that the pair may not mean what its label
says. OUT gets a ``record.json`` with the share of labels that change and fairtuned less finetuned; seeds and copies are
resampled.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.perturbation.controls import share
from experiments.perturbation.paired import AXES, SPLITS, Samples, compared, finished, items_of
from fairlab.benchmarks.fairscore import Fairscore
from fairlab.data.published.tasks import Example
from fairlab.record import Record
from fairlab.rewriting.perturbable_words import PerturbableWords
from fairlab.run.environment import environment

TASKS = ("snli_validation", "qqp_halves")
SIDES = ("both", "one", "half")
MODELS = ("roberta_orig", "roberta_fair")


def side(before: Example, after: Example, axis: str, words: PerturbableWords) -> str:
    """What became of the texts of an example in a copy that changed."""
    stayed = [old for old, new in zip(before.fields, after.fields, strict=True) if old == new]
    if not stayed:
        return "both"
    named = any(place.startswith(f"{axis}/") for text in stayed for place in words.attributes(text))
    return "half" if named else "one"


def sides_of(task: str) -> NDArray[np.str_]:
    """The side of every changed copy, in the order in which a fairscore keeps them."""
    benchmark = Fairscore(task, axes=AXES, sampling="inverse_frequency", copies="axis")
    examples, copies = benchmark.pairs(SPLITS[task])
    return np.array(
        [
            side(examples[k], copy.examples[k], copy.axes[k], perturbation.words)
            for perturbation, copy in zip(benchmark.perturbations, copies, strict=True)
            for k in copy.changed
        ]
    )


def flips(runs: Path, model: str, seeds: list[int], task: str) -> NDArray[np.float64]:
    """100 for every changed copy whose label differs from the original's, (S, copies)."""
    split = SPLITS[task]
    found = items_of(runs, f"{model}_{task}", seeds, f"{task}_fairscore")
    return np.stack([100.0 * (one[f"{split}_original"] != one[f"{split}_perturbed"]) for one in found])


def main() -> None:
    """Measure, write the record and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    command = shlex.join(["python", "-m", "experiments.perturbation.sides", *sys.argv[1:]])
    record = Record(arguments.out, {}, command, status="finished")
    for task in TASKS:
        sides = sides_of(task)
        seeds = sorted(set.intersection(*({*finished(arguments.runs, f"{model}_{task}")} for model in MODELS)))
        found = {model: flips(arguments.runs, model, seeds, task) for model in MODELS}
        for one in SIDES:
            samples: dict[str, Samples] = {
                model: (values[:, sides == one], np.ones((sides == one).sum())) for model, values in found.items()
            }
            record.readings += [share(samples[model], f"{task}_fairscore", one, model) for model in MODELS]
            place = (f"{task}_fairscore", one, "fairscore")
            record.comparisons.append(
                compared(samples["roberta_fair"], samples["roberta_orig"], place, "roberta_fair less roberta_orig")
            )
        record.provenance[f"{task}_seeds"] = seeds
    record.provenance |= environment()
    record.save()
    for reading in record.readings:
        print(f"{reading.key} {reading.value:.2f} [{reading.low:.2f}, {reading.high:.2f}] n {reading.n}")
    for change in record.comparisons:
        print(f"{change.key} {change.difference:+.2f} [{change.low:+.2f}, {change.high:+.2f}] p {change.p:.3f}")


if __name__ == "__main__":
    main()
