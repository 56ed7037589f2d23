"""Time and memory used by the stages of a run."""

from __future__ import annotations

from fairlab.benchmarks.stages import Stage, stages_of
from fairlab.record import Record
from fairlab.reporting.page import Fold, PageTable, Section, Text


def stage_section(record: Record) -> Section | None:
    """Return the section on the duration of a run's stages, or None for older records, which have no stages."""
    stages = stages_of(record)
    if not stages:
        return None
    on_gpu = any(taken.gpu_peak_bytes is not None for taken in stages.values())
    rows = [[name, *_row(taken, on_gpu)] for name, taken in stages.items()]
    table = PageTable(["stage", "seconds", "most memory, MB", *(["of the GPU, MB"] if on_gpu else [])], rows)
    total = sum(taken.seconds for taken in stages.values())
    peak = max(taken.peak_bytes for taken in stages.values())
    note = f"{total:,.1f} s until this page was written; peak memory of the process: {peak / 1e6:,.0f} MB."
    return Section("Time and memory", [Text(note), Fold("stages", [table])])


def _row(taken: Stage, on_gpu: bool) -> list[str]:
    gpu = "" if taken.gpu_peak_bytes is None else f"{taken.gpu_peak_bytes / 1e6:.0f}"
    return [f"{taken.seconds:.1f}", f"{taken.peak_bytes / 1e6:.0f}", *([gpu] if on_gpu else [])]
