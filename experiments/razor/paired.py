"""Effect of each method of the study relative to training on the original pairs, on the same test examples.

    python experiments/razor/paired.py RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=razor table=study``. The script writes
``record.json`` to OUT with the mean difference over seeds for each method and test set. Each run is compared with the
run on the original pairs that has the same seed, encoder and number of steps. Intervals and p-values resample seeds and
examples, with the same examples for all seeds.
"""

from __future__ import annotations

from pathlib import Path

from experiments.over_seeds import arguments_of, compared, finished, record_in, right, save
from experiments.razor.study import ORIGINALS, reference_of
from fairlab.record import Comparison, Record

SETS = {
    "fever_symmetric": "test",
    "fever_symmetric_v01": "full",
    "vitaminc_two_way": "test",
    "mnli_two_way": "dev",
}


def comparisons(method: str, reference: str, runs: Path, seeds: list[int]) -> list[Comparison]:
    """Return the differences between a method and the original pairs on all test sets."""
    return [
        compared(
            *(right(runs / name, seeds, task, split) for name in (method, reference)),
            (task, split, "accuracy"),
            method,
        )
        for task, split in SETS.items()
    ]


def main() -> None:
    """Compare the methods, and write and print the record."""
    arguments = arguments_of(__doc__).parse_args()
    record = record_in(arguments.out, "experiments/razor/paired.py")
    seeds, references = {}, {}
    for folder in sorted(set(arguments.runs.glob("claims_*")) - {arguments.runs / one for one in ORIGINALS}):
        reference = reference_of(Record.load(next(folder.glob("seed_*/record.json*")).parent))
        both = finished(folder, arguments.runs / reference)
        if len(both) > 1:
            seeds[folder.name], references[folder.name] = both, reference
            record.comparisons += comparisons(folder.name, reference, arguments.runs, both)
    save(record, {"references": references, "seeds": seeds})


if __name__ == "__main__":
    main()
