"""Seconds and peak memory of the stages of a run: loading, each benchmark, training, export, report."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairlab.record import Record

STAGES = "stages"  # in a record's provenance
LOADING = "loading"  # name of the stage that comes before anything is measured or trained
PROC_STATUS = Path("/proc/self/status")


@dataclass
class Stage:
    """What a stage took.

    Attributes:
        seconds: seconds that passed.
        peak_bytes: most memory that the process held while it lasted. Where the system cannot forget an earlier peak
            (other than Linux), it is the most up to its end.
        gpu_peak_bytes: most memory of the GPU that torch had taken; None where none was used.
    """

    seconds: float = 0.0
    peak_bytes: int = 0
    gpu_peak_bytes: int | None = None


@contextmanager
def stage(record: Record, name: str) -> Iterator[None]:
    """Inside, a stage of a run is done; what it took goes into the record, however it ends."""
    taken = Stage()
    try:
        with timed(taken):
            yield
    finally:
        keep_stage(record, name, taken)


@contextmanager
def timed(taken: Stage) -> Iterator[None]:
    """Inside, something is done; afterwards ``taken`` says what it took."""
    _forget_peaks()
    started = time.perf_counter()
    try:
        yield
    finally:
        taken.seconds = time.perf_counter() - started
        taken.peak_bytes, taken.gpu_peak_bytes = _peak(), _gpu_peak()


def keep_stage(record: Record, name: str, taken: Stage) -> None:
    """Put a stage into a record; what an earlier attempt of the same run took is added."""
    stages = record.provenance.setdefault(STAGES, {})
    before = Stage(**stages[name]) if name in stages else Stage()
    gpu = [peak for peak in (before.gpu_peak_bytes, taken.gpu_peak_bytes) if peak is not None]
    seconds, peak = before.seconds + taken.seconds, max(before.peak_bytes, taken.peak_bytes)
    stages[name] = asdict(Stage(round(seconds, 3), peak, max(gpu, default=None)))


def stages_of(record: Record) -> dict[str, Stage]:
    """Stages by name in the order they were begun; none of a record that was written before there were any."""
    return {
        name: Stage(**{key: value for key, value in values.items() if key in Stage.__dataclass_fields__})
        for name, values in record.provenance.get(STAGES, {}).items()
    }


def _forget_peaks() -> None:
    """Let the peaks begin anew at what is held now, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # see proc(5): resets the peak and touches nothing else
    if (cuda := _cuda()) is not None:
        cuda.reset_peak_memory_stats()


def _peak() -> int:
    """Bytes. What getrusage says on Linux begins at what the process held that started this one."""
    if PROC_STATUS.is_file():
        (line,) = (line for line in PROC_STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _gpu_peak() -> int | None:
    return None if (cuda := _cuda()) is None else int(cuda.max_memory_allocated())


def _cuda() -> Any:
    """Torch's module of GPUs, where a GPU is in use already."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None
