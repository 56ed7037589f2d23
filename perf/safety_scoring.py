"""Speed of scoring texts from HateCheck and the madlibs with four offline sources, in one process and in two.

Two processes run ``score_batches`` with one thread each. Their start and end are excluded: the time is measured from
the first quarter of the scores, when all processes are busy, to the last score. CPU time is reported as well, because
other programs on the machine affect it less: the scores per second of CPU time of two processes, multiplied by two, are
compared with those of one process. Sources, models and texts are the same as in ``safety_sources.py``. In addition, a
random forest is fitted once on 100,000 x 34 scores.

    python perf/safety_scoring.py FOLDER [--texts 20000] [--rows 100000] [--repeats 5] [--write]

FOLDER contains the unpacked packages tox_block and toxic_classifier.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np

from fairlab.methods.safety_ensemble.exported.columns import Columns
from fairlab.methods.safety_ensemble.exported.scoring import score_batches
from fairlab.run.exported_ensemble import load_columns
from harness import machine, results
from safety_sources import texts_of
from safety_startup import export

AT_A_TIME = 1_000  # number of texts in a batch
RESULTS = results("safety_scoring")
WAYS = {"one": 1, "two": 2}


def processor_seconds() -> float:
    """Return the CPU time of this process and of its active child processes."""
    ticks = 0
    for child in multiprocessing.active_children():
        fields = Path(f"/proc/{child.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def rates(texts: list[str], load: Callable[[], Columns], num_proc: int) -> dict[str, float]:
    """Return the texts per second of wall time and of CPU time.

    Both are measured from the first quarter of the scores to the last score.
    """
    first = len(texts) // 4
    batches = (texts[start : start + AT_A_TIME] for start in range(0, len(texts), AT_A_TIME))
    scored = chain.from_iterable(batch for batch, _ in score_batches(batches, list, load, num_proc=num_proc))
    deque(islice(scored, first), maxlen=0)
    started, busy = time.perf_counter(), processor_seconds()
    deque(islice(scored, len(texts) - first), maxlen=0)
    wall, cpu = time.perf_counter() - started, processor_seconds() - busy
    return {"wall": (len(texts) - first) / wall, "cpu": (len(texts) - first) / cpu}


def fit_seconds(rows: int) -> float:
    """Return the CPU time for fitting a random forest with 100 trees on (rows, 34) scores, in one thread."""
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    features = rng.random((rows, 34))
    truth = (features[:, 0] + rng.random(rows) > 1.2).astype(int)
    started = time.process_time()
    RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1).fit(features, truth)
    return time.process_time() - started


def measure(folder: str, count: int, rows: int, repeats: int) -> dict[str, object]:
    """Measure the texts per second with one and two processes, their ratios, and the time for fitting a forest."""
    before = os.getloadavg()[0]
    texts = texts_of(count)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in WAYS}
    names = ["profanity", "sentiment", "tox_block", "toxic_comment"]
    given = {name: {"folder": str(Path(folder).resolve())} for name in names[2:]}
    with tempfile.TemporaryDirectory() as place:
        export(Path(place), names, given["tox_block"]["folder"])
        for _ in range(repeats):
            for name, num_proc in WAYS.items():
                found[name].append(rates(texts, partial(load_columns, place, None, given), num_proc))
    pairs = list(zip(found["one"], found["two"], strict=True))
    return {
        "machine": machine(),
        "load": before,
        "settings": {"texts": len(texts), "rows": rows, "repeats": repeats},
        "texts_per_second": {
            name: {clock: statistics.median(one[clock] for one in some) for clock in ("wall", "cpu")}
            for name, some in found.items()
        },
        "ratios": [two["wall"] / one["wall"] for one, two in pairs],
        "ratios_of_the_processor": [2 * two["cpu"] / one["cpu"] for one, two in pairs],
        "fit_seconds": fit_seconds(rows),
    }


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    settings, rate = result["settings"], result["texts_per_second"]
    by_clock, by_processor = (
        f"{statistics.median(some):.2f} ({min(some):.2f} to {max(some):.2f})"
        for some in (result["ratios"], result["ratios_of_the_processor"])
    )
    return "\n".join(
        [
            f"{result['machine']['processor']}; {settings['texts']:,} texts, medians of {settings['repeats']} repeats; "
            f"the load of the machine was {result['load']:.1f} before; starting and ending processes is not timed.",
            "",
            "| processes | texts per second of wall time | speedup, wall time | texts per second of processor time "
            "| speedup, processor time |",
            "|---|---|---|---|---|",
            f"| one process | {rate['one']['wall']:,.0f} | 1 | {rate['one']['cpu']:,.0f} | 1 |",
            f"| two processes | {rate['two']['wall']:,.0f} | {by_clock} | {rate['two']['cpu']:,.0f} | {by_processor} |",
            "",
            f"Fitting a forest of 100 trees to {settings['rows']:,} x 34 scores takes {result['fit_seconds']:.0f} s of "
            "processor time.",
        ]
    )


def main() -> None:
    """Run the measurement, print the figures, and save them if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    result = measure(arguments.folder, arguments.texts, arguments.rows, arguments.repeats)
    print(table(result))
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
