"""Measure fairscores of SNLI classifiers on changes that fairtuning was not trained on.

    FAIRLAB_DATA=... python -m experiments.perturbation.controls RUNS OUT [--every N]

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=perturbation``. Its classifiers ``roberta_orig`` and
``roberta_fair`` are measured on every Nth pair of SNLI's test file, with three kinds of change:

- *57 pairs* replaces every gendered word in both texts by its counterpart in bias-bench's list, whoever it refers to.
  The list differs from that of the rules that made the training data. No person is selected, so the pair keeps its
  label.
- *Hypothesis* replaces such words only in the hypothesis, in entailment pairs that have them in both texts. The label
  must now change (*a man sings*, *a woman sings*). A classifier that has learned to ignore gender keeps it.
- *Colours* replaces colours of things, which have nothing to do with people. If classifiers were more stable on this
  change as well, fairtuning would have made them more stable, not fairer.

OUT gets a ``record.json`` with the percentage of labels that change, and the difference between fairtuned and finetuned
classifiers. Intervals come from resampling seeds and pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import fairlab
from experiments.over_seeds import Samples, arguments_of, compared, finished, record_in, save, whole
from experiments.rewriting.sets import exchanged, partners
from experiments.shared.nested_draws import nested_draws
from fairlab.backbones.classification import Classifier
from fairlab.benchmarks.classification import predictions
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import Example, find_task
from fairlab.metrics.bootstrap import percentile_interval
from fairlab.record import Reading, Record

TASK, SPLIT = "snli_validation", "test"
ORIG, FAIR = "roberta_orig", "roberta_fair"  # finetuned, fairtuned
Pairs = list[tuple[Example, Example]]  # before and after
COLOURS = ("red", "blue", "green", "yellow", "orange", "purple", "pink")  # black, white and brown may be people's


def next_colours() -> dict[str, str]:
    """Return the colour that replaces each colour."""
    return dict(zip(COLOURS, (*COLOURS[1:], COLOURS[0]), strict=True))


def changed(examples: list[Example], partner: Mapping[str, str]) -> Pairs:
    """Return the examples that contain a word with a counterpart, before and after its replacement."""
    made = [example.with_fields([exchanged(field, partner) for field in example.fields]) for example in examples]
    return [pair for pair in zip(examples, made, strict=True) if pair[0] != pair[1]]


def in_the_hypothesis(examples: list[Example], partner: Mapping[str, str], label: int) -> Pairs:
    """Return the examples of a label with replaceable words in both texts, before and after changing the second."""
    fields = [[exchanged(field, partner) for field in example.fields] for example in examples]
    return [
        (one, one.with_fields([one.first, second]))
        for one, (first, second) in zip(examples, fields, strict=True)
        if one.label == label and first != one.first and second != one.second
    ]


KINDS: dict[str, Callable[[list[Example]], Pairs]] = {
    "57_pairs": lambda examples: changed(examples, partners()),
    "hypothesis": lambda examples: in_the_hypothesis(examples, partners(), find_task(TASK).labels.index("entailment")),
    "colours": lambda examples: changed(examples, next_colours()),
}


def flips(folder: Path, pairs: Mapping[str, Pairs]) -> dict[str, np.ndarray]:
    """Return 100 for each changed example whose predicted label changes and 0 for the others, by kind of change."""
    task = find_task(TASK)
    classifier = Classifier(fairlab.load(folder, max_length=128), task.labels)
    return {
        kind: 100.0 * np.not_equal(*(predictions(classifier, task, list(side)) for side in zip(*some, strict=True)))
        for kind, some in pairs.items()
    }


def add_fairscores(record: Record, found: Mapping[str, Samples], benchmark: str, subset: str) -> None:
    """Add the percentage of changed labels to a record, for the models ORIG and FAIR and for FAIR minus ORIG."""
    for model in (ORIG, FAIR):
        low, high = percentile_interval(nested_draws(*found[model]))
        value, number = float(found[model][0].mean()), found[model][0].shape[1]
        record.readings.append(Reading(benchmark, subset, "fairscore", value, "%", 0.0, number, low, high, phase=model))
    place = (benchmark, subset, "fairscore")
    record.comparisons.append(compared(found[FAIR], found[ORIG], place, f"{FAIR} less {ORIG}"))


def main() -> None:
    """Measure the fairscores, write the record and print it."""
    parser = arguments_of(__doc__)
    parser.add_argument("--every", type=int, default=2, metavar="N", help="measure every Nth pair")
    arguments = parser.parse_args()
    examples = read_task(TASK, SPLIT)[:: arguments.every]
    pairs = {kind: made(examples) for kind, made in KINDS.items()}
    folders = {model: arguments.runs / f"{model}_{TASK}" for model in (ORIG, FAIR)}
    seeds = finished(*folders.values())
    found = {
        model: [flips(folder / f"seed_{seed}" / "model", pairs) for seed in seeds] for model, folder in folders.items()
    }
    record = record_in(arguments.out, "-m", "experiments.perturbation.controls")
    for kind in KINDS:
        samples = {model: whole(np.stack([one[kind] for one in of_model])) for model, of_model in found.items()}
        add_fairscores(record, samples, f"{TASK}_{kind}", SPLIT)
    save(record, {"seeds": seeds, "every": arguments.every})


if __name__ == "__main__":
    main()
