"""Time and memory used by the stages of a run."""

from __future__ import annotations

from fairlab.benchmarks.stages import Stage, stages_of
from fairlab.record import Record
from fairlab.reporting.charts import COLOURS, Slice, stacked
from fairlab.reporting.page import Block, Fold, PageTable, Section


def stage_section(record: Record) -> Section | None:
    """Return the section on the duration of a run's stages, or None for older records, which have no stages."""
    stages = stages_of(record)
    if not stages:
        return None
    parts = [Slice(name, seconds, f"{name}: {seconds:,.1f} s") for name, seconds in _grouped_seconds(stages).items()]
    on_gpu = any(taken.gpu_peak_bytes is not None for taken in stages.values())
    rows = [[name, *_row(taken, on_gpu)] for name, taken in stages.items()]
    table = PageTable(["stage", "seconds", "most memory, MB", *(["of the GPU, MB"] if on_gpu else [])], rows)
    total = sum(taken.seconds for taken in stages.values())
    peak = max(taken.peak_bytes for taken in stages.values())
    note = f"{total:,.1f} s until this page was written; peak memory of the process: {peak / 1e6:,.0f} MB."
    blocks: list[Block] = [stacked(parts, note), Fold("stages", [table])]
    return Section("Time and memory", blocks)


def _row(taken: Stage, on_gpu: bool) -> list[str]:
    gpu = "" if taken.gpu_peak_bytes is None else f"{taken.gpu_peak_bytes / 1e6:.0f}"
    return [f"{taken.seconds:.1f}", f"{taken.peak_bytes / 1e6:.0f}", *([gpu] if on_gpu else [])]


def _grouped_seconds(stages: dict[str, Stage]) -> dict[str, float]:
    """Return the seconds of each segment of the bar, in order.

    The benchmarks of a phase form one segment. If there are too many segments, the shortest ones are merged.
    """
    seconds: dict[str, float] = {}
    for name, taken in stages.items():
        phase = name.rpartition("/")[0]
        part = f"measuring {phase}" if phase else name
        seconds[part] = seconds.get(part, 0.0) + taken.seconds
    if len(seconds) <= COLOURS:
        return seconds
    shown = sorted(seconds, key=lambda part: seconds[part], reverse=True)[: COLOURS - 1]
    others = sum(value for part, value in seconds.items() if part not in shown)
    return {part: value for part, value in seconds.items() if part in shown} | {"others": others}
