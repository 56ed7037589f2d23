"""Timing of several ways to do the same work in one run, with interleaved repeats."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from fairlab.run.environment import environment

FOLDER = "PERF_RESULTS"  # environment variable with a folder for figures that must not replace the committed ones


def results(script: str) -> Path:
    """Return the path of a script's figures.

    This is the committed file, or a file in the folder of the environment variable ``PERF_RESULTS`` if it is set.
    """
    return Path(os.environ.get(FOLDER) or Path(__file__).parent / "results") / f"{script}.json"


def machine() -> dict[str, object]:
    """Return the processor, the number of threads and the versions that affect speed."""
    found = environment()
    return {
        "processor": found["hardware"]["processor"],
        "threads": torch.get_num_threads(),
        "torch": found["versions"]["torch"],
        "transformers": found["versions"]["transformers"],
        "revision": found["revision"],
    }


def interleaved_seconds(ways: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Time each way in turn after a warm-up, and return the seconds of each repeat.

    The ways alternate, so that changes in the machine's speed affect all of them.
    """
    for way in ways.values():
        way()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def matmul_peak(
    dtype: torch.dtype,
    sizes: tuple[int, ...] = (1024, 1536, 2048, 3072),
    repeats: int = 7,
    device: str = "cpu",
) -> float:
    """Return the highest speed of square matrix products in FLOP/s: the maximum over sizes of the median over repeats.

    On a GPU, larger sizes are measured as well.
    """
    best, on_gpu = 0.0, torch.device(device).type == "cuda"
    for size in (*sizes, *((8192, 12288) if on_gpu else ())):
        a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
        a @ b
        seconds = []
        for _ in range(repeats):
            started = time.perf_counter()
            a @ b
            wait_for(device)
            seconds.append(time.perf_counter() - started)
        best = max(best, 2 * size**3 / statistics.median(seconds))
    return best


def wait_for(device: str) -> None:
    """Wait until a device has finished its queued work."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def peak_memory() -> int:
    """Return the peak resident memory of this process so far, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * int(next(line for line in status if line.startswith("VmHWM")).split()[1])


def main_of_a_million(
    description: str | None,
    results: Path,
    measure: Callable[[int], dict[str, object]],
    large: Callable[[int], dict[str, float]],
    table: Callable[[dict], str],
) -> None:
    """Run the command line of a script that measures a ratio and a large input.

    The figures are saved if ``--write`` is given.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--million", type=int, default=1_000_000, help="size of the large run")
    parser.add_argument("--write", action="store_true", help=f"save the figures to {results.name}")
    arguments = parser.parse_args()
    big = large(arguments.million)  # must run first, because the peak memory is that of the whole process
    result = measure(arguments.repeats) | {"large": big}
    print(table(result))
    if arguments.write:
        results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
