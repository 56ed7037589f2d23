"""Timing several ways of doing one thing in one run: interleaved repeats, medians, ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

import torch

from fairlab.record import environment


def machine() -> dict[str, object]:
    """Processor, threads and the versions that decide speed."""
    found = environment()
    return {
        "processor": found["hardware"]["processor"],
        "threads": torch.get_num_threads(),
        "torch": found["versions"]["torch"],
        "transformers": found["versions"]["transformers"],
        "revision": found["revision"],
    }


def interleaved_seconds(ways: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Seconds of every way, taken in turn so that a machine that changes speed changes it for all; one warm-up each."""
    for way in ways.values():
        way()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def matmul_peak(dtype: torch.dtype, sizes: tuple[int, ...] = (1024, 1536, 2048, 3072), repeats: int = 7) -> float:
    """Highest median rate of a square matrix product over several sizes, in FLOP/s."""
    best = 0.0
    for size in sizes:
        a, b = torch.randn(size, size).to(dtype), torch.randn(size, size).to(dtype)
        a @ b
        seconds = []
        for _ in range(repeats):
            started = time.perf_counter()
            a @ b
            seconds.append(time.perf_counter() - started)
        best = max(best, 2 * size**3 / statistics.median(seconds))
    return best
