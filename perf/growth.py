"""Time and memory of several systems by input size, with a fitted exponent.

    FAIRLAB_DATA=... python perf/growth.py [--system gamma ...] [--write]

Each measurement runs in its own process. Time is CPU time, so that other programs on the machine have little influence.
Memory is the peak resident memory, minus the peak before the work started. The exponent is the slope of a regression
line on a log-log scale, over all sizes that take at least 0.2 s longer than the smallest one. An exponent of 1 means
linear growth.
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
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from harness import machine, peak_memory, results
from shortcut import LABELS, texts

RESULTS = results("growth")
FIGURES = RESULTS.parents[1] / "figures"
WIDE, HIGH = 230, 130  # size of a panel
STYLE = "text{font:11px sans-serif;fill:#555}.grid{stroke:#ddd}.line{fill:none;stroke:#1764ab}.point{fill:#1764ab}"
WIDTH, NARROW, COMPARED = 384, 32, 5_000
NAMES = ("Robert", "Mary", "Thomas", "Sarah")
ABOVE = 0.2  # minimum seconds more than the smallest size for a point to count in the fit


def gamma(size: int, folder: Path) -> Callable[[], object]:
    """Prepare the shortcut scores of documents with 20 tokens."""
    from fairlab.metrics.shortcuts import TokenSpace

    labels = np.random.default_rng(1).integers(0, LABELS, size)
    return lambda: TokenSpace(texts(size), labels).gamma()


def db_index(size: int, folder: Path) -> Callable[[], object]:
    """Prepare the db-index of entries in six given clusters."""
    from fairlab.metrics.db_index import db_index as index

    rng = np.random.default_rng(0)
    vectors = np.memmap(folder / "vectors", dtype=np.float32, mode="w+", shape=(size, WIDTH))
    for start in range(0, size, 10_000):
        vectors[start : start + 10_000] = rng.normal(size=(min(10_000, size - start), WIDTH))
    comparisons = rng.normal(size=(COMPARED, WIDTH)).astype(np.float32)
    return lambda: index(vectors, comparisons, rng.integers(0, 6, size))


def augmentation(size: int, folder: Path) -> Callable[[], object]:
    """Prepare counterfactual groups of sentences by rules without syntax, written with manifest and report."""
    from fairlab.augment import command

    lines = (f"Her father told {NAMES[k % 4]} that the mill had burnt down, {k}.\n" for k in range(size))
    (folder / "texts.txt").write_text("".join(lines), encoding="utf-8")
    sys.argv = ["augment", "+augmentation=counterfactual_groups", "rewriter.mode=lexical", f"input={folder}/texts.txt"]
    sys.argv += [f"output={folder}/out", "num_proc=1"]
    return command


def pretraining(size: int, folder: Path) -> Callable[[], object]:
    """Prepare the processing of novels for pretraining: perturbation of all people, tokenization and packing."""
    from prepared_corpus import data, write_text

    write_text(folder / "text.txt", size / 1e3)  # size is in kilobytes
    return lambda: data(folder / "text.txt", folder / "kept", "everybody")


def runs(size: int, folder: Path) -> Callable[[], object]:
    """Write a number of runs, and prepare the method table over them."""
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


def report(size: int, folder: Path) -> Callable[[], object]:
    """Write a run with a number of steps and groups, and prepare its report."""
    from safetensors.numpy import save_file

    from fairlab.record import Record
    from fairlab.reporting.report import write_report

    group = '{{"id": "{0}", "axis": "gender", "versions": {{"neutral": "They left {0}.", "man": "He left {0}.", '
    group += '"woman": "She left {0}."}}}}\n'
    (folder / "groups.jsonl").write_text("".join(group.format(k) for k in range(size)), encoding="utf-8")
    config = {
        "seed": 0,
        "scale": {"name": "quickstart"},
        "backbone": {"name": "x", "stands_for": ""},
        "benchmark": {"cced": {"sets": [str(folder / "groups.jsonl")]}},
        "method": {"_target_": "fairlab.methods.ccd.CCD"},
    }
    record = Record(folder, config, "train", status="finished")
    record.history = [{"step": k, "train/loss": 1 / (1 + k)} for k in range(size)]
    rng = np.random.default_rng(0)
    for phase in ("before", "after"):
        (folder / "items" / phase).mkdir(parents=True)
        vectors = rng.normal(size=(size, 3, NARROW)).astype(np.float32)
        save_file({"groups": vectors}, folder / "items" / phase / "cced.safetensors")
    return lambda: write_report(record)


SYSTEMS: dict[str, tuple[Callable[[int, Path], Callable[[], object]], str, tuple[int, ...]]] = {
    "augmentation": (augmentation, "sentences", (1_000, 10_000, 100_000, 300_000)),
    "gamma": (gamma, "documents", (1_000, 10_000, 100_000, 1_000_000)),
    "db_index": (db_index, "entries", (1_000, 10_000, 100_000, 1_000_000)),
    "pretraining": (pretraining, "kilobytes", (1_000, 10_000, 100_000)),
    "runs": (runs, "runs", (10, 100, 1_000, 10_000)),
    "report": (report, "steps and groups", (1_000, 10_000, 100_000, 1_000_000)),
}


def one(system: str, size: int) -> dict[str, float]:
    """Measure CPU time and memory for one size in this process."""
    with tempfile.TemporaryDirectory() as folder:
        work = SYSTEMS[system][0](size, Path(folder))
        before, started = peak_memory(), time.process_time()
        try:
            work()
        except SystemExit as end:
            if end.code:
                raise
        return {"size": size, "seconds": time.process_time() - started, "mib": (peak_memory() - before) / 2**20}


def measure(systems: list[str]) -> dict[str, Any]:
    """Measure systems at all sizes, each in its own process."""
    found: dict[str, Any] = {}
    for system in systems:
        rows = []
        for size in SYSTEMS[system][2]:
            command = [sys.executable, __file__, "--one", system, str(size)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{system} of {size} failed: {done.stderr[-2000:]}")
            rows.append(json.loads(done.stdout.strip().splitlines()[-1]))
        found[system] = {"unit": SYSTEMS[system][1], "rows": rows, "exponent": exponent(rows)}
    return found


def exponent(rows: list[dict[str, float]]) -> float | None:
    """Return the slope of log time over log size, or None if fewer than two sizes can be used.

    The size and time of the smallest size are subtracted from all others.
    """
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
    """Draw time and memory against size as SVG, with logarithmic axes."""
    picture = Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox="0 0 640 210", role="img")
    SubElement(picture, "title").text = f"{system}: processor time and memory against size"
    SubElement(picture, "style").text = STYLE
    for left, key, label in ((60, "seconds", "CPU seconds"), (380, "mib", "MiB above the start")):
        panel = SubElement(picture, "g", transform=f"translate({left},30)")
        points = [(row["size"], max(row[key], 0.01)) for row in found["rows"]]
        draw(panel, points, f"{label}, by {found['unit']}")
    file.parent.mkdir(exist_ok=True)
    file.write_text(tostring(picture, encoding="unicode") + "\n", encoding="utf-8")


def draw(panel: Element, points: list[tuple[float, float]], title: str) -> None:
    """Draw a panel: a line with points, and a grid at powers of ten."""
    logs = np.log10(np.array(points))
    low, high = np.floor(logs.min(axis=0)), np.ceil(logs.max(axis=0) + 1e-9)
    at = (logs - low) / np.maximum(high - low, 1) * (WIDE, HIGH)
    label(panel, 0, -12, title, "start")
    for power in range(int(low[0]), int(high[0]) + 1):
        x = (power - low[0]) / max(high[0] - low[0], 1) * WIDE
        SubElement(panel, "path", {"class": "grid", "d": f"M{x:.1f} 0V{HIGH}"})
        label(panel, x, HIGH + 16, f"{10**power:,}", "middle")
    for power in range(int(low[1]), int(high[1]) + 1):
        y = HIGH - (power - low[1]) / max(high[1] - low[1], 1) * HIGH
        SubElement(panel, "path", {"class": "grid", "d": f"M0 {y:.1f}H{WIDE}"})
        label(panel, -6, y + 4, f"{10.0**power:g}", "end")
    places = [f"{x:.1f},{HIGH - y:.1f}" for x, y in at]
    SubElement(panel, "polyline", {"class": "line", "points": " ".join(places)})
    for place in places:
        x, y = place.split(",")
        SubElement(panel, "circle", {"class": "point", "cx": x, "cy": y, "r": "3.5"})


def label(panel: Element, x: float, y: float, text: str, anchor: str) -> None:
    """Add a text label to a panel."""
    SubElement(panel, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}).text = text


def table(result: dict[str, Any]) -> str:
    """Format the figures as Markdown."""
    lines = [
        f"{result['machine']['processor']}; each size is measured in a separate process.",
        "",
        "| part | sizes | CPU seconds | MiB above the start | exponent of the time |",
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
    parser.add_argument("--one", nargs=2, metavar=("SYSTEM", "SIZE"), help="measure one size in this process")
    parser.add_argument("--write", action="store_true", help=f"save the figures to {RESULTS.name} and {FIGURES.name}/")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one[0], int(arguments.one[1]))))
        sys.exit()
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["systems"] if RESULTS.is_file() else {}
    result = {"machine": machine(), "systems": kept | measure(arguments.system)}
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        for name, found in result["systems"].items():
            figure(name, found, FIGURES / f"growth_{name}.svg")
