"""Comparison of the larger model's runs, which differ in the tuning data, on the same contexts, entries and pairs.

    python experiments/biasers/larger.py RUNS OUT

RUNS is the folder ``runs`` of ``python -m fairlab.reproduce paper=biasers table=larger seeds=1``. The differences
between each run and the previous ones in the table are written to OUT as a ``record.json``; intervals and p-values
resample items.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from experiments.biasers.tables import LARGER, MEASURED
from experiments.over_seeds import arguments_of, record_in, save
from fairlab.record import Record
from fairlab.reporting.tables.comparing import compare_sides, only_side

SEED = 42


def main() -> None:
    """Compare the runs, and write and print the record."""
    arguments = arguments_of(__doc__).parse_args()
    record = record_in(arguments.out, "experiments/biasers/larger.py")
    sides = {arm: only_side(Record.load(arguments.runs / f"qwen_{arm}" / f"seed_{SEED}")) for arm in LARGER}
    for earlier, later in combinations(LARGER, 2):
        found = compare_sides(sides[earlier], sides[later])
        wanted = [one for one in found if f"after/{one.benchmark}/{one.subset}/{one.quantity}" in MEASURED]
        record.comparisons += [replace(one, phase=f"{later}_{earlier}") for one in wanted]
    save(record, {"runs": {arm: side.record.provenance["revision"] for arm, side in sides.items()}})


if __name__ == "__main__":
    main()
