"""Time that the main thread of training spends on loading blocks of text, with and without prefetching.

In the plain way, each process makes the whole batch on its main thread and keeps its own share. In fairlab, each
process makes only its own share, including masks, and prefetches it in a thread or in worker processes. A training step
is simulated by sleeping for as long as a device would take; meanwhile, the main thread holds no lock, as while it waits
for a GPU. One process acts as rank 0 of all ranks. Each rank has 32 blocks per step: 1 rank for 32 blocks, 8 for 256
and 64 for 2,048.

    python perf/loading.py [--steps 40] [--repeats 5] [--write]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fairlab.data.packed as packed_data
import fairlab.methods.mlm as mlm
from fairlab.backbones.backbone import Backbone, pad
from fairlab.data.block_order import BlockBatches
from fairlab.data.corpus import TextBatch
from fairlab.data.packed import PackedText
from fairlab.data.published.download import locate
from fairlab.methods.mlm import MLM
from harness import machine, results
from likelihoods import load
from mlm_pretraining import NOVEL, VALUES

RESULTS = results("loading")
SIZES = {32: 1, 256: 8, 2048: 64}  # number of ranks by number of blocks per step
WORKERS = 2
STEP = 0.05  # simulated seconds per training step


def text(backbone: Backbone, size: int, folder: Path) -> PackedText:
    """Return the data of a novel in blocks of 512 tokens, with ``size`` blocks per step."""
    backbone.max_length = 512
    return PackedText(
        paths=[str(locate(NOVEL))],
        field="text",
        original="source_text",
        twin="original",
        passage=256,
        block=512,
        validation=0.05,
        batch_size=size,
        limit_characters=None,
        encoder=backbone,
        epochs=1000,
        seed=0,
        prepared=str(folder),
    )


def whole_batches(data: PackedText, ranks: int) -> Iterator[TextBatch]:
    """Yield batches in the plain way: the whole batch is made, and rank 0 keeps its share."""
    first, last = data.encoder.tokenizer("")["input_ids"]
    room, tokens = data.block - 2, data.tokens["train"]
    for positions in BlockBatches(data.blocks("train"), data.batch_size, epochs=1000, seed=0):
        rows = [np.concatenate([[first], tokens.read(k * room, (k + 1) * room), [last]]) for k in positions]
        input_ids, mask = pad(rows, data.encoder.padding_id)
        yield TextBatch(input_ids[::ranks], mask[::ranks], torch.tensor(positions)[::ranks])


def main_thread(batches: Iterator[Any], steps: int) -> float:
    """Return the mean seconds per batch that the main thread spends between steps, after three steps of warm-up."""
    taken = 0.0
    for number in range(steps + 3):
        started = time.perf_counter()
        next(batches)
        taken += (time.perf_counter() - started) * (number >= 3)
        time.sleep(STEP)
    return taken / steps


def masking_method(backbone: Backbone) -> MLM:
    """Return a training method that masks tokens."""
    return MLM(backbone, **VALUES)


def measure(backbone: Backbone, steps: int, repeats: int) -> dict[str, object]:
    """Measure and return all figures of the script."""
    method, sizes = masking_method(backbone), {}
    with tempfile.TemporaryDirectory() as folder:
        for size, ranks in SIZES.items():
            mlm.ranks = lambda ranks=ranks: ranks  # type: ignore[misc]
            packed_data.own_share = lambda items, ranks=ranks: items[::ranks]
            data = text(backbone, size, Path(folder))
            data.transform = method.masked
            ways = {"plain": lambda data=data, ranks=ranks: whole_batches(data, ranks), **ours(data)}
            found: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(repeats):
                for name, make in ways.items():
                    found[name].append(1000 * main_thread(iter(make()), steps))
            sizes[str(size)] = {name: statistics.median(each) for name, each in found.items()}
            sizes[str(size)]["ratio"] = sizes[str(size)]["plain"] / sizes[str(size)]["thread"]
    settings = {"steps": steps, "repeats": repeats, "step_seconds": STEP, "workers": WORKERS}
    return {"machine": machine(), "settings": settings, "milliseconds": sizes}


def ours(data: PackedText) -> dict[str, Callable[[], Iterator[Any]]]:
    """Return fairlab's ways of loading: without prefetching, with a thread, and with worker processes."""

    def alone() -> Iterator[Any]:
        made = data.train_dataloader()
        return (made.dataset[key] for key in made.sampler)

    def ahead(workers: int) -> Iterator[Any]:
        data.num_workers = workers
        return islice(data.train_dataloader(), 10**9)

    return {"share": alone, "thread": lambda: ahead(0), "processes": lambda: ahead(WORKERS)}


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    machine_, settings = result["machine"], result["settings"]
    rows = [
        f"| {size} | {SIZES[int(size)]} | {row['plain']:.2f} | {row['share']:.2f} | {row['thread']:.2f} | "
        f"{row['processes']:.2f} | {row['ratio']:.0f} |"
        for size, row in result["milliseconds"].items()
    ]
    return "\n".join(
        [
            f"{machine_['processor']}, threads: {machine_['threads']}, torch {machine_['torch']}; "
            f"blocks of 512 tokens. Values are milliseconds of the main thread per "
            f"{1000 * settings['step_seconds']:.0f} "
            f"ms step, as medians of {settings['repeats']} interleaved repeats of {settings['steps']} steps.",
            "",
            f"| blocks per step | ranks | whole batch, no masks | own share | in a thread | {settings['workers']} "
            "processes | speedup of the thread over the whole batch |",
            "|---|---|---|---|---|---|---|",
            *rows,
        ]
    )


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    result = measure(load(), arguments.steps, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
