"""Read trained encoders on the bench that settings are chosen by, and append each to ``encoder_trials.jsonl``.

    python -m experiments.ccd.validation.encoders minilm_mlm outputs/ccd_bert/RUN ...

Folders are those of ``fairlab.train +experiment=ccd_bert backbone=minilm_mlm``; each is compared with that backbone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import fairlab
from experiments.ccd.validation.bench import FOLDER, Bench, Embedded
from experiments.ccd.validation.search import KEPT
from fairlab.record import Record

SETTINGS = ("neutral", "alignment", "last_layers", "beta")


def trial(name: str, run: Path) -> dict[str, Any]:
    """What a run's encoder reads, beside the one it began as."""
    config = Record.load(run).config
    before = Bench(Embedded(fairlab.load(name), KEPT / f"{name}.pt"))
    with tempfile.TemporaryDirectory() as folder:
        after = Bench(Embedded(fairlab.load(str(run)), Path(folder) / "kept.pt"))
    settings = {key: config["method"][key] for key in SETTINGS}
    settings |= {"more": config["data"]["more"], "then": list(config.get("then") or {})}
    return {"encoder": name, **settings, "seed": config["seed"], **before.compared(after.original)}


if __name__ == "__main__":
    backbone, *runs = sys.argv[1:]
    for one in runs:
        row = trial(backbone, Path(one))
        with (FOLDER / "encoder_trials.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(row)
