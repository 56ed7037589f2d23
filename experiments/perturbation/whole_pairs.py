"""Train and measure the classifiers of the second study of fairtuning, which changes pairs of texts as a whole.

    FAIRLAB_DATA=... python -m experiments.perturbation.whole_pairs RUNS [--tasks T ...] [--arms A ...] [--seeds S ...]

Each run is trained in ``RUNS/TASK/ARM/seed_S``, and its predictions are written to ``items.safetensors`` there. A
finished run is not repeated, so the same command resumes the study. The arms, measures and tests are described in
``second_study.md``. ``--float32`` trains in float32 instead of bfloat16.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

import fairlab
from experiments.perturbation.controls import changed, in_the_hypothesis, next_colours
from experiments.perturbation.paired import AXES, SPLITS
from experiments.perturbation.sides import SIDES, side
from experiments.rewriting.sets import exchanged, partners
from fairlab.augmentation.perturbation import Perturbation, Rewritten
from fairlab.backbones.classification import Classifier
from fairlab.benchmarks.classification import predictions
from fairlab.benchmarks.fairscore import Fairscore
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import Example, find_task
from fairlab.files import write_whole
from fairlab.mend.parts import run_part
from fairlab.rewriting.word_rewriters import Selection
from fairlab.text.fields import join_fields

COLOURS = "experiments.perturbation.whole_pairs.ColoursOfThings"
Setting = str | float | bool | None
ARMS: dict[str, tuple[str, dict[str, Setting]]] = {  # an override that selects an augmentation, and its settings
    "finetuned": ("augmentation=none", {}),
    "published": ("augmentation=fairtuning", {}),
    "whole": ("augmentation=fairtuning", {"augmentation.whole_examples": True}),
    "chance": (
        "augmentation=fairtuning",
        {"augmentation._target_": COLOURS},
    ),
}
LIMITS = {"snli_validation": 6000, "qqp_halves": None}
SAME = {"snli_validation": "entailment", "qqp_halves": "duplicate"}  # label that must change with a person's gender
MAY_BE_PEOPLE = ("black", "white", "brown", "gray")  # colours that are also words for people
THINNED = 3  # every third example is measured in diagnostics and controls, as in the first study
ITEMS = "items.safetensors"
Copies = dict[str, list[tuple[int, Example]]]  # by kind: position of the original in its split, and changed copy


class ColoursOfThings(Perturbation):
    """Augmentation that exchanges the colours of things in all fields of an example.

    Black, white, brown and gray are exchanged only in examples without a word of the axis race.
    """

    title = "exchanged colours"
    limits = "Shows the effect of changed training examples that has nothing to do with people."

    def exchanged(self, fields: Sequence[str]) -> list[str]:
        """Return the fields of an example with exchanged colours."""
        places = self.words.attributes(join_fields(fields))
        partner = next_colours()
        if not any(place.startswith("race/") for place in places):
            partner |= dict(zip(MAY_BE_PEOPLE, (*MAY_BE_PEOPLE[1:], MAY_BE_PEOPLE[0]), strict=True))
        return [exchanged(field, partner) for field in fields]

    def choose(
        self, texts: Sequence[str], numbers: Sequence[int], weights: Mapping[str, float]
    ) -> list[Selection | None]:
        """Return a choice for every text that contains an exchangeable colour, and None for the others."""
        choice = Selection(0, "", "colour", "", "")
        return [choice if self.exchanged([text]) != [text] else None for text in texts]

    def rewrite(self, examples: Sequence[Sequence[str]], chosen: Sequence[Selection]) -> list[Rewritten]:
        """Exchange the colours in the examples, each given by its fields."""
        return [Rewritten(self.exchanged(fields)) for fields in examples]


def copies_of(task: str) -> Copies:
    """Make the changed copies of a task's evaluation examples.

    Copies of which both texts were rewritten are kept in full; the others are thinned.
    """
    benchmark = Fairscore(task, axes=AXES, sampling="inverse_frequency", copies="axis")
    examples, perturbed = benchmark.pairs(SPLITS[task])
    found: Copies = {kind: [] for kind in SIDES}
    for perturbation, copy in zip(benchmark.perturbations, perturbed, strict=True):
        for k in copy.changed:
            kind = side(examples[k], copy.examples[k], copy.axes[k], perturbation.words)
            found[kind].append((k, copy.examples[k]))
    for kind in ("one", "half"):
        found[kind] = found[kind][::THINNED]
    some = examples[::THINNED]
    place = {astuple(example): k for k, example in reversed(list(enumerate(examples)))}
    gendered = in_the_hypothesis(some, partners(), find_task(task).labels.index(SAME[task]))
    pairs = {"57_pairs": changed(some, partners()), "hypothesis": gendered, "colours": changed(some, next_colours())}
    return found | {kind: [(place[astuple(old)], new) for old, new in each] for kind, each in pairs.items()}


def read_copies(file: Path, task: str) -> Copies:
    """Read the changed copies of a task from a file, which is written if it does not exist."""
    if not file.exists():
        content = {kind: [(k, astuple(one)) for k, one in some] for kind, some in copies_of(task).items()}
        write_whole(file, json.dumps(content) + "\n")
    content = json.loads(file.read_text(encoding="utf-8"))
    return {kind: [(k, Example(*one)) for k, one in some] for kind, some in content.items()}


def train(folder: Path, task: str, arm: str, seed: int, training: str = "mixed") -> None:
    """Train the classifier of an arm, unless it is finished, and keep its weights but not its checkpoints."""
    augmentation, settings = ARMS[arm]
    given = ["+experiment=fairtune_glue", "backbone=minilm_mlm", f"training={training}", augmentation, "benchmark=none"]
    values: dict[str, Setting] = {
        "task": task,
        "data.limit": LIMITS[task],
        "method.epochs": 2,
        "method.lr": 1e-4,
        "method.validate_every": 94,
        "measure_before": False,
        "seed": seed,
        **settings,
    }
    run_part("train", given, values, folder)
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)


def measure(folder: Path, task: str, copies: Copies) -> None:
    """Write the predictions of a run for all evaluation examples and for their changed copies, in bfloat16."""
    known = find_task(task)
    classifier = Classifier(fairlab.load(folder / "model", max_length=128), known.labels)
    predicted = partial(predictions, classifier, known)
    with torch.autocast("cpu", torch.bfloat16):
        items = {"originals": predicted(read_task(task, SPLITS[task]))}
        items |= {kind: predicted([copy for _, copy in some]) for kind, some in copies.items()}
    save_file({name: labels.astype(np.int8) for name, labels in items.items()}, folder / ITEMS)


def main() -> None:
    """Train and measure every run that is not finished, all arms of a seed before the next seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(LIMITS), choices=list(LIMITS))
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[42, 43, 44, 45, 46])
    parser.add_argument("--float32", action="store_true", help="train in float32, in folders named ARM_float32")
    arguments = parser.parse_args()
    precision, suffix = ("float32", "_float32") if arguments.float32 else ("mixed", "")
    for task in arguments.tasks:
        copies = read_copies(arguments.runs / f"{task}.json", task)
        for seed, arm in product(arguments.seeds, arguments.arms):
            folder = arguments.runs / task / f"{arm}{suffix}" / f"seed_{seed}"
            train(folder, task, arm, seed, precision)
            if not (folder / ITEMS).exists():
                measure(folder, task, copies)
            print(folder, flush=True)


if __name__ == "__main__":
    main()
