"""Functions for comparing trained runs over seeds: finished seeds, stored items, differences, and the record."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from experiments.shared.nested_draws import nested_draws
from fairlab.metrics.bootstrap import percentile_interval, two_sided_p
from fairlab.record import Comparison, Record
from fairlab.run.environment import environment

Array = NDArray[np.float64]
Samples = tuple[Array, Array]  # sums over the parts of each item (S, N), and numbers of parts (N,)


def finished(*runs: Path) -> list[int]:
    """Return the seeds with which all of the runs have finished."""
    found = [
        {int(file.parent.name.removeprefix("seed_")) for file in run.glob("seed_*/record.json*") if _is_finished(file)}
        for run in runs
    ]
    return sorted(set.intersection(*found))


def _is_finished(file: Path) -> bool:
    return Record.load(file.parent).status == "finished"


def items_of(run: Path, seeds: list[int], benchmark: str) -> list[dict[str, Array]]:
    """Return the stored items of a benchmark for each seed of a run."""
    return [load_file(run / f"seed_{seed}" / "items" / "after" / f"{benchmark}.safetensors") for seed in seeds]


def whole(values: Array) -> Samples:
    """Return the values (S, N) of items that have one part each as samples."""
    return values, np.ones(values.shape[1])


def right(run: Path, seeds: list[int], task: str, split: str) -> Samples:
    """Return samples with 100 for each example that a run predicts correctly, and 0 for the others."""
    found = items_of(run, seeds, task)
    return whole(np.stack([100.0 * (one[f"{split}_predictions"] == one[f"{split}_labels"]) for one in found]))


def compared(later: Samples, earlier: Samples, place: tuple[str, str, str], phase: str) -> Comparison:
    """Return the mean difference over seeds and items.

    Both are resampled, with the same items for all seeds.

    Args:
        later: Samples of one model.
        earlier: Samples of the other model, with the same seeds and items.
        place: Names of the benchmark, the subset and the quantity.
        phase: Labels of the two models.
    """
    changes, sizes = later[0] - earlier[0], later[1]
    draws = nested_draws(changes, sizes)
    low, high = percentile_interval(draws)
    difference = float(changes.mean(axis=0).sum() / sizes.sum())
    return Comparison(
        *place, difference, "points", low, high, two_sided_p(draws), int(sizes.sum()), headline=True, phase=phase
    )


def arguments_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser for the arguments RUNS, the folder of the runs, and OUT, the folder for the record."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("out", type=Path)
    return parser


def p_over_seeds(values: list[float]) -> float:
    """Return the two-sided p-value of the paired t-test over seeds, or 1 for a single seed."""
    from scipy.stats import ttest_1samp

    return float(ttest_1samp(values, 0.0).pvalue) if len(values) > 1 else 1.0


def t_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % t-interval of the mean of two or more values."""
    from scipy.stats import t

    half = float(t.ppf(0.975, len(values) - 1)) * stdev(values) / sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def record_in(out: Path, *command: str) -> Record:
    """Return a new record for a command, given by its words after ``python`` and without its arguments."""
    out.mkdir(parents=True, exist_ok=True)
    return Record(out, {}, shlex.join(["python", *command, *sys.argv[1:]]))


def save(record: Record, facts: dict[str, object]) -> None:
    """Write a record with additional facts and the environment, and print its readings and comparisons."""
    record.provenance |= environment() | facts
    record.status = "finished"
    record.save()
    for reading in record.readings:
        print(f"{reading.key} {reading.value:.2f} [{reading.low:.2f}, {reading.high:.2f}] n {reading.n}")
    for change in record.comparisons:
        print(f"{change.key} {change.difference:+.2f} [{change.low:+.2f}, {change.high:+.2f}] p {change.p:.3f}")
