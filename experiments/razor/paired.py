"""What each method of the study changes against training on the original pairs, on the same test examples.

    python experiments/razor/paired.py RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=razor table=study``. OUT gets a ``record.json`` with
the mean difference over seeds of each method and test set, the run of a seed less the original's of the same seed. Its
interval and p-value resample seeds and examples, all seeds by the same examples.
"""

from __future__ import annotations

from pathlib import Path

from experiments.over_seeds import arguments_of, compared, finished, record_in, right, save
from fairlab.record import Comparison

REFERENCE = "claims_original"
SETS = {
    "fever_symmetric": "test",
    "fever_symmetric_v01": "full",
    "vitaminc_two_way": "test",
    "mnli_two_way": "dev",
}


def comparisons(method: str, runs: Path, seeds: list[int]) -> list[Comparison]:
    """The differences of one method to the original on every test set."""
    return [
        compared(
            *(right(runs / name, seeds, task, split) for name in (method, REFERENCE)),
            (task, split, "accuracy"),
            method,
        )
        for task, split in SETS.items()
    ]


def main() -> None:
    """Compare, write the record and print it."""
    arguments = arguments_of(__doc__).parse_args()
    record = record_in(arguments.out, "experiments/razor/paired.py")
    seeds = {}
    for folder in sorted(arguments.runs.glob("claims_*")):
        both = finished(folder, arguments.runs / REFERENCE)
        if folder.name != REFERENCE and len(both) > 1:
            seeds[folder.name] = both
            record.comparisons += comparisons(folder.name, arguments.runs, both)
    save(record, {"reference": REFERENCE, "seeds": seeds})


if __name__ == "__main__":
    main()
