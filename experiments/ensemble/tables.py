"""Tables on settings and versions for the ensemble page, and functions shared by all of its tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from experiments.rendering import interval, markdown
from experiments.shared.seeds import median_run
from fairlab.record import Reading, Record

RECORDS = Path(__file__).parent / "records"
SKILL = "skill"  # folder with the runs of the current default
HARMS = ("hate", "violence")


def records_of(folder: str) -> list[Record]:
    """Return the records in a folder of runs, one per seed, in the order of seeds."""
    return [Record.load(file.parent) for file in sorted((RECORDS / folder).glob("seed_*/record.json*"))]


def by_key(record: Record) -> dict[str, Reading]:
    """Return the debiased model's readings, including its changes, by benchmark, subset and quantity."""
    return {f"{one.benchmark}/{one.subset}/{one.quantity}": one for one in record.readings if one.phase == "after"}


def over_seeds(folder: str = SKILL) -> list[dict[str, Reading]]:
    """Return the readings of committed runs, as one mapping per seed."""
    return [by_key(record) for record in records_of(folder)]


def cell(seeds: list[dict[str, Reading]], key: str, digits: int = 1) -> str:
    """Format the median over seeds with its interval and the range over seeds.

    The text is empty if there are no measurements.
    """
    found = [readings[key] for readings in seeds if key in readings]
    if not found:
        return ""
    values = [one.value for one in found]
    apart = f" ({min(values):.{digits}f} to {max(values):.{digits}f})" if len(values) > 1 else ""
    return interval(median_run(found), digits) + apart


def settings_compared() -> str:
    """Return a table of the settings' validation results, and of the test folds that selected each setting."""
    records = records_of(SKILL)
    rows = []
    for harm in HARMS:
        found = [record.provenance["method"]["settings"][harm] for record in records]
        for k, one in enumerate(found[0]["validation"]):
            name = one["name"]
            cells = [
                "; ".join(f"{of['validation'][k][part]:.1f}" for of in found) for part in ("precision", "variance")
            ]
            times = "; ".join(str(of["by_test_fold"].count(name)) for of in found)
            exported = ", ".join(
                str(record.config["seed"]) for record, of in zip(records, found, strict=True) if of["exported"] == name
            )
            rows.append([harm, name, *cells, times, exported])
    head = [
        "harm",
        "setting",
        "AU-PRC, validation",
        "ACV, validation",
        "test folds that select it",
        "seeds that export it",
    ]
    return markdown(head, rows)


def versions_read() -> str:
    """Return a sentence that counts the versions that were read and explains the broken ones."""
    with (Path(__file__).parent / "versions_read.csv").open(encoding="utf-8", newline="") as lines:
        read = list(csv.DictReader(lines))
    broken = [row for row in read if row["verdict"] != "sound"]
    reasons = "; ".join(f"{row['changed']}: {row['note']}" for row in broken)
    return f"Number of versions checked: {len(read)}. Number of broken versions: {len(broken)} ({reasons})."


def injected() -> str:
    """Return a table of a language model's verdicts on its versions, compared with a reading."""
    folder = Path(__file__).parent
    record = json.loads((folder / "records" / "injection.json").read_text(encoding="utf-8"))
    with (folder / "injection_read.csv").open(encoding="utf-8", newline="") as lines:
        read = list(csv.DictReader(lines))
    told = {flagged: [row["right"] == "yes" for row in read if row["flagged"] == flagged] for flagged in ("yes", "no")}
    same = record["counts"]["versions equal to their seed"]
    return markdown(
        ["requested versions", "number", "judged right by reading"],
        [
            ["flagged by the model", str(len(told["yes"])), str(sum(told["yes"]))],
            ["not flagged", str(len(told["no"])), str(sum(told["no"]))],
            ["left out, because equal to the seed", str(same), "0"],
        ],
    )


PAGES = {
    "experiments/ensemble/README.md": {
        "settings": settings_compared,
        "read": versions_read,
        "injected": injected,
    },
}
