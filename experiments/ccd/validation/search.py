"""Try settings of the linear map on the validation bench, and append each trial to ``trials.jsonl``.

    python experiments/ccd/validation/search.py minilm_mlm mpnet --set drift=0.005,0.01 --set lean=0.8,1

The command tries every combination on each backbone, with all other settings from ``conf/method/ccd_linear.yaml``.
Embeddings are cached in ``outputs/bench``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch
import yaml

import fairlab
from experiments.ccd.validation.bench import FOLDER, Bench, Embedded
from fairlab.data.groups import read_groups
from fairlab.methods.ccd_linear import MapSettings, anchor_texts, lean_removed, trained_map
from fairlab.record import Record
from fairlab.types import Group

SETTINGS = Path("conf/method/ccd_linear.yaml")
KEPT = Path("outputs/bench")


def settings_of_the_map() -> dict[str, Any]:
    """Return the settings of ``method=ccd_linear``."""
    return yaml.safe_load(SETTINGS.read_text(encoding="utf-8")) | {"lr": 1e-3}  # YAML reads 1e-3 as text


def kept_embeddings(name: str, run: Path | None = None, part: str = "") -> Embedded:
    """Return the embedding cache of a backbone, or of the encoder that a run trained.

    Every encoder and part has a separate file.
    """
    encoder = fairlab.load(name if run is None else str(run))
    weights = "" if run is None else f"_{Record.load(run).provenance['model_sha256'][:12]}"
    return Embedded(encoder, KEPT / f"{name}{weights}{part}.pt")


def people(split: str = "train") -> list[Group]:
    """Return the passages of the training split, or of another split."""
    return [group for group in read_groups("embedded/people") if group.extra["split"] == split]


def trained_on(config: dict[str, Any]) -> list[Group]:
    """Return the groups that a run was trained on: the passages, and the groups of ``data.more``.

    Raises:
        SystemExit: The run was trained on other groups.
    """
    if config["data"].get("path") != "embedded/people":
        raise SystemExit("this run was not trained on embedded/people; measure it with --then none")
    return [*people(), *(group for place in config["data"]["more"] for group in read_groups(place))]


def matrix_of(
    embedded: Embedded, settings: dict[str, Any], seed: int = 42, groups: Sequence[Group] | None = None
) -> torch.Tensor:
    """Return the matrix of the linear map for given settings and groups, from cached embeddings."""
    passages = people() if groups is None else groups
    short = [] if settings["short"] is None else [read_groups(settings["short"])]
    kinds = [embedded.groups(kind) for kind in [passages, *short, *map(read_groups, settings["directions"])]]
    anchors = embedded([] if settings["anchors"] is None else anchor_texts(settings["anchors"]))
    start = lean_removed(kinds, anchors, settings["lean"])
    names = ("drift", "rho", "lr", "epochs", "batch_size")
    steps = MapSettings(**{name: settings[name] for name in names}, seed=seed)
    return trained_map(torch.cat(kinds[: 1 + len(short)]), start, steps)[0]


def asked_for(given: Sequence[str]) -> dict[str, list[Any]]:
    """Parse arguments such as ``lean=0.8,1`` to settings and their values."""
    return {name: yaml.safe_load(f"[{values}]") for name, _, values in (one.partition("=") for one in given)}


def main() -> None:
    """Try the settings given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backbones", nargs="+")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE,VALUE", dest="asked")
    given = parser.parse_args()
    chosen = settings_of_the_map()
    asked = asked_for(given.asked)
    for backbone in given.backbones:
        embedded = kept_embeddings(backbone)
        bench = Bench(embedded)
        for values in product(*asked.values()):
            changed = dict(zip(asked, values, strict=True))
            begun = time.perf_counter()
            matrix = matrix_of(embedded, chosen | changed)
            seconds = round(time.perf_counter() - begun, 1)
            path = (chosen | changed)["short"]
            short = 0 if path is None else len(read_groups(path))
            settings = {name: (chosen | changed)[name] for name in ("lean", "drift", "epochs", "directions")}
            trial = {
                "encoder": backbone,
                **settings,
                **changed,
                **bench.trial(matrix),
                "seconds": seconds,
                "short_groups": short,
            }
            with (FOLDER / "trials.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(trial) + "\n")
            print({name: value for name, value in trial.items() if name != "effects"}, flush=True)


if __name__ == "__main__":
    main()
