"""The db-index, compared with a Python double loop over all pairs, and measured on a million memory-mapped vectors.

The plain way computes the cosine of each pair separately and sums by cluster. fairlab (*ours*) calls ``db_index`` with
the same clusters. The loop runs on a part of the comparison entries, and its time is scaled up. In addition,
``cluster`` and ``db_index`` run once on a million vectors read from a memory map, to measure their duration and their
memory in addition to the map.

    python perf/db_index.py [--repeats 5] [--million 1000000] [--write]
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time

import numpy as np

from fairlab.metrics.db_index import cluster, db_index
from harness import interleaved_seconds, machine, main_of_a_million, peak_memory, results

RESULTS = results("db_index")
ENTRIES, WIDTH, CLUSTERS = 5_000, 384, 8
COMPARED = 20_620  # number of abusive tweets in Davidson et al. 2017
PART = 500


def loop(targets: np.ndarray, comparisons: np.ndarray, labels: np.ndarray) -> float:
    """Compute the db-index with a double loop: the mean over clusters and comparison entries."""
    k = int(labels.max()) + 1
    sizes = np.bincount(labels)
    total = 0.0
    for entry in comparisons:
        sums = [0.0] * k
        for target, label in zip(targets, labels, strict=True):
            sums[label] += float(target @ entry) / (math.sqrt(target @ target) * math.sqrt(entry @ entry))
        total += sum(value / size for value, size in zip(sums, sizes, strict=True)) / k
    return total / len(comparisons)


def measure(repeats: int, entries: int = ENTRIES, part: int = PART) -> dict[str, object]:
    """Measure how many times faster ``db_index`` is than the loop."""
    rng = np.random.default_rng(0)
    targets, comparisons = rng.normal(0.1, 1, (2, entries, WIDTH))
    labels = rng.integers(0, CLUSTERS, entries)
    some = comparisons[: entries // part]
    values = {"loop": loop(targets, some, labels), "ours": db_index(targets, some, labels).value}
    ways = {"loop": lambda: loop(targets, some, labels), "ours": lambda: db_index(targets, comparisons, labels)}
    seconds = interleaved_seconds(ways, repeats)
    seconds["loop"] = [second * len(comparisons) / len(some) for second in seconds["loop"]]
    ratios = [a / b for a, b in zip(seconds["loop"], seconds["ours"], strict=True)]
    return {
        "machine": machine(),
        "settings": {"entries": entries, "width": WIDTH, "loop_part": part, "repeats": repeats},
        "values": values,
        "seconds": {name: statistics.median(taken) for name, taken in seconds.items()},
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def large(n: int) -> dict[str, float]:
    """Measure the duration, and the peak memory in addition to the map, for n vectors."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 0.5, (6, WIDTH)).astype(np.float32)
    comparisons = rng.normal(size=(COMPARED, WIDTH)).astype(np.float32)
    with tempfile.NamedTemporaryFile() as file:
        for start in range(0, n, 50_000):
            size = min(50_000, n - start)
            block = rng.normal(size=(size, WIDTH)).astype(np.float32) + centres[rng.integers(0, 6, size)]
            file.write(block.tobytes())
        file.flush()
        vectors = np.memmap(file.name, dtype=np.float32, mode="r", shape=(n, WIDTH))
        started = time.perf_counter()
        clusters = cluster(vectors)
        clustered = time.perf_counter()
        db_index(vectors, comparisons, clusters.labels)
        ended = time.perf_counter()
    return {
        "entries": n,
        "clusters": clusters.k,
        "cluster_seconds": clustered - started,
        "index_seconds": ended - clustered,
        "gib_above_map": max(0.0, (peak_memory() - vectors.nbytes) / 2**30),
    }


def table(result: dict) -> str:
    """Format the figures as Markdown."""
    settings, machine_, seconds = result["settings"], result["machine"], result["seconds"]
    lines = [
        f"{machine_['processor']}, threads: {machine_['threads']}; {settings['entries']:,} x {settings['entries']:,} "
        f"vectors of {settings['width']}, medians of {settings['repeats']} interleaved repeats. On the entries that "
        f"the loop uses, the loop gives {result['values']['loop']:.9f}, and ours {result['values']['ours']:.9f}.",
        "",
        "| implementation | seconds | speedup |",
        "|---|---|---|",
        f"| Python double loop | {seconds['loop']:.0f} | 1 |",
        f"| ours | {seconds['ours']:.3f} | {result['ratio']:.0f} ({min(result['ratios']):.0f} to "
        f"{max(result['ratios']):.0f}) |",
    ]
    if big := result.get("large"):
        lines += [
            "",
            f"{big['entries']:,} memory-mapped vectors against {COMPARED:,}: {big['cluster_seconds']:.0f} s for the "
            f"clusters (their number chosen among 2 to 16), {big['index_seconds']:.0f} s for the index, at most "
            f"{big['gib_above_map']:.1f} GiB of resident memory above the map.",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main_of_a_million(__doc__, RESULTS, measure, large, table)
