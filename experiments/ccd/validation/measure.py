"""Measure the chosen linear map by the benchmarks that are reported: once, when all is chosen.

    python experiments/ccd/validation/measure.py minilm_mlm mpnet

writes a record for each backbone and seed into ``experiments/ccd/records/linear``. The readings are those of
``python -m fairlab.train +experiment=ccd_linear_bert``: the same map and benchmarks, but the encoder reads each text
once for all seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import fairlab
from experiments.ccd.tables import RECORDS
from experiments.ccd.validation.bench import Embedded, mapped
from experiments.ccd.validation.search import KEPT, matrix_of, settings_of_the_map
from fairlab.benchmarks.bias_ir import BiasIR
from fairlab.benchmarks.cced import CCED
from fairlab.benchmarks.runner import add
from fairlab.benchmarks.seat import SEAT
from fairlab.benchmarks.stsb import STSB
from fairlab.record import Record
from fairlab.run.environment import environment

SEEDS = (42, 43, 44)
TESTS = ("6", "6b", "7", "7b", "8", "8b")


class Mapped:
    """An encoder whose kept embeddings are multiplied by a matrix: what benchmarks ask of a backbone."""

    def __init__(self, embedded: Embedded, matrix: Tensor) -> None:
        self.embedded = embedded
        self.matrix = matrix

    def embed(self, texts: Sequence[str], **_: Any) -> Tensor:
        """Embeddings (N, D) of texts, of unit length."""
        return mapped(self.embedded(texts), self.matrix)


class Measured:
    """A backbone with linear maps of its embeddings, read by the benchmarks that are reported.

    Args:
        name: name of the backbone.
    """

    def __init__(self, name: str) -> None:
        backbone = fairlab.load(name)
        self.name = name
        self.trained, self.tested = (Embedded(backbone, KEPT / f"{name}{part}.pt") for part in ("", "_test"))
        self.benchmarks: list[Any] = [
            CCED(sets=["embedded", "winogender"]),
            SEAT(tests=TESTS),
            BiasIR(document="title_and_document"),
            STSB(),
        ]
        original = Mapped(self.tested, torch.eye(backbone.width))
        self.before = [benchmark.measure(original) for benchmark in self.benchmarks]

    def record(self, matrix: Tensor, config: dict[str, Any], folder: Path, command: str) -> None:
        """Measure a map, and write the record of it."""
        changed = Mapped(self.tested, matrix)
        folder.mkdir(parents=True, exist_ok=True)
        record = Record(folder, {"backbone": self.name, **config}, command)
        for benchmark, earlier in zip(self.benchmarks, self.before, strict=True):
            found = benchmark.measure(changed, earlier.items)
            add(earlier, "before", record)
            add(found, "after", record)
        record.provenance, record.status = environment(), "finished"
        record.save()


def main() -> None:
    """Measure every backbone and seed of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("backbones", nargs="+")
    given = parser.parse_args()
    settings = settings_of_the_map()
    for name in given.backbones:
        measured = Measured(name)
        for seed in SEEDS:
            matrix = matrix_of(measured.trained, settings, seed)
            folder = RECORDS / "linear" / name / f"seed_{seed}"
            measured.record(matrix, {"method": settings, "seed": seed}, folder, f"measure.py {name}")


if __name__ == "__main__":
    main()
