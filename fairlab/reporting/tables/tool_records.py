"""Conversion of other evaluation tools' runs to records, so that tables and pages can include them."""

from __future__ import annotations

from pathlib import Path

from fairlab.judge.paired import clustered_error
from fairlab.judge.reading import find_tool_runs
from fairlab.judge.scores import TaskScores, ToolRun
from fairlab.metrics.bootstrap import FEWEST_ITEMS, cluster_sums
from fairlab.record import Note, NotRun, Reading, Record

RESULTS = "results of another tool"  # provenance key of the path of the results file


def tool_records(place: Path) -> list[Record]:
    """Return a record for each run of another tool in a file or folder, including subfolders.

    Raises:
        FairlabError: A file is damaged, or there are too many files.
    """
    return [_record(run) for run in find_tool_runs(place)]


def results_file(record: Record) -> Path | None:
    """Return the results file of the tool that a record was converted from, or None for a run of fairlab."""
    found = record.provenance.get(RESULTS)
    return Path(found) if isinstance(found, str) else None


def _record(run: ToolRun) -> Record:
    settings = {scores.task: dict(scores.settings) for scores in run.tasks if scores.settings}
    config = {"model": run.name, "tool": run.tool, "results": str(run.place), "tasks": settings}
    record = Record(run.place, config, "", "finished", provenance={RESULTS: str(run.place)})
    record.notes.append(Note(run.tool, "measured by this tool; fairlab compare tests differences item by item"))
    record.notes += [Note(run.tool, f"left out: {reason}") for reason in run.left_out]
    for scores in run.tasks:
        record.notes += [Note(run.tool, remark) for remark in scores.remarks]
        _add(record, scores)
    return record


def _add(record: Record, scores: TaskScores) -> None:
    """Add a task's mean over items to a record, with its cluster-robust t-interval.

    If there are few items, a warning is added as well.
    """
    from scipy.stats import t  # takes a second to import

    sums, sizes = cluster_sums(scores.values, scores.clusters or scores.ids)
    task, metric = (name.replace("/", "_") for name in (scores.task, scores.metric))
    units, mean = len(sums), scores.mean
    if units < 2:
        record.not_run.append(NotRun(task, metric, f"{mean:.4g}, over one independent item, has no interval"))
        return
    half = float(t.ppf(0.975, units - 1)) * clustered_error(sums, sizes)
    record.readings.append(
        Reading(task, "all", metric, mean, "", None, len(scores.values), mean - half, mean + half, headline=True)
    )
    if units < FEWEST_ITEMS:
        mark = f"{units} independent items, too few to conclude from"
        record.add_notes([Note(task, mark, subset="all", mark=mark)])
