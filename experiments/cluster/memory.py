"""Planned device memory for each paper's training at paper scale, on several numbers of devices.

python experiments/cluster/memory.py     # writes memory.json; then run python experiments/tables.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the path of a script contains only its own folder
from experiments.rendering import markdown
from fairlab.files import write_whole
from fairlab.run.config.composing import composed
from fairlab.run.folders import plain_config
from fairlab.run.planning.plan import plan_of_run

FILE = Path(__file__).with_name("memory.json")
LIBRARIES = 1e9  # bytes used by the libraries, as in a plan
RUNS = {
    "CCD, BERT": ["+experiment=ccd_bert", "data.path=groups.jsonl"],
    "FairBERTa, pretraining": ["+experiment=fairberta", "data.paths=[text]"],
    "fairtuning, RoBERTa": ["+experiment=fairtune_glue", "task=rte"],
    "perturber, BART-large": ["+experiment=perturber", "data.path=panda.csv"],
    "LLM A to D, QLoRA": ["+experiment=biaser_llm", "data.path=text"],
    "LLM A to D, LoRA of bfloat16": [
        "+experiment=biaser_llm",
        "data.path=text",
        "method.quantize=false",
        "backbone.dtype=bfloat16",
    ],
    "LLM A to D, all weights": [
        "+experiment=biaser_llm",
        "data.path=text",
        "method.quantize=false",
        "method.rank=null",
    ],
    "RAZOR, classifier": ["+experiment=razor_fever"],
}
PLACES: dict[str, tuple[int, dict[str, Any]]] = {  # gigabytes per device, and settings of the trainer
    "1 x 24 GB": (24, {"devices": 1}),
    "1 x 80 GB": (80, {"devices": 1}),
    "8 x 80 GB, DDP": (80, {"devices": 8, "strategy": "ddp"}),
    "8 x 80 GB, FSDP": (80, {"devices": 8, "strategy": "fsdp"}),
    "8 x 80 GB, FSDP, recomputed": (80, {"devices": 8, "strategy": "fsdp", "recompute": "full"}),
}


def measure() -> dict[str, dict[str, float | None]]:
    """Estimate the bytes of device memory by run and machine, or None if the run is not possible."""
    found: dict[str, dict[str, float | None]] = {}
    for name, overrides in RUNS.items():
        config = plain_config(composed("train", [*overrides, "scale=paper"], {}))
        found[name] = {}
        for place, (_, trainer) in PLACES.items():
            if trainer.get("strategy") == "fsdp" and config["method"].get("quantize"):
                found[name][place] = None  # 4-bit weights are not sharded
                continue
            plan = plan_of_run(name, {**config, "trainer": {**config["trainer"], "accelerator": "gpu", **trainer}})
            found[name][place] = None if plan.memory is None else plan.memory.total + LIBRARIES
    return found


def table() -> str:
    """Return a table of gigabytes by run and machine, in which runs that do not fit are marked."""
    rows = [
        [name, *(told(each[place], gigabytes) for place, (gigabytes, _) in PLACES.items())]
        for name, each in json.loads(FILE.read_text(encoding="utf-8")).items()
    ]
    return markdown(["run", *PLACES], rows)


def told(memory: float | None, gigabytes: int) -> str:
    """Format a number of gigabytes, in bold if the device has less memory."""
    if memory is None:
        return ""
    return f"{memory / 1e9:.1f}" if memory <= gigabytes * 1e9 else f"**{memory / 1e9:.0f}**, too much"


if __name__ == "__main__":
    write_whole(FILE, json.dumps(measure(), indent=1) + "\n")
    print(table())
