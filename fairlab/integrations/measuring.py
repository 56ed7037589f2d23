"""Measurement of a model that another tool is training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from fairlab.api.evaluating import evaluate
from fairlab.protocols import Benchmark
from fairlab.types import FairlabError


def measured_values(
    model: Any,
    benchmarks: str | Benchmark | Sequence[str | Benchmark],
    settings: Mapping[str, Any] | None,
    limit: int | None,
) -> dict[str, float]:
    """Return the headline readings of a model in training, and their distance to the ideal value, by key.

    The training mode of every module and the state of the random generators are restored, so that the measurement does
    not affect training.

    Args:
        model: Any model that :func:`fairlab.evaluate` accepts, such as a pair of a transformers model and its
            tokenizer.
        benchmarks: Benchmarks, or their names.
        settings: Configuration values by dotted key, such as ``benchmark.seat.tests``.
        limit: Maximum number of items per benchmark; None for all.
    """
    module = model[0] if isinstance(model, tuple) else model
    with undisturbed(module), torch.no_grad():
        readings = evaluate(model, benchmarks, settings=settings, limit=limit).readings
    values: dict[str, float] = {}
    for reading in readings:
        if reading.headline:
            values[reading.key] = reading.value
            if reading.ideal is not None:
                values[f"{reading.key}_distance"] = abs(reading.value - reading.ideal)
    return values


@contextmanager
def undisturbed(module: Any) -> Iterator[None]:
    """Restore the training mode of a module's parts and the state of torch's random generators on exit."""
    parts = list(module.modules()) if isinstance(module, torch.nn.Module) else []
    modes = [part.training for part in parts]
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices=list(devices)):
            yield
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode


def refuse_interval(every: int) -> int:
    """Check that the number of steps between measurements is at least 1, and return it."""
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise FairlabError(f"every must be a number of steps of at least 1, not {every}")
    return every
