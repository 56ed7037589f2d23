"""Short summary that is printed when a run finishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from fairlab.checks.escapes import print_escaped
from fairlab.record import DATA, Comparison, Reading, Record
from fairlab.reporting.collapse import collapse_verdicts
from fairlab.reporting.headlines import key, represents, title
from fairlab.reporting.questions import Shift, shifts
from fairlab.reporting.tables.marks import marked, marks_beside
from fairlab.reporting.verdicts import TOO_FEW, interval_text

PHASES = ("before", "after")
Said = TypeVar("Said")


def print_summary(record: Record) -> None:
    """Print the summary of a run and the path of its report."""
    for line in summary_lines(record):
        print_escaped(line)
    report = record.folder / "report.html"
    print_escaped(f"report: {report.relative_to(Path.cwd()) if report.is_relative_to(Path.cwd()) else report}")


def summary_lines(record: Record) -> list[str]:
    """Return lines on headline readings, changes and collapse, followed by notes and skipped benchmarks."""
    headline = [row for row in record.table() if represents(next(iter(row.values()))) and DATA not in row]
    answers = record.provenance.get("answers", {})
    lines = [f"{label}: {one['sentence']}" if label else one["sentence"] for label, one in answers.items()]
    lines += [
        marked(
            change_line(record, row["before"], row["after"]) if {"before", "after"} <= set(row) else line(record, row),
            list(dict.fromkeys(mark for reading in row.values() for mark in marks_beside(record, reading))),
        )
        for row in headline
    ]
    moved = filter(_is_significant, shifts(record))
    lines += [marked(moved_line(one.comparison), marks_beside(record, one.after)) for one in moved]
    lines += collapse_verdicts(record)
    notes = [(n.phase, f"{n.benchmark}: {n.text}") for n in record.notes if not n.item]
    lines += [f"note{_suffix(phase)}: {text}" for phase, text in by_phase(record, notes)]
    not_run = [(n.phase, f"{n.benchmark} {n.subset}: {n.reason}") for n in record.not_run]
    lines += [f"not run{_suffix(phase)}: {text}" for phase, text in by_phase(record, not_run)]
    return lines


def by_phase(record: Record, said: Sequence[tuple[str, Said]]) -> list[tuple[str, Said]]:
    """Return each statement once, with the phase that it is about.

    The phase is empty for a statement about both ``before`` and ``after``, and in a run without these two phases.
    """
    measured = {one.phase for one in record.readings} | {one.phase for one in record.notes}
    paired = set(PHASES) <= measured | {one.phase for one in record.not_run}
    both = set.intersection(*({text for of, text in said if of == phase} for phase in PHASES))
    unnamed = {(phase, text) for phase, text in said if phase in PHASES and (text in both or not paired)}
    return list(dict.fromkeys(("", text) if (phase, text) in unnamed else (phase, text) for phase, text in said))


def _suffix(phase: str) -> str:
    return f" ({phase})" if phase in PHASES else f" on {phase}" if phase else ""


def line(record: Record, row: Mapping[str, Reading]) -> str:
    """Format a reading as ``SEAT mean absolute effect size, all tests: 0.9576 (0.7907..1.31), n 6``, plus its key."""
    first = next(iter(row.values()))
    values = [f"{phase} {r.value:.4g} ({interval_text(record, r)})".strip() for phase, r in row.items()]
    return f"{title(first)}: {'; '.join(values)}, n {first.n} [{key(first)}]"


def change_line(record: Record, before: Reading, after: Reading) -> str:
    """Format a change as ``CCED gap, bundled sentences: 0.0412 -> 0.0071 (-83%), 95 % 0.0065..0.0078, n 240``.

    The key of the reading follows. The change is relative if the ideal value is 0, and a difference otherwise.
    """
    relative = before.ideal == 0 and before.value
    change = f"{after.value / before.value - 1:+.0%}" if relative else f"{after.value - before.value:+.2f}"
    said = interval_text(record, after)
    interval = said if said == TOO_FEW else f"95 % {said}"
    values = f"{before.value:.4g} -> {after.value:.4g} ({change})"
    return f"{title(before)}: {values}, {interval}, n {after.n} [{key(before)}]"


def _is_significant(one: Shift) -> bool:
    """Return whether a headline reading changed significantly and has enough items."""
    return one.headline and not one.few and one.comparison.p_holm is not None and one.significant


def moved_line(comparison: Comparison) -> str:
    """Format a significant change, or a significant difference between two models, as one line.

    An example is ``changed beyond chance: SEAT mean absolute effect size, all tests: -0.31 (-0.4..-0.2), p 0.003
    adjusted for all headlines``.
    """
    c = comparison
    what = title(c) + ("" if c.phase == "change" else f", {c.phase}")
    values = f"{c.difference:+.4g} ({c.low:+.4g}..{c.high:+.4g})"
    verb = "changed" if c.phase == "change" else "differs"
    return f"{verb} beyond chance: {what}: {values}, p {c.p_holm:.2g} adjusted for all headlines"
