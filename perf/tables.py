"""Tables of the performance page and of other pages, made from the figures of the scripts."""

from __future__ import annotations

import importlib
import json
import sys
from functools import partial
from pathlib import Path

SCRIPTS = [
    "quickstart",
    "ccd_training",
    "rewriting",
    "rewriting_speed",
    "seat_permutations",
    "likelihoods",
    "likelihood_precision",
    "llm_ledger",
    "db_index",
    "continuations",
    "shortcut",
    "mlm_pretraining",
    "prepared_corpus",
    "perturber_decoding",
    "perturbation",
    "safety_scoring",
    "safety_sources",
    "safety_startup",
    "safety_load",
    "growth",
    "loading",
    "training_memory",
    "gpu_check",
]  # scripts whose figures are in results/
ELSEWHERE = ("loading", "training_memory", "gpu_check")  # shown on another page


def performance(name: str) -> str:
    """Return the table of a script's committed figures, or a sentence if there are none."""
    sys.path.insert(0, str(Path(__file__).parent))
    script = importlib.import_module(name)
    if not script.RESULTS.is_file():
        return f"Not measured yet: `python perf/{name}.py --write` does it."
    return script.table(json.loads(script.RESULTS.read_text(encoding="utf-8")))


PAGES = {
    "perf/README.md": {name: partial(performance, name) for name in SCRIPTS if name not in ELSEWHERE},
    "docs/multi_gpu.md": {name: partial(performance, name) for name in ELSEWHERE},
    "docs/rewriting.md": {"rewriting": partial(performance, "rewriting")},
}
