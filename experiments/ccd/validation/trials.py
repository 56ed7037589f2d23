"""Run the trials of the second study on the bench, and add each to ``second_trials.jsonl.gz``.

    python -m experiments.ccd.validation.trials minilm mpnet --methods leace ccd

A trial that the record has is not run again. Embeddings and trained encoders are kept in ``outputs/bench``; a training
that was stopped continues from its checkpoint.
"""

from __future__ import annotations

import argparse
import fcntl
import gzip
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from experiments.ccd.validation.bench import FOLDER, Bench
from experiments.ccd.validation.matrices import (
    KEPT,
    Matrix,
    inlp,
    kept_embeddings,
    leace,
    linear_map,
    people,
    sentence_debias,
)
from experiments.compact import rounded
from experiments.shared import resumed
from fairlab.metrics.convergence import unlearned
from fairlab.record import Record

FILE = FOLDER / "second_trials.jsonl.gz"
SEED = 42
Settings = Mapping[str, Any]

ERASERS: dict[str, Callable[..., Matrix]] = {
    "sentence_debias": sentence_debias,
    "inlp": inlp,
    "leace": leace,
    "ccd_linear": linear_map,
}
TRAINED = {
    "ccd": ["+experiment=ccd_bert"],
    "ccd_aligned": ["+experiment=ccd_aligned_bert", "then=[]"],
    "dpce": ["+experiment=dpce_sentences_bert", "method.compat=fixed"],
    "adept": ["+experiment=adept_sentences_bert", "method.rho=scaled"],
    "cda": ["+experiment=cda_text_bert"],
}
CHOICES = ("data", "augmentation")  # settings that choose a configuration file; all others are of the method
TRIED: dict[str, dict[str, list[Any]]] = {
    "sentence_debias": {"components": list(range(1, 13))},
    "inlp": {"classifiers": [1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 60, 80]},
    "leace": {"covariance": ["within", "classes"], "ridge": [0.01, 0.03, 0.1], "neutral": [True, False]},
    "ccd_linear": {"lean": [0.6, 0.8, 1], "drift": [2, 4, 16, 32]},
    "ccd": {"beta": [0.5, 1, 1.5], "epochs": [1, 3], "lr": [2e-5, 5e-5]},
    "ccd_aligned": {"alignment": [0.1, 0.3, 1], "beta": [0.5, 1], "epochs": [1, 3]},
    "dpce": {"alpha": [0.1, 0.2, 0.4], "epochs": [1, 3], "data": ["dpce_sentences", "groups"]},
    "adept": {"alpha": [0.1, 0.3, 0.6], "epochs": [1, 3], "data": ["adept_sentences", "groups"]},
    "cda": {"epochs": [1, 3], "lr": [2e-5, 5e-5, 1e-4], "augmentation": ["rules", "cda_text"]},
}


def settings_of(method: str) -> list[dict[str, Any]]:
    """Return the settings that are tried of a method."""
    return [dict(zip(TRIED[method], values, strict=True)) for values in product(*TRIED[method].values())]


def tried() -> list[dict[str, Any]]:
    """Return the trials of the record, in the order they were made."""
    return [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()] if FILE.is_file() else []


def add(encoder: str, method: str, settings: Settings, found: Settings) -> None:
    """Add a trial to the record, which other processes may do at the same time."""
    row = {"encoder": encoder, "method": method, "settings": dict(settings)} | rounded(dict(found))
    with FILE.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        lines = gzip.decompress(file.read()) + json.dumps(row, separators=(",", ":")).encode() + b"\n"
        file.truncate(0)
        file.write(gzip.compress(lines, mtime=0))
    print({name: value for name, value in row.items() if name not in ("effects", "p")}, flush=True)


def overrides(encoder: str, method: str, settings: Settings, seed: int = SEED) -> list[str]:
    """Return the options of ``fairlab.train`` that train an encoder with a setting, without benchmarks."""
    changed = [f"{key}={value}" if key in CHOICES else f"method.{key}={value}" for key, value in settings.items()]
    measured = ["benchmark=none", "measure_before=false"]
    return [*TRAINED[method], *changed, f"backbone={encoder}", "training=mixed", *measured, f"seed={seed}"]


def trained(encoder: str, method: str, settings: Settings, seed: int = SEED) -> Record:
    """Train an encoder unless that was done, and return the record of its run."""
    parts = [f"{key}_{value}" for key, value in settings.items()] + [f"seed_{seed}"] * (seed != SEED)
    folder = KEPT / "runs" / encoder / method / "_".join(parts)
    record = resumed.trained(folder, overrides(encoder, method, settings, seed))
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)  # several times as large as the model
    return record


def losses(record: Record) -> dict[str, Any]:
    """Return the loss that should fall at the first step and at best on held-out data, and whether it fell."""
    name = "bias_loss" if any("train/bias_loss" in row for row in record.history) else "loss"
    first, held_out = (
        [row[f"{part}/{name}"] for row in record.history if f"{part}/{name}" in row] for part in ("train", "validation")
    )
    return {"loss": [first[0], min(held_out)], "learned": not unlearned(record.history)}


def run(encoder: str, methods: Sequence[str]) -> None:
    """Run the trials of an encoder that the record lacks, and read the encoder itself first."""
    embedded = kept_embeddings(encoder)
    before = Bench(embedded)
    done = [(one["encoder"], one["method"], one["settings"]) for one in tried()]
    if (encoder, "none", {}) not in done:
        add(encoder, "none", {}, before.read(before.unchanged, before))
    for method in methods:
        for settings in settings_of(method):
            if (encoder, method, settings) in done:
                continue
            begun = time.perf_counter()
            if method in ERASERS:
                matrix = ERASERS[method](**settings)(embedded, people(), SEED)
                found = {"seconds": time.perf_counter() - begun} | before.read(matrix, before)
            else:
                record = trained(encoder, method, settings)
                after = Bench(kept_embeddings(encoder, record.folder))
                found = {"seconds": record.provenance["wall_seconds"]} | losses(record)
                found |= after.read(after.unchanged, before)
            add(encoder, method, settings, found)


def main() -> None:
    """Run the trials that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--methods", nargs="+", choices=list(TRIED), default=list(TRIED))
    given = parser.parse_args()
    for encoder in given.encoders:
        run(encoder, given.methods)


if __name__ == "__main__":
    main()
