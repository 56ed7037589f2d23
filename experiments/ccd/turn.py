"""How methods that multiply embeddings turn the direction between the genders, on embeddings that are kept.

    python -m experiments.ccd.turn minilm_mlm mpnet

writes ``records/turn.json``: the gap on Winogender, the cosine of the direction to the original one, and what is left
of its length, for SentenceDebias and for each seed of the linear map. CCD in the whole encoder is read from its record
by ``experiments/ccd/picture.py``. SentenceDebias is fitted to the passages, as by ``method=sentence_debias``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from torch import Tensor

import fairlab
from experiments.ccd.validation.bench import Embedded, gap, mapped
from experiments.ccd.validation.search import KEPT, matrix_of, settings_of_the_map
from fairlab.backbones.projection import away_from
from fairlab.benchmarks.cced import held_out_groups, turned
from fairlab.data.groups import read_groups
from fairlab.methods.sentence_debias import bias_subspace

FILE = Path(__file__).parent / "records" / "turn.json"


def matrices(embedded: Embedded) -> Iterator[tuple[str, int, Tensor]]:
    """Name, seed and matrix (D, D) of every method that is one."""
    people = embedded.groups([group for group in read_groups("embedded/people") if group.extra["split"] == "train"])
    yield "SentenceDebias", 42, away_from(bias_subspace(people[:, 1:], 1)[0])
    settings = settings_of_the_map()
    yield "lean taken away, not trained", 42, matrix_of(embedded, settings | {"epochs": 1, "lr": 1e-9})
    for seed in (42, 43, 44):
        yield "linear map", seed, matrix_of(embedded, settings, seed)


def main() -> None:
    """Measure the backbones of the command line."""
    rows = []
    for name in sys.argv[1:]:
        backbone = fairlab.load(name)
        trained, tested = (Embedded(backbone, KEPT / f"{name}{part}.pt") for part in ("", "_test"))
        original = tested.groups(held_out_groups("winogender"))
        before = (original[:, 1] - original[:, 2]).mean(dim=0).double().numpy()
        for method, seed, matrix in matrices(trained):
            found = mapped(original, matrix)
            now = (found[:, 1] - found[:, 2]).mean(dim=0).double().numpy()
            cosine, kept = turned(now, before)
            row = {"encoder": name, "method": method, "seed": seed, "gap_kept": gap(found) / gap(original)}
            rows.append(row | {"cosine": float(cosine), "length_kept": float(kept)})
            print(rows[-1], flush=True)
    FILE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
