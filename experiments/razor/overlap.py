"""Accuracy of a rule that ignores meaning: a claim is supported if the evidence has all its names and numbers.

    python experiments/razor/overlap.py PAIRS OUT

PAIRS is the output folder of ``pairs.py``, and augmentations of its pairs are in subfolders. The script writes
``record.json`` to OUT with the accuracy of the rule on each of these datasets and on the study's test sets. Names are
capitalised words, including the first word of a claim.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np

from experiments.over_seeds import record_in, save
from experiments.razor.paired import SETS
from fairlab.data.published.task_files import read_task
from fairlab.data.published.tasks import CLAIMS
from fairlab.data.stream.manifest import NAME, dataset_rows
from fairlab.metrics.bootstrap import mean_draws, percentile_interval
from fairlab.record import Reading
from fairlab.types import Row

WORD = re.compile(r"\w+")
Pair = tuple[str, str, str]  # evidence, claim, label


def holds_all(evidence: str, claim: str) -> bool:
    """Return whether the evidence contains all names and numbers of the claim, ignoring case."""
    held = {word.casefold() for word in WORD.findall(evidence)}
    return all(word.casefold() in held for word in WORD.findall(claim) if word[0].isupper() or word[0].isdigit())


def reading(name: str, pairs: list[Pair]) -> Reading:
    """Return the accuracy of the rule on a dataset, in per cent."""
    right = [100.0 * (holds_all(evidence, claim) == (label == "SUPPORTS")) for evidence, claim, label in pairs]
    low, high = percentile_interval(mean_draws(right))
    return Reading("overlap", name, "accuracy", float(np.mean(right)), "%", 50.0, len(right), low, high, phase="data")


def main() -> None:
    """Measure, and write and print the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    record = record_in(arguments.out, "experiments/razor/overlap.py")
    for place in sorted([*arguments.pairs.glob("*.jsonl"), *(one.parent for one in arguments.pairs.glob("*/" + NAME))]):
        rows = [one for one in dataset_rows(str(place), ["gold_evidence", "text"]) if isinstance(one, Row)]
        record.readings.append(reading(place.stem, [(*row.fields, row.extra["label"]) for row in rows]))
    for task, split in SETS.items():
        examples = read_task(task, split)
        record.readings.append(
            reading(task, [(one.first, str(one.second), CLAIMS[int(one.label)]) for one in examples])
        )
    save(record, {})


if __name__ == "__main__":
    main()
