"""Measure trained encoders on the validation bench, and append the results to ``encoder_trials.jsonl``.

    python -m experiments.ccd.validation.encoders minilm_mlm outputs/ccd_bert/RUN ... --set lean=0.8,1

Folders are runs of ``fairlab.train +experiment=ccd_bert backbone=minilm_mlm``, of another method, or of a training that
started from another run's model (``backbone=minilm backbone.name=RUN/model``). Every encoder is compared with the named
backbone, alone and with each combination of settings of a linear map that is fitted to the encoder, as with
``then=[ccd_linear]``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from experiments.ccd.validation.bench import FOLDER, Bench
from experiments.ccd.validation.search import asked_for, kept_embeddings, matrix_of, settings_of_the_map, trained_on
from fairlab.files import holds_run
from fairlab.record import Record

OPTIONS = ("neutral", "others", "alignment", "last_layers", "beta")


def trials(name: str, run: Path, asked: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the readings of a run's encoder, compared with its backbone, and then with each linear map."""
    config = Record.load(run).config
    before, embedded = Bench(kept_embeddings(name)), kept_embeddings(name, run)
    after = Bench(embedded)
    row = {"encoder": name, "methods": methods_of(config), **{key: config["method"].get(key) for key in OPTIONS}}
    row |= {"more": config["data"].get("more", []), "then": list(config.get("then") or []), "seed": config["seed"]}
    yield row | before.compared(after.original)
    chosen = settings_of_the_map()
    for values in product(*asked.values()) if asked else ():
        settings = dict(zip(asked, values, strict=True))
        matrix = matrix_of(embedded, chosen | settings, config["seed"], trained_on(config))
        yield row | {"then": [{"ccd_linear": settings}]} | before.compared(after.readings(matrix))


def methods_of(config: Mapping[str, Any]) -> list[str]:
    """Return the methods that trained an encoder, in order, with the version of the loss if there are several."""
    begun = Path(config["backbone"]["name"]).parent
    earlier = methods_of(Record.load(begun).config) if holds_run(begun) else []
    settings = config["method"]
    version = f", {settings['compat']}" if "compat" in settings else ""
    return [*earlier, settings["_target_"].rpartition(".")[2] + version]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backbone")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE,VALUE", dest="asked")
    given = parser.parse_args()
    for one in given.runs:
        for trial in trials(given.backbone, Path(one), asked_for(given.asked)):
            with (FOLDER / "encoder_trials.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(trial) + "\n")
            print({name: value for name, value in trial.items() if name != "effects"}, flush=True)
