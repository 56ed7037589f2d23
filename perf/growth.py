"""Time and memory against size: how each part grows, with a fitted exponent.

    FAIRLAB_DATA=... python perf/growth.py [--system gamma ...] [--write]

Every measurement is a process of its own. Time is processor time, so that other work on the machine counts little;
memory is the highest resident memory above that of the process before it began. The exponent is the slope of a line
through the logarithms, over sizes that take at least a fifth of a second more than the smallest: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harness import machine, peak_memory
from shortcut import LABELS, texts

RESULTS = Path(__file__).parent / "results" / "growth.json"
FIGURES = Path(__file__).parent / "figures"
WIDTH, COMPARED = 384, 5_000
NAMES = ("Robert", "Mary", "Thomas", "Sarah")
ABOVE = 0.2  # seconds more than the smallest size that count for the fit


def gamma(size: int, folder: Path) -> Callable[[], object]:
    """Shortcut scores of documents of 20 tokens."""
    from fairlab.metrics.shortcuts import TokenSpace

    labels = np.random.default_rng(1).integers(0, LABELS, size)
    return lambda: TokenSpace(texts(size), labels).gamma()


def db_index(size: int, folder: Path) -> Callable[[], object]:
    """db-index of entries in six clusters that are given."""
    from fairlab.metrics.db_index import db_index as index

    rng = np.random.default_rng(0)
    vectors = np.memmap(folder / "vectors", dtype=np.float32, mode="w+", shape=(size, WIDTH))
    for start in range(0, size, 10_000):
        vectors[start : start + 10_000] = rng.normal(size=(min(10_000, size - start), WIDTH))
    comparisons = rng.normal(size=(COMPARED, WIDTH)).astype(np.float32)
    return lambda: index(vectors, comparisons, rng.integers(0, 6, size))


def augmentation(size: int, folder: Path) -> Callable[[], object]:
    """Counterfactual groups by rules without syntax, of sentences, written with manifest and report."""
    from fairlab.augment import command

    lines = (f"Her father told {NAMES[k % 4]} that the mill had burnt down, {k}.\n" for k in range(size))
    (folder / "texts.txt").write_text("".join(lines), encoding="utf-8")
    sys.argv = ["augment", "+augmentation=counterfactual_groups", "rewriter.mode=lexical", f"input={folder}/texts.txt"]
    sys.argv += [f"output={folder}/out", "num_proc=1"]
    return command


def pretraining(size: int, folder: Path) -> Callable[[], object]:
    """Paragraphs of novels prepared for pretraining: perturbed by everybody's words, tokenised, packed, written."""
    from prepared_corpus import data, write_text

    write_text(folder / "text.txt", size / 1e3)  # a thousand are a megabyte
    return lambda: data(folder / "text.txt", folder / "kept", "everybody")


def runs(size: int, folder: Path) -> Callable[[], object]:
    """The table of so many runs."""
    import fairlab
    from fairlab.record import Reading, Record

    for k in range(size):
        run = folder / "runs" / str(k)
        run.mkdir(parents=True)
        record = Record(run, {"backbone": {"name": "x"}, "seed": k}, "train")
        record.readings = [
            Reading("seat", f"{test}", "effect_size", 0.5, "", 0.0, 10, 0.1, 0.9, headline=True) for test in range(8)
        ]
        record.status = "finished"
        record.save()
    return lambda: fairlab.runs(folder / "runs").table()


SYSTEMS: dict[str, tuple[Callable[[int, Path], Callable[[], object]], str, tuple[int, ...]]] = {
    "augmentation": (augmentation, "sentences", (1_000, 10_000, 100_000, 300_000)),
    "gamma": (gamma, "documents", (1_000, 10_000, 100_000, 1_000_000)),
    "db_index": (db_index, "entries", (1_000, 10_000, 100_000, 1_000_000)),
    "pretraining": (pretraining, "kilobytes", (1_000, 10_000, 100_000)),
    "runs": (runs, "runs", (10, 100, 1_000, 10_000)),
}


def one(system: str, size: int) -> dict[str, float]:
    """Processor seconds and memory of one size, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        work = SYSTEMS[system][0](size, Path(folder))
        before, started = peak_memory(), time.process_time()
        try:
            work()
        except SystemExit as end:
            if end.code:
                raise
        return {"size": size, "seconds": time.process_time() - started, "mib": (peak_memory() - before) / 2**20}


def measure(systems: list[str], sizes: int | None = None) -> dict[str, Any]:
    """All sizes of some systems, each in a process; ``sizes`` takes the first few alone."""
    found: dict[str, Any] = {}
    for system in systems:
        rows = []
        for size in SYSTEMS[system][2][:sizes]:
            command = [sys.executable, __file__, "--one", system, str(size)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{system} of {size} failed: {done.stderr[-2000:]}")
            rows.append(json.loads(done.stdout.strip().splitlines()[-1]))
        found[system] = {"unit": SYSTEMS[system][1], "rows": rows, "exponent": exponent(rows)}
    return found


def exponent(rows: list[dict[str, float]]) -> float | None:
    """Slope of log time over log size, the smallest size's time taken off; None where fewer than two sizes count."""
    smallest = rows[0]
    points = [
        (math.log(row["size"] - smallest["size"]), math.log(row["seconds"] - smallest["seconds"]))
        for row in rows[1:]
        if row["seconds"] - smallest["seconds"] > ABOVE
    ]
    if len(points) < 2:
        return None
    x, y = np.array(points).T
    return float(np.polyfit(x, y, 1)[0])


def figure(system: str, found: dict[str, Any], file: Path) -> None:
    """Time and memory against size, both axes logarithmic."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": system, "font.size": 8}):
        drawn = Figure(figsize=(5.2, 2.2), layout="constrained")
        for axes, key, label in zip(drawn.subplots(1, 2), ("seconds", "mib"), ("CPU seconds", "MiB"), strict=True):
            points = [(row["size"], max(row[key], 0.01)) for row in found["rows"]]
            axes.loglog(*zip(*points, strict=True), marker="o", color="#2f6f9f", linewidth=1.2, markersize=4)
            axes.set(xlabel=found["unit"], ylabel=label)
            axes.grid(visible=True, which="major", linewidth=0.3)
        file.parent.mkdir(exist_ok=True)
        drawn.savefig(file, format="svg", metadata={"Date": None})


def table(result: dict[str, Any]) -> str:
    """The figures as Markdown."""
    lines = [
        f"{result['machine']['processor']}; one process each.",
        "",
        "| system | sizes | CPU seconds | MiB above the start | exponent of time |",
        "|---|---|---|---|---|",
    ]
    for system, found in result["systems"].items():
        rows, slope = found["rows"], found["exponent"]
        sizes = ", ".join(f"{row['size']:,}" for row in rows)
        seconds, memory = (", ".join(f"{row[key]:.3g}" for row in rows) for key in ("seconds", "mib"))
        lines.append(
            f"| {system} | {sizes} {found['unit']} | {seconds} | {memory} | {'' if slope is None else f'{slope:.2f}'} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--one", nargs=2, metavar=("SYSTEM", "SIZE"), help="one size, in this process")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULTS.name} and {FIGURES.name}/")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one[0], int(arguments.one[1]))))
        sys.exit()
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["systems"] if RESULTS.is_file() else {}
    result = {"machine": machine(), "systems": kept | measure(arguments.system)}
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        for system in arguments.system:
            figure(system, result["systems"][system], FIGURES / f"growth_{system}.svg")
