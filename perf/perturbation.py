"""Rule-based perturbation: speed with two processes relative to one, and memory by input size.

Speed is that of the shards of ``fairlab.augment`` for choosing words and rewriting. Start-up is excluded: the time for
a quarter of the rows is subtracted from the time for all rows. Memory is the peak of a command that only chooses words
(``rewriter=none augmentation.mode=lexical``), on generated files of two sizes.

    python perf/perturbation.py [--rows 4000] [--mode syntax] [--repeats 3] [--megabytes 10 1000] [--write]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from fairlab.augmentation.perturbation import Choosing, Perturbation
from fairlab.data.stream.choices import with_choices
from fairlab.data.stream.rows import read_rows
from fairlab.data.stream.shards import make_shards
from harness import machine, results

RESULTS = results("perturbation")
AXES = ["gender", "race", "age"]
PEOPLE = ["John", "Mary", "The old man", "An Asian doctor", "My aunt", "The teacher", "A young nurse", "She", "He"]
DEEDS = [
    "walked to the river before it rained",
    "wrote a long letter and read it again",
    "mends clocks in a small shop by the bridge",
    "said that the garden was full of birds",
    "asked whether the train had left",
]
PLAIN = ["The rain fell on the roofs all day.", "Ships left the harbour at noon.", "Prices rose again last year."]


def texts(seed: int = 0) -> Iterator[str]:
    """Yield an endless series of texts, half of which mention people."""
    rng = random.Random(seed)
    while True:
        if rng.random() < 0.5:
            person = rng.choice(PEOPLE)
            pronoun = "his" if rng.random() < 0.5 else "her"
            yield f"{person} {rng.choice(DEEDS)}. {rng.choice(PLAIN)} It was {pronoun} last {rng.randint(2, 99)} days."
        else:
            yield " ".join(rng.sample(PLAIN, 2)) + f" Number {rng.randint(2, 99)} followed."


def write(path: Path, *, rows: int | None = None, size: int | None = None) -> Path:
    """Write JSON lines until a number of rows or an approximate size in bytes is reached."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts()):
            if number == rows or (size is not None and written >= size):
                return path
            written += file.write(json.dumps({"id": number, "text": text}) + "\n")
    return path


def build(mode: str) -> Perturbation:
    """Create the perturbation for a worker process."""
    return Perturbation(axes=AXES, sampling="uniform", mode=mode)  # type: ignore[arg-type]


def build_choosing(mode: str) -> Choosing:
    """Create the step that chooses words, for a worker process."""
    return Choosing(build(mode), dict.fromkeys(AXES, 1.0))


def perturb(source: Path, folder: Path, mode: str, num_proc: int) -> str:
    """Choose words in all rows, rewrite the rows, and return the output as one text."""
    rows = 200
    made = list(
        make_shards(
            read_rows(str(source)), partial(build_choosing, mode), folder / "c", shard_rows=rows, num_proc=num_proc
        )
    )
    names = [folder / "c" / one["files"]["data"]["file"] for one in made if "data" in one["files"]]
    choices = folder / "choices.jsonl"
    choices.write_text("".join(name.read_text(encoding="utf-8") for name in names), encoding="utf-8")
    items = with_choices(read_rows(str(source)), choices)
    made = list(make_shards(items, partial(build, mode), folder, shard_rows=rows, num_proc=num_proc))
    return "".join((folder / one["files"]["data"]["file"]).read_text(encoding="utf-8") for one in made)


def seconds(source: Path, mode: str, num_proc: int) -> tuple[float, str]:
    """Return the duration of a run in a new folder, and the output of the run."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        made = perturb(source, Path(folder), mode, num_proc)
        return time.perf_counter() - started, made


def measure(rows: int, mode: str, repeats: int) -> dict[str, object]:
    """Measure the rows per second with one and with two processes, interleaved.

    Raises:
        AssertionError: The outputs differ.
    """
    rates: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        large, small = (write(Path(folder) / f"{n}.jsonl", rows=n) for n in (rows, rows // 4))
        for _ in range(repeats):
            outputs = []
            for num_proc, found in rates.items():
                whole, made = seconds(large, mode, num_proc)
                part, _ = seconds(small, mode, num_proc)
                found.append((rows - rows // 4) / (whole - part))
                outputs.append(made)
            assert outputs[0] == outputs[1]
    ratios = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    return {"machine": machine(), "mode": mode, "rows": rows, "rows_per_second": rates, "ratio": ratios}


def peak_megabytes(size: int) -> tuple[float, float]:
    """Return the peak resident memory in MiB, and the seconds, for choosing words in a file of ``size`` bytes."""
    with tempfile.TemporaryDirectory() as folder:
        source = write(Path(folder) / "texts.jsonl", size=size)
        command = [sys.executable, "-m", "fairlab.augment", "+augmentation=perturbation", "rewriter=none"]
        started = time.perf_counter()
        process = subprocess.Popen(
            [*command, "augmentation.mode=lexical", f"input={source}", f"output={folder}/out"],
            stdout=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(f"choosing failed with status {status}")
        return usage.ru_maxrss / 1024, time.perf_counter() - started


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    lines = []
    if "ratio" in result:
        rates = {name: statistics.median(found) for name, found in result["rows_per_second"].items()}
        lines += [
            "| processes | texts per second |",
            "|---|---|",
            *(f"| {n} | {rate:,.0f} |" for n, rate in rates.items()),
        ]
        lines += [
            f"\nIn mode {result['mode']}, two processes are {statistics.median(result['ratio']):.2f} times as fast "
            "as one.\n"
        ]
    if "memory" in result:
        lines += ["| input | peak memory | seconds |", "|---|---|---|"]
        lines += [f"| {size} MB | {peak:.0f} MB | {taken:.0f} |" for size, (peak, taken) in result["memory"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--mode", default="syntax")
    parser.add_argument("--repeats", type=int, default=3, help="number of repeats; 0 skips the speed")
    parser.add_argument(
        "--megabytes", type=int, nargs="*", default=[10, 1000], help="sizes of the inputs for measuring memory"
    )
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name}")
    arguments = parser.parse_args()
    result = measure(arguments.rows, arguments.mode, arguments.repeats) if arguments.repeats else {"machine": machine()}
    result["memory"] = {size: peak_megabytes(size * 1_000_000) for size in arguments.megabytes}
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
