"""Fairscores of SNLI's classifiers on changes that fairtuning was not trained on.

    FAIRLAB_DATA=... python -m experiments.perturbation.controls RUNS OUT [--every N]

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=perturbation``, whose classifiers ``roberta_orig``
and ``roberta_fair`` are measured on SNLI's test file, every Nth pair. *57 pairs* exchanges every word of either gender
for its partner in both texts, by bias-bench's list, whomever it means: another list than that of the rules which made
the training data, and no choice of a person, so that the pair's label stays. *Hypothesis* exchanges them in the
hypothesis alone, of pairs that entail and have such words in both texts: now the label must change (*a man sings*, *a
woman sings*), and a classifier that has learned to overlook gender keeps it. *Colours* exchanges colours of things,
which has nothing to do with people: were classifiers steadier on it as well, fairtuning would have made them steadier,
not fairer. OUT gets a ``record.json`` with the share of labels that change, and fairtuned less finetuned; seeds and
pairs are resampled.
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
    """Every colour with the one that takes its place."""
    return dict(zip(COLOURS, (*COLOURS[1:], COLOURS[0]), strict=True))


def changed(examples: list[Example], partner: Mapping[str, str]) -> Pairs:
    """Return the examples that hold a word with a partner, as they are and exchanged."""
    made = [example.with_fields([exchanged(field, partner) for field in example.fields]) for example in examples]
    return [pair for pair in zip(examples, made, strict=True) if pair[0] != pair[1]]


def in_the_hypothesis(examples: list[Example], partner: Mapping[str, str]) -> Pairs:
    """Examples that entail with words that have partners in both texts, as they are and exchanged in the second."""
    entail = find_task(TASK).labels.index("entailment")
    fields = [[exchanged(field, partner) for field in example.fields] for example in examples]
    return [
        (one, one.with_fields([one.first, second]))
        for one, (first, second) in zip(examples, fields, strict=True)
        if one.label == entail and first != one.first and second != one.second
    ]


KINDS: dict[str, Callable[[list[Example]], Pairs]] = {
    "57_pairs": lambda examples: changed(examples, partners()),
    "hypothesis": lambda examples: in_the_hypothesis(examples, partners()),
    "colours": lambda examples: changed(examples, next_colours()),
}


def flips(folder: Path, pairs: Mapping[str, Pairs]) -> dict[str, np.ndarray]:
    """100 for each changed example whose label changes, 0 for the others, by the kind of change."""
    task = find_task(TASK)
    classifier = Classifier(fairlab.load(folder, max_length=128), task.labels)
    return {
        kind: 100.0 * np.not_equal(*(predictions(classifier, task, list(side)) for side in zip(*some, strict=True)))
        for kind, some in pairs.items()
    }


def add_fairscores(record: Record, found: Mapping[str, Samples], benchmark: str, subset: str) -> None:
    """Add to a record the share of labels that change, of the models ORIG and FAIR, and FAIR less ORIG."""
    for model in (ORIG, FAIR):
        low, high = percentile_interval(nested_draws(*found[model]))
        value, number = float(found[model][0].mean()), found[model][0].shape[1]
        record.readings.append(Reading(benchmark, subset, "fairscore", value, "%", 0.0, number, low, high, phase=model))
    place = (benchmark, subset, "fairscore")
    record.comparisons.append(compared(found[FAIR], found[ORIG], place, f"{FAIR} less {ORIG}"))


def main() -> None:
    """Measure, write the record and print it."""
    parser = arguments_of(__doc__)
    parser.add_argument("--every", type=int, default=2, metavar="N", help="of N pairs one is measured")
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
