r"""Counterfactual versions that a language model writes, corrects and flags for seed texts, with a sheet to check them.

    python -m experiments.ensemble.injection draw seeds.csv --count 60
    python -m fairlab.augment +augmentation=identity augmentation.inject=llm llm=local llm.model=NAME \
        input=seeds.csv field=prompt output=made
    python -m experiments.ensemble.injection record made --sheet sheet.csv

``draw`` writes short seed texts that name a subgroup, in equal numbers per identity category and with a fixed random
seed. ``record`` writes ``records/injection.json``: how many versions had each outcome, and how many equal the version
from the word lists. The sheet shows 50 versions next to their seed texts for reading. It contains published
texts and is therefore stored outside of the project. The results of checking are in ``injection_read.csv``, by version
id.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlab.augmentation.identity import Identity
from fairlab.checks.json_text import from_json
from fairlab.data.published.download import locate
from fairlab.data.safety_readers import SEEDS
from fairlab.data.safety_texts import CATEGORIES, NONE
from fairlab.data.stream.manifest import data_files
from fairlab.files import read_record, record_file

RECORD = Path(__file__).parent / "records" / "injection.json"
LONGEST = 200  # maximum number of characters in a seed text
SHEET = 50  # number of versions to read
SEED = 26


def draw(count: int) -> list[dict[str, str]]:
    """Return rows of short seed texts about a subgroup, in equal numbers per category."""
    with locate(SEEDS).open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["subgroup"] != NONE and len(row["prompt"]) <= LONGEST]
    rng = random.Random(SEED)
    some = [
        rng.sample([row for row in rows if row["subgroup"].startswith(f"{category}:")], count // len(CATEGORIES))
        for category in CATEGORIES
    ]
    return [row for of_category in some for row in of_category]


def versions_of(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield every version with its seed text: ``id``, ``seed``, ``text``, ``corrected`` and ``flagged``."""
    for file in data_files(folder):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = from_json(line)
            if "source_id" in row:
                yield {
                    "id": row["id"],
                    "seed": row["source_text"],
                    "text": row["prompt"],
                    "corrected": row["corrected"],
                    "flagged": "",
                }
    review = folder / "review.jsonl"
    for line in review.read_text(encoding="utf-8").splitlines() if review.is_file() else ():
        row = from_json(line)
        yield {
            "id": row["id"],
            "seed": row["source_text"],
            "text": row["text"],
            "corrected": None,
            "flagged": row["why"],
        }


def summary(folder: Path) -> dict[str, Any]:
    """Return the counts of requested versions by outcome, and their agreement with word lists."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    provenance = json.loads(read_record(record_file(folder)))["provenance"]
    rules, counts = Identity(), manifest["counts"]
    found = list(versions_of(folder))
    by_rules = [one["text"].casefold() in _rule_versions(rules, one) for one in found]
    return {
        "revision": provenance["revision"],
        "llm": provenance.get("rewriter"),
        "seconds": provenance["wall_seconds"],
        "seeds": manifest["read"],
        "counts": {name: count for name, count in counts.items() if not name.startswith("to/")},
        "versions": {
            "made": len(found),
            "flagged": sum(bool(one["flagged"]) for one in found),
            "as by word lists": sum(by_rules),
        },
    }


def _rule_versions(rules: Identity, version: dict[str, Any]) -> set[str]:
    """Return the word lists' versions of the seed text for the same subgroup, in lower case.

    The seed text may be about any other subgroup of the category.
    """
    target = str(version["id"]).rpartition("-")[2]
    category = next(name for name, subgroups in CATEGORIES.items() if target in subgroups)
    others = [name for name in CATEGORIES[category] if name != target]
    return {rules.versions(version["seed"], category, other).get(target, "").casefold() for other in others}


def write_sheet(folder: Path, file: Path) -> None:
    """Write a sheet of fifty random versions, including flagged versions, for reading."""
    found = list(versions_of(folder))
    some = random.Random(SEED).sample(found, min(SHEET, len(found)))
    with file.open("w", encoding="utf-8", newline="") as lines:
        rows = csv.DictWriter(lines, ["id", "seed", "text", "corrected", "flagged", "verdict", "note"])
        rows.writeheader()
        rows.writerows(some)


def main() -> None:
    """Sample seed texts (``draw``), or record how many of their versions had each outcome (``record``)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True, dest="part")
    drawing, recording = parts.add_parser("draw"), parts.add_parser("record")
    drawing.add_argument("file", type=Path)
    drawing.add_argument("--count", type=int, default=60)
    recording.add_argument("folder", type=Path)
    recording.add_argument("--sheet", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.part == "draw":
        rows = draw(arguments.count)
        with arguments.file.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return
    write_sheet(arguments.folder, arguments.sheet)
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(summary(arguments.folder), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
