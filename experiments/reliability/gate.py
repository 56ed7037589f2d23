"""What the check before any reading costs: its seconds and memory beside those of an evaluation of the same model.

``python experiments/reliability/gate.py`` writes ``gate.json`` beside this file, from which docs/reliability.md quotes.
"""

from __future__ import annotations

import json
import resource
import statistics
import time
from pathlib import Path
from typing import Any

import fairlab
from fairlab.benchmarks.validity import validity
from fairlab.files import write_whole

RESULT = Path(__file__).with_name("gate.json")
EVALUATIONS = {"minilm": ["cced", "seat", "bias_ir", "stsb"], "minilm_mlm": ["crows_pairs"]}
REPEATS = 3


def peak_megabytes() -> float:
    """Most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(name: str, benchmarks: list[str]) -> dict[str, Any]:
    """Seconds of the check, the median of several; of an evaluation, which makes the check too; and peaks of memory."""
    model = fairlab.load(name)
    model.embed(["The first text takes longer than the others."])
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        assert not validity(model).reason
        seconds.append(time.perf_counter() - started)
    check_peak = peak_megabytes()
    started = time.perf_counter()
    fairlab.evaluate(model, benchmarks)
    whole = time.perf_counter() - started
    check = statistics.median(seconds)
    return {
        "benchmarks": benchmarks,
        "check_seconds": round(check, 3),
        "evaluation_seconds": round(whole, 1),
        "share": round(check / whole, 4),
        "check_peak_mb": round(check_peak),
        "evaluation_peak_mb": round(peak_megabytes()),
    }


if __name__ == "__main__":
    found = {name: measured(name, benchmarks) for name, benchmarks in EVALUATIONS.items()}
    write_whole(RESULT, json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))
