"""Page that shows all runs in given folders: table, pairwise comparison, trade-offs, and details of each run.

``templates/view.js`` draws and sorts. This module provides the content: a summary of all runs, and the details of each
run. For few runs, the page includes the details; for many runs, a server sends them on request
(:mod:`fairlab.reporting.view.serving`).
"""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairlab.checks.redaction import without_secrets
from fairlab.record import Comparison, Note, Reading, Record
from fairlab.reporting.collapse import collapsed_readings
from fairlab.reporting.headlines import key, meaning, title
from fairlab.reporting.page import templates
from fairlab.reporting.questions import question, shifts
from fairlab.reporting.tables.grouping import NO_SETTING, records_below
from fairlab.reporting.tables.marks import is_spoiled, marks_beside, version_notes
from fairlab.reporting.tables.tool_records import results_file
from fairlab.reporting.verdicts import corrected_interval
from fairlab.reporting.view.items import ScoredItems, items_of

MOST_WHOLE = 500  # maximum number of runs whose details a page includes
MOST_STEPS = 240  # maximum number of points of a training curve
MOST_ITEMS = 60  # maximum number of items per benchmark in a page, which are those whose scores changed most
DIGITS = 6


@dataclass
class Browser:
    """Runs in given folders, with descriptions of their readings.

    Attributes:
        records: Records of the runs.
        names: Name of each run.
        terms: Description of each reading, by its key without the phase: name, meaning, unit, ideal value and question.
    """

    records: list[Record]
    names: list[str]
    terms: dict[str, dict[str, Any]] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Return the content of the overview of all runs."""
        runs = [self._run(record, name) for record, name in zip(self.records, self.names, strict=True)]
        return _without_secrets({"runs": runs, "terms": list(self.terms.values())})

    def details(self, number: int, *, page: bool) -> dict[str, Any]:
        """Return all readings, changes, notes, curves and items of a run.

        For a ``page``, which stores the details, only some of the items and only texts that may be redistributed are
        included.
        """
        record = self.records[number]
        tones = {one.comparison.key: one.colour for one in shifts(record)}
        items = [_page_items(found, MOST_ITEMS if page else len(found.ids), page) for found in items_of(record)]
        return _without_secrets(
            {
                "readings": [self._reading(record, reading) for reading in record.readings],
                "changes": [self._change(change, tones.get(change.key, "")) for change in record.comparisons],
                "notes": [[note.benchmark, note.phase, note.item, note.text] for note in _notes(record)],
                "not_run": [[entry.benchmark, entry.subset, entry.phase, entry.reason] for entry in record.not_run],
                "history": _curves(record.history),
                "items": items,
                "command": record.command,
            }
        )

    def _run(self, record: Record, name: str) -> dict[str, Any]:
        """Return the table row of a run: its description and its headline readings, which refer to terms by index."""
        config, collapsed = record.config, collapsed_readings(record)
        values, spoiled = {}, []
        for reading in record.readings:
            place = self._term(reading)
            if reading.headline and reading.phase != "before":
                column = f"{place}:{'' if reading.phase in ('', 'after') else reading.phase}"
                values[column] = _numbers(reading.value, *corrected_interval(record, reading))
                if reading.key in collapsed or is_spoiled(marks_beside(record, reading)):
                    spoiled.append(column)
        notes = list(dict.fromkeys(f"{note.benchmark}: {note.text}" for note in _notes(record) if not note.item))
        return {
            "name": name,
            "method": str((config.get("method") or {}).get("_target_", "")).rpartition(".")[2] or "none",
            "model": _model(config),
            "settings": _settings(record.command),
            "seed": config.get("seed"),
            "status": record.state,
            "notes": notes,
            "values": values,
            "spoiled": spoiled,
        }

    def _term(self, named: Reading | Comparison) -> int:
        """Return the index of a reading's description among the terms. A new description is added to the terms."""
        found = self.terms.get(key(named))
        if found is None:
            ideal = named.ideal if isinstance(named, Reading) else None
            found = {"place": len(self.terms), "key": key(named), "title": title(named), "said": meaning(named)}
            found |= {"unit": named.unit, "ideal": ideal, "question": question(named)}
            self.terms[key(named)] = found
        return int(found["place"])

    def _reading(self, record: Record, reading: Reading) -> list[Any]:
        numbers = _numbers(reading.value, *corrected_interval(record, reading))
        return [self._term(reading), reading.phase, *numbers, reading.n]

    def _change(self, change: Comparison, tone: str) -> list[Any]:
        p = change.p if change.p_holm is None else change.p_holm
        numbers = _numbers(change.difference, change.low, change.high, p)
        return [self._term(change), change.phase, *numbers, change.headline, tone]


def browse(folders: Sequence[Path]) -> Browser:
    """Load all runs in folders and their subfolders. From a folder without fairlab runs, load the runs of other tools.

    Raises:
        FairlabError: A folder does not exist or contains no run, or a file is damaged.
    """
    records: list[Record] = []
    names: list[str] = []
    for folder in folders:
        found = records_below(folder)
        records += found
        above = f"{folder.name}/" if len(folders) > 1 else ""
        called = Counter(record.name for record in found)
        names += [f"{above}{_name(record, folder, alone=called[record.name] == 1)}" for record in found]
    return Browser(records, [folders[0].resolve().name if name == "." else name for name in names])


def _name(record: Record, folder: Path, *, alone: bool) -> str:
    """Return the name to show for a run.

    This is the user-given name, followed by the path unless ``alone`` is true. A run without a name is shown by its
    path, or by the name of the file if the run was read from a single file.
    """
    place = record.folder.relative_to(folder)
    shown = folder.name if str(place) == "." and results_file(record) else str(place)
    if record.name:
        return record.name if alone else f"{record.name} ({shown})"
    return shown


def view_page(browser: Browser, *, served: bool) -> str:
    """Render the page.

    If the page is ``served``, a server provides the details. Otherwise, the page includes them unless there are too
    many runs.
    """
    whole = not served and len(browser.records) <= MOST_WHOLE
    summary = browser.summary()
    details = [browser.details(number, page=True) for number in range(len(browser.records))] if whole else []
    summary |= {"terms": list(browser.terms.values()), "served": served, "whole": whole}
    return templates().get_template("view.html").render(summary=summary, details=details)


def _notes(record: Record) -> list[Note]:
    """Return the notes in a run's record, and notes on outdated versions of benchmarks."""
    return [*record.notes, *version_notes(record)]


def _model(config: dict[str, Any]) -> str:
    if backbone := config.get("backbone"):
        return str(backbone.get("name", "") if isinstance(backbone, dict) else backbone)
    given = config.get("model") or config.get("dataset") or ""
    return ", ".join(map(str, given)) if isinstance(given, list | dict) else str(given)


def _settings(command: str) -> str:
    """Return the overrides in a command, except those that are not settings, such as paths and seeds."""
    try:
        words = shlex.split(command)[3:]
    except ValueError:  # a truncated command
        words = command.split()[3:]
    return " ".join(word for word in words if not NO_SETTING.match(word))


def _numbers(*values: float | None) -> list[float | None]:
    """Round numbers to ``DIGITS`` significant digits."""
    return [None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}") for value in values]


def _curves(history: Sequence[dict[str, float]]) -> dict[str, list[list[float | None]]]:
    """Return the points of each training curve by name, with at most :data:`MOST_STEPS` points each."""
    found: dict[str, list[list[float | None]]] = {}
    for row in history:
        step = row.get("step", row.get("round", 0))
        for name, value in row.items():
            if name not in ("step", "round") and isinstance(value, int | float):
                found.setdefault(name, []).append(_numbers(step, value))
    return {name: points[:: math.ceil(len(points) / MOST_STEPS)] for name, points in found.items()}


def _page_items(found: ScoredItems, most: int, page: bool) -> dict[str, Any]:
    """Return the items of a benchmark for the page: id, scores by phase, and texts if they may be shown."""
    told = not page or found.free
    rows = []
    for place in found.changed[:most]:
        scores = [_numbers(*values[place].tolist()) for values in found.scores.values()]
        rows.append([found.ids[place], scores, list(found.texts[place]) if told and found.texts else []])
    why = found.missing
    if found.texts and not told:
        why = "The licence of these texts forbids including them in a page; with --serve they are read from your files."
    return {
        "name": found.name,
        "values": list(found.values),
        "phases": list(found.scores),
        "total": len(found.ids),
        "rows": rows,
        "missing": why,
    }


def _without_secrets(content: dict[str, Any]) -> dict[str, Any]:
    """Redact secrets in the content, in one pass over its JSON."""
    cleared: dict[str, Any] = json.loads(without_secrets(json.dumps(content)))
    return cleared
