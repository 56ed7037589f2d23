"""Start-up time and memory of ``fairlab score`` with one source and with five offline sources.

In the plain way, torch is imported as well, as if the recurrent networks were built with torch. Start-up is measured in
processes that score a single text, run in turn. Memory is the peak of a process that scores ``--texts`` texts.

    python perf/safety_startup.py FOLDER [--texts 10000] [--repeats 5] [--write]

FOLDER contains the unpacked packages tox_block and toxic_classifier.
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
from pathlib import Path

from fairlab.methods.safety_ensemble.exported.export import save_ensemble
from fairlab.methods.safety_ensemble.exported.portable import write_sources
from fairlab.methods.safety_ensemble.sources.combined import Sources
from fairlab.run.config.build import build
from harness import machine, results
from safety_sources import ensemble_of, texts_of

RESULTS = results("safety_startup")
HERE = "fairlab.ensemble"
FIVE = {
    "profanity": {"_target_": f"{HERE}.sources.Profanity"},
    "sentiment": {"_target_": f"{HERE}.sources.Sentiment"},
    "violence": {"_target_": f"{HERE}.sources.WordList", "path": "violence", "name": "violence"},
    "tox_block": {"_target_": f"{HERE}.bilstm.BiLSTM", "package": "tox_block"},
    "toxic_comment": {"_target_": f"{HERE}.bilstm.BiLSTM", "package": "toxic_classifier"},
}
CHILD = """
import atexit, sys
def peak():
    lines = open("/proc/self/status", encoding="utf-8").read().splitlines()
    print(next(line for line in lines if line.startswith("VmHWM")).split()[1], file=sys.stderr)
atexit.register(peak)
{more}
from fairlab.score import command
command()
"""


def export(folder: Path, names: list[str], packages: str) -> None:
    """Export an ensemble with the named sources, fitted by :func:`safety_sources.ensemble_of`."""
    nodes = {name: dict(FIVE[name]) for name in names}
    for name in {"tox_block", "toxic_comment"} & nodes.keys():
        nodes[name]["folder"] = packages
    sources = Sources([build(node) for node in nodes.values()])
    save_ensemble(ensemble_of(sources, texts_of(4_000)).models, sources, folder)
    write_sources({name: FIVE[name] for name in names}, folder)


def run_score(folder: Path, names: list[str], packages: str, texts: list[str], more: str = "") -> dict[str, float]:
    """Run ``fairlab score`` once, and return its wall time and CPU time in seconds and its peak memory in bytes."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "texts.jsonl"
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        given = [f"+sources.{name}.folder={packages}" for name in ("tox_block", "toxic_comment") if name in names]
        command = [sys.executable, "-c", CHILD.format(more=more), f"model={folder}", f"input={file}"]
        before, started = os.times(), time.perf_counter()
        done = subprocess.run([*command, f"output={place}/s.jsonl", *given], capture_output=True, text=True, check=True)
        wall, after = time.perf_counter() - started, os.times()
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall": wall, "cpu": busy, "memory": 1024 * int(done.stderr.split()[-1])}


def measure(packages: str, count: int, repeats: int) -> dict[str, object]:
    """Measure the median start-up time of each way, and its memory."""
    packages = str(Path(packages).resolve())
    before, texts = os.getloadavg()[0], texts_of(count)
    ways = {
        "one source": (["profanity"], ""),
        "five sources, torch imported": (list(FIVE), "import torch"),
        "five sources": (list(FIVE), ""),
    }
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as place:
        folders = {name: Path(place) / name.replace(" ", "_").replace(",", "") for name in ways}
        for name, (names, _) in ways.items():
            export(folders[name], names, packages)
        for repeat in range(repeats + 1):
            for name, (names, more) in ways.items():
                found = run_score(folders[name], names, packages, texts[:1], more)
                seconds[name] += [found] if repeat else []  # the first repeat fills the file cache
        memory = {
            name: run_score(folders[name], names, packages, texts, more)["memory"]
            for name, (names, more) in ways.items()
        }
    return {
        "machine": machine(),
        "load": before,
        "settings": {"texts": len(texts), "repeats": repeats},
        "start": {
            name: {key: statistics.median(one[key] for one in some) for key in ("wall", "cpu", "memory")}
            for name, some in seconds.items()
        },
        "ratios": [
            plain["cpu"] / ours["cpu"]
            for plain, ours in zip(seconds["five sources, torch imported"], seconds["five sources"], strict=True)
        ],
        "memory": memory,
    }


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    settings = result["settings"]
    rows = [
        f"| {name} | {of['cpu']:.2f} | {of['wall']:.2f} | {of['memory'] / 1e6:,.0f} | "
        f"{result['memory'][name] / 1e6:,.0f} |"
        for name, of in result["start"].items()
    ]
    ratios = result["ratios"]
    return "\n".join(
        [
            f"{result['machine']['processor']}; medians of {settings['repeats']} processes each; the load of the "
            f"machine was {result['load']:.1f} before.",
            "",
            "| model | processor time until one text is scored, s | wall time, s | memory, MB | memory after "
            f"{settings['texts']:,} texts, MB |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"If torch is imported, the start takes {statistics.median(ratios):.2f} times as much processor time "
            f"({min(ratios):.2f} to {max(ratios):.2f}).",
        ]
    )


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    result = measure(arguments.folder, arguments.texts, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
