"""Measure the chosen settings of the second study on its benchmarks, with three seeds or those of ``--seeds``.

    FAIRLAB_DATA=... python -m experiments.ccd.second_measure minilm mpnet

The setting of each method and the erasers after each trained method are those of the rule of choice. What benchmarks
read of each text, query or pair is kept in ``outputs/second``, so the same command resumes. Once all settings of an
encoder are measured, its items are written to ``records/second``.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load, load_file, save, save_file
from torch import Tensor

from experiments.ccd.measure import SEEDS, Mapped
from experiments.ccd.second import ENCODERS, Setting, all_settings, chosen
from experiments.ccd.validation.bench import Embedded
from experiments.ccd.validation.matrices import kept_embeddings, people
from experiments.ccd.validation.trials import ERASERS, TRAINED, trained, tried
from fairlab.benchmarks.bias_ir import BiasIR, male_first
from fairlab.benchmarks.cced import CCED
from fairlab.benchmarks.leakage import Leakage
from fairlab.benchmarks.seat import SEAT
from fairlab.benchmarks.stsb import STSB
from fairlab.losses.ccd import distances_to_neutral
from fairlab.metrics.cced import cced_gap
from fairlab.record import Outcome
from fairlab.run.environment import environment

KEPT = Path("outputs/second")
ITEMS = Path(__file__).parent / "records" / "second"
SETS = ("embedded", "winogender")
TESTS = ("6", "6b", "7", "7b", "8", "8b")
PUBLISHED = {"beta": 1, "epochs": 1, "lr": 5e-05}  # settings of ``+experiment=ccd_bert``
STEPS = 250  # a cosine is kept as a whole number of this many steps per 1
GAP_STEPS = 5_000  # and a gap as a whole number of this many
Items = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Combination:
    """Method or sequence to measure.

    Attributes:
        name: Name of the method, or of both with a plus sign.
        first: Settings of the method that trains, or None.
        then: Name and settings of the eraser, or None.
    """

    name: str
    first: tuple[str, Mapping[str, Any]] | None = None
    then: tuple[str, Mapping[str, Any]] | None = None


def combinations(settings: list[Setting]) -> Iterator[Combination]:
    """Yield the encoder itself, each method with its chosen setting, CCD as published, and each sequence."""
    of_method = {method: found.settings for method in (*ERASERS, *TRAINED) if (found := chosen(method, settings))}
    erasers = [(name, of_method[name]) for name in ERASERS if name in of_method]
    trainings = [(name, of_method[name]) for name in TRAINED if name in of_method]
    yield Combination("none")
    yield from (Combination(one[0], then=one) for one in erasers)
    yield Combination("ccd_published", ("ccd", PUBLISHED))
    for first in trainings:
        yield Combination(first[0], first)
        yield from (Combination(f"{first[0]}+{then[0]}", first, then) for then in erasers)


@cache
def benchmarks() -> tuple[CCED, SEAT, BiasIR, Leakage, STSB]:
    """Return the benchmarks of the plan."""
    return (
        CCED(sets=list(SETS)),
        SEAT(tests=TESTS),
        BiasIR(document="title_and_document"),
        Leakage(sets=list(SETS)),
        STSB(),
    )


def items_of(encoder: Mapped) -> Items:
    """Return what the benchmarks read of each text, query and pair.

    - ``gap_SET`` (G,): CCED gap of each group, in steps of 1 / :data:`GAP_STEPS`.
    - ``effects`` and ``effects_p`` (6,): effect size and p-value of each of SEAT's tests.
    - ``first`` (Q,): 2 for a query with the man's document first, 1 for a tie, and 0 for the woman's document first.
    - ``categories`` (Q,): number of the query's category.
    - ``hits_SET``: one bit for each group, version and probe (G, A, P), 1 where the probe is right.
    - ``pairs`` (1500,): cosines in steps of 1 / :data:`STEPS`.
    """
    cced, seat, bias_ir, leakage, stsb = (benchmark.measure(encoder) for benchmark in benchmarks())
    queries = np.concatenate(list(bias_ir.items.values()))[:, :2]
    categories = np.repeat(np.arange(len(bias_ir.items)), [len(some) for some in bias_ir.items.values()])
    found: Items = {
        "first": np.uint8(2 * male_first(np.float64(queries))),
        "categories": categories.astype(np.uint8),
        **seat_items(seat),
    }
    for name in SETS:
        groups = torch.from_numpy(cced.items[name])
        gaps = cced_gap(distances_to_neutral(groups[:, 1:], groups[:, 0])).numpy()
        found[f"gap_{name}"] = np.round(GAP_STEPS * gaps).astype(np.uint16)
        found[f"hits_{name}"] = np.packbits(leakage.items[name][..., 1].astype(bool))
    return found | {"pairs": np.round(STEPS * stsb.items["cosines"]).astype(np.int16)}


def seat_items(seat: Outcome) -> Items:
    """Return the effect size and p-value of each of SEAT's tests."""
    of_test = {one.subset: one for one in seat.readings if one.quantity == "effect_size"}
    return {
        "effects": np.array([of_test[test].value for test in TESTS], dtype=np.float32),
        "effects_p": np.array([of_test[test].p for test in TESTS], dtype=np.float32),
    }


def embeddings(encoder: str, first: tuple[str, Mapping[str, Any]] | None, seed: int) -> tuple[Embedded, Embedded]:
    """Return the embeddings that an eraser is fitted on and those of the benchmarks; train the encoder if needed."""
    run = None if first is None else trained(encoder, *first, seed).folder
    return kept_embeddings(encoder, run), kept_embeddings(encoder, run, "_test")


def matrix_of(one: Combination, embedded: Embedded, seed: int) -> Tensor:
    """Return the matrix of a combination's eraser, or the identity."""
    if one.then is None:
        return torch.eye(embedded.backbone.width)
    name, settings = one.then
    return ERASERS[name](**settings)(embedded, people(), seed)


def measure(encoder: str, one: Combination, seeds: Sequence[int]) -> None:
    """Write the items of a combination for each seed; a seed with the matrix of the one before has its items."""
    before: tuple[Tensor, Items] | None = None
    for seed in seeds:
        file = KEPT / encoder / one.name / f"seed_{seed}.safetensors"
        if file.is_file():
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        fitted, tested = embeddings(encoder, one.first, seed)
        matrix = matrix_of(one, fitted, seed)
        earlier = before if one.first is None and before is not None and torch.equal(before[0], matrix) else None
        items = items_of(Mapped(tested, matrix)) if earlier is None else earlier[1]
        before = matrix, items
        save_file(items, file)
        print(file, flush=True)


def joined(encoder: str, some: list[Combination], seeds: Sequence[int]) -> None:
    """Write the items of all combinations and seeds of an encoder to one file, by ``NAME/SEED/ITEMS``.

    Cosines are written as differences from those of the encoder itself, which take less space.
    """
    ITEMS.mkdir(parents=True, exist_ok=True)
    every = {
        f"{one.name}/{seed}/{key}": values
        for one in some
        for seed in seeds
        for key, values in load_file(KEPT / encoder / one.name / f"seed_{seed}.safetensors").items()
    }
    original = every[f"none/{seeds[0]}/pairs"]
    every |= {key: values - original for key, values in every.items() if key.endswith("/pairs")}
    every["original/pairs"] = original
    content = save(every, {"environment": json.dumps(environment())})
    (ITEMS / f"{encoder}.safetensors.xz").write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def read_items(encoder: str) -> dict[str, NDArray[Any]]:
    """Return the items of an encoder by ``NAME/SEED/ITEMS``, or nothing if it was not measured."""
    file = ITEMS / f"{encoder}.safetensors.xz"
    every = load(lzma.decompress(file.read_bytes())) if file.is_file() else {}
    original = every.pop("original/pairs", None)
    return every | {key: values + original for key, values in every.items() if key.endswith("/pairs")}


def main() -> None:
    """Measure the encoders that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoders", nargs="+", choices=ENCODERS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    given = parser.parse_args()
    for encoder in given.encoders:
        some = list(combinations(all_settings(tried())))
        for one in some:
            measure(encoder, one, given.seeds)
        joined(encoder, some, given.seeds)


if __name__ == "__main__":
    main()
