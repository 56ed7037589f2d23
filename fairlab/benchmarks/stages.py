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

STAGES = "stages"  # key in a record's provenance
LOADING = "loading"  # name of the stage before measuring and training
PROC_STATUS = Path("/proc/self/status")


@dataclass
class Stage:
    """Time and memory used by a stage.

    Attributes:
        seconds: Elapsed seconds.
        peak_bytes: Peak memory of the process during the stage. If the system cannot reset an earlier peak (systems
            other than Linux), this is the peak up to the end of the stage.
        gpu_peak_bytes: Peak GPU memory allocated by torch; None if no GPU was used.
    """

    seconds: float = 0.0
    peak_bytes: int = 0
    gpu_peak_bytes: int | None = None


@contextmanager
def stage(record: Record, name: str) -> Iterator[None]:
    """Measure a stage's time and memory inside the context, and add them to the record, even if the stage fails."""
    taken = Stage()
    try:
        with timed(taken):
            yield
    finally:
        keep_stage(record, name, taken)


@contextmanager
def timed(taken: Stage) -> Iterator[None]:
    """Measure the time and memory used inside the context, and write them to ``taken`` afterwards."""
    _forget_peaks()
    started = time.perf_counter()
    try:
        yield
    finally:
        taken.seconds = time.perf_counter() - started
        taken.peak_bytes, taken.gpu_peak_bytes = _peak(), _gpu_peak()


def keep_stage(record: Record, name: str, taken: Stage) -> None:
    """Add a stage to a record, and include the time of earlier attempts of the same run."""
    stages = record.provenance.setdefault(STAGES, {})
    before = Stage(**stages[name]) if name in stages else Stage()
    gpu = [peak for peak in (before.gpu_peak_bytes, taken.gpu_peak_bytes) if peak is not None]
    seconds, peak = before.seconds + taken.seconds, max(before.peak_bytes, taken.peak_bytes)
    stages[name] = asdict(Stage(round(seconds, 3), peak, max(gpu, default=None)))


def stages_of(record: Record) -> dict[str, Stage]:
    """Return the stages by name, in the order in which they began. The result is empty for a record without stages."""
    return {
        name: Stage(**{key: value for key, value in values.items() if key in Stage.__dataclass_fields__})
        for name, values in record.provenance.get(STAGES, {}).items()
    }


def _forget_peaks() -> None:
    """Reset the memory peaks to the current usage, if the system supports it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets only the peak; see proc(5)
    if (cuda := _cuda()) is not None:
        cuda.reset_peak_memory_stats()


def _peak() -> int:
    """Return the peak memory in bytes. On Linux, getrusage would include the memory of the parent process."""
    if PROC_STATUS.is_file():
        (line,) = (line for line in PROC_STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _gpu_peak() -> int | None:
    return None if (cuda := _cuda()) is None else int(cuda.max_memory_allocated())


def _cuda() -> Any:
    """Return torch's GPU module if a GPU is already in use, otherwise None."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None
