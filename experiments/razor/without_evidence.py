"""Use of the evidence by the study's classifiers: their accuracy on the held-out pairs with and without it.

    python experiments/razor/without_evidence.py RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=razor table=study``. The script writes
``record.json`` to OUT with the accuracy of each run's exported model on the held-out pairs with their evidence, with
the evidence of the next pair instead, and with no evidence.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.razor.pairs import SHARE, TASK
from fairlab.backbones.classification import Classifier
from fairlab.backbones.loading import load_backbone
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import CLAIMS, Example
from fairlab.data.text import held_out
from fairlab.metrics.bootstrap import mean_draws, percentile_interval
from fairlab.record import Reading, Record
from fairlab.run.environment import environment


def variants(examples: list[Example]) -> dict[str, list[Example]]:
    """Return the pairs with their own evidence, with the evidence of the next pair, and without evidence."""
    following = [*examples[1:], examples[0]]
    return {
        "evidence": examples,
        "other_evidence": [replace(one, first=other.first) for one, other in zip(examples, following, strict=True)],
        "no_evidence": [replace(one, first="") for one in examples],
    }


def readings(model: Path, run: str, seed: int) -> list[Reading]:
    """Return the accuracy of an exported classifier on each variant of the held-out pairs."""
    backbone = load_backbone(str(model), pooling="mean", max_length=128, normalize=True)
    classifier, found = Classifier(backbone, CLAIMS), []
    held = [one for one in read_task(TASK, "train") if held_out(one.first, SHARE)]
    for name, examples in variants(held).items():
        outputs = classifier.outputs([pair for one in examples for pair in one.pairs], progress=name)
        right = 100.0 * (outputs.argmax(axis=1) == np.array([one.label for one in examples]))
        low, high = percentile_interval(mean_draws(right))
        place = ("held_out", name, "accuracy")
        found.append(Reading(*place, float(right.mean()), "%", 100.0, len(right), low, high, phase=run, seed=seed))
    return found


def main() -> None:
    """Measure, and write and print the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--methods", nargs="+", default=["claims_original", "claims_symmetric"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[42])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    record = Record(arguments.out, {}, shlex.join(["python", *sys.argv]))
    for run in arguments.methods:
        for seed in arguments.seeds:
            record.readings += readings(arguments.runs / run / f"seed_{seed}" / "model", run, seed)
    record.provenance |= environment()
    record.status = "finished"
    record.save()
    for reading in record.readings:
        print(reading.key, reading.seed, round(reading.value, 1))


if __name__ == "__main__":
    main()
