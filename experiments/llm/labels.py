"""Measure whether texts rewritten to another subgroup keep their label (safe or unsafe to answer), by an LLM's verdict.

    python -m experiments.llm.labels SHEET.csv LEDGER OUT.json [THREADS]

The sheet is written by ``experiments.ensemble.injection record``. The model judges every text in a separate session.
Only counts are written.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from experiments.llm.served import served
from fairlab.files import write_whole
from fairlab.rewriting.labelled.label_keeping import Labelled, LLMLabelCheck

SAFE, UNSAFE = "safe", "unsafe"


def labels(check: LLMLabelCheck, texts: Sequence[str]) -> list[str]:
    """Return the label that the model assigns to each text."""
    faults = check.faults([Labelled(text, SAFE) for text in texts], texts)
    return [SAFE if fault is None else UNSAFE for fault in faults]


def main(sheet: Path, ledger: Path, out: Path, threads: str = "1") -> None:
    """Count the pairs of labels of seeds and their versions."""
    with sheet.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    llm = served(ledger, threads)
    check = LLMLabelCheck(llm, (SAFE, UNSAFE))
    pairs = Counter(zip(*(labels(check, [row[key] for row in rows]) for key in ("seed", "text")), strict=True))
    found = {f"{seed} to {version}": count for (seed, version), count in sorted(pairs.items())}
    write_whole(
        out, json.dumps({"llm": llm.name, "seeds": len({row["seed"] for row in rows}), **found}, indent=1) + "\n"
    )


if __name__ == "__main__":
    sheet_file, ledger_file, result, *rest = sys.argv[1:]
    main(Path(sheet_file), Path(ledger_file), Path(result), *rest)
