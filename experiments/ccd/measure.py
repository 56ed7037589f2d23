"""Measure encoders, each followed by single-matrix methods, on the reported benchmarks.

    python -m experiments.ccd.measure minilm_mlm                           # the backbone itself, for three seeds
    python -m experiments.ccd.measure minilm_mlm outputs/ccd_bert/RUN ... --name ccd  # runs of a method on the backbone

Records are written to ``records/composed/ENCODER/NAME/THEN/seed_N``. Their readings equal those of
``python -m fairlab.train ... then=[THEN]``, with the same matrices and benchmarks, but an encoder embeds each text only
once. These readings are not used to choose settings; the data in ``validation/`` is used for that.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiments.ccd.composed import FOLDER, TESTS
from experiments.ccd.validation.bench import Embedded, mapped
from experiments.ccd.validation.matrices import Matrix, inlp, kept_embeddings, linear_map, people, sentence_debias
from fairlab.benchmarks.bias_ir import BiasIR
from fairlab.benchmarks.cced import CCED
from fairlab.benchmarks.runner import add
from fairlab.benchmarks.seat import SEAT
from fairlab.benchmarks.stsb import STSB
from fairlab.data.groups import read_groups
from fairlab.files import holds_run
from fairlab.record import Record
from fairlab.run.environment import environment
from fairlab.types import Group

SEEDS = (42, 43, 44)


class Mapped:
    """Encoder for benchmarks that multiplies cached embeddings by a matrix."""

    def __init__(self, embedded: Embedded, matrix: Tensor) -> None:
        self.embedded = embedded
        self.matrix = matrix

    def embed(self, texts: Sequence[str], **_: Any) -> Tensor:
        """Return the embeddings (N, D) of texts, scaled to unit length."""
        return mapped(self.embedded(texts), self.matrix)


def trained_on(config: dict[str, Any]) -> list[Group]:
    """Return the groups that a run on the passages was trained on: these, and those of ``data.more``.

    Raises:
        SystemExit: it was trained on others.
    """
    if config["data"].get("path") != "embedded/people":
        raise SystemExit("this run was not trained on embedded/people; measure it with --then none")
    return [*people(), *(group for place in config["data"]["more"] for group in read_groups(place))]


def methods_of(config: Mapping[str, Any]) -> list[str]:
    """Return the methods that trained an encoder, in order, with the version of each loss that has several."""
    begun = Path(config["backbone"]["name"]).parent
    earlier = methods_of(Record.load(begun).config) if holds_run(begun) else []
    settings = config["method"]
    version = f", {settings['compat']}" if "compat" in settings else ""
    return [*earlier, settings["_target_"].rpartition(".")[2] + version]


THEN: dict[str, Matrix] = {
    "none": lambda embedded, groups, seed: torch.eye(embedded.backbone.width),
    "sentence_debias": sentence_debias(),
    "inlp_5": inlp(5),
    "inlp": inlp(20),  # the method's number at quickstart scale
    "ccd_linear": linear_map(),
    "ccd_linear_drift_32": linear_map(drift=32),
    "ccd_linear_lean_1": linear_map(lean=1, drift=32),
}


@cache
def benchmarks() -> list[Any]:
    """Return the benchmarks on which every encoder is measured."""
    return [
        CCED(sets=["embedded", "winogender"]),
        SEAT(tests=TESTS),
        BiasIR(document="title_and_document"),
        STSB(),
    ]


class Measured:
    """Encoder whose embeddings are multiplied by matrices, for comparison with its original backbone.

    Args:
        name: Name of the backbone.
        run: Folder of the run that trained the encoder; None for the backbone itself.
    """

    def __init__(self, name: str, run: Path | None = None) -> None:
        self.name = name
        self.trained, self.tested = (kept_embeddings(name, run, part) for part in ("", "_test"))
        self.before = originals(name)

    def record(
        self, matrix: Tensor, config: dict[str, Any], folder: Path, command: str, facts: Mapping[str, Any] | None = None
    ) -> None:
        """Measure the encoder with a matrix, and write the record with additional facts."""
        changed = Mapped(self.tested, matrix)
        folder.mkdir(parents=True, exist_ok=True)
        record = Record(folder, {"backbone": self.name, **config}, command)
        for benchmark, earlier in zip(benchmarks(), self.before, strict=True):
            found = benchmark.measure(changed, earlier.items)
            add(earlier, "before", record)
            add(found, "after", record)
        record.provenance, record.status = environment() | dict(facts or {}), "finished"
        record.save()
        print(folder, flush=True)


@cache
def originals(name: str) -> list[Any]:
    """Return the benchmark results of an unchanged backbone."""
    tested = kept_embeddings(name, part="_test")
    return [benchmark.measure(Mapped(tested, torch.eye(tested.backbone.width))) for benchmark in benchmarks()]


def measure_run(name: str, run: Path, method: str, asked: Sequence[str]) -> None:
    """Measure the encoder that a run trained, followed by single-matrix methods."""
    record, measured = Record.load(run), Measured(name, run)
    config = record.config
    facts = {"training": {key: record.provenance[key] for key in ("revision", "method", "wall_seconds")}}
    precision = config["trainer"]["precision"]
    facts["training"] |= {"losses": [record.history[0], record.history[-1]], "precision": precision}
    facts["training"]["methods"] = methods_of(config)
    for then in asked:
        groups = [] if then == "none" else trained_on(config)
        matrix = THEN[then](measured.trained, groups, config["seed"])
        settings = {"method": config["method"], "then": then, "seed": config["seed"]}
        folder = FOLDER / name / method / then / f"seed_{config['seed']}"
        measured.record(matrix, settings, folder, f"measure.py {name} RUN", facts)


def measure_backbone(name: str, asked: Sequence[str], seeds: Sequence[int]) -> None:
    """Measure a backbone followed by single-matrix methods.

    The backbone alone needs no record, because all records contain its readings as ``before``.
    """
    measured = Measured(name)
    for then, seed in product((one for one in asked if one != "none"), seeds):
        folder = FOLDER / name / "original" / then / f"seed_{seed}"
        matrix = THEN[then](measured.trained, people(), seed)
        measured.record(matrix, {"then": then, "seed": seed}, folder, f"measure.py {name}")


def main() -> None:
    """Measure the backbone named on the command line, or runs that trained it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backbone")
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--name", default="original", help="name of the method of the runs")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, help="of what follows the backbone itself")
    parser.add_argument("--then", nargs="+", default=list(THEN), choices=list(THEN))
    given = parser.parse_args()
    for run in given.runs:
        measure_run(given.backbone, run, given.name, given.then)
    if not given.runs:
        measure_backbone(given.backbone, given.then, given.seeds)


if __name__ == "__main__":
    main()
