"""Report page of a sweep: tables of runs, best settings by reading, forest plots, line plots and trade-offs."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations, islice
from pathlib import Path
from typing import Any

from fairlab.checks.escapes import print_escaped
from fairlab.checks.redaction import without_secrets
from fairlab.files import SWEEP, write_whole
from fairlab.record import Reading, Record
from fairlab.reporting.changes import hover
from fairlab.reporting.charts import Marks, Panel, figure
from fairlab.reporting.headlines import title
from fairlab.reporting.ideal_forest import scale_of, whisker
from fairlab.reporting.many_runs.answers import nearest_said, no_answer, short_choice
from fairlab.reporting.page import Block, Heading, Heed, PageCell, PageTable, Row, Section, Terms, Text, Verdict, page
from fairlab.reporting.questions import by_question
from fairlab.reporting.tables.grouping import (
    FEW_SEEDS,
    Choice,
    Point,
    best,
    choices_of,
    headlines,
    spoiled,
    trade_off_front,
)
from fairlab.reporting.tables.marks import version_notes
from fairlab.reporting.tables.naming import overrides_text, plain_value
from fairlab.reporting.tables.runs import read_runs
from fairlab.reporting.tables.validation import Chosen, chosen_by_validation
from fairlab.types import FairlabError

NOTE = "The centre is the ideal value, and the lines are 95 % intervals; each reading has a scale of its own."
NUMBER = re.compile(r"-?\d+(\.\d*)?([eE][-+]?\d+)?")
MOST_PLOTTED = 8
LONGEST_LINE = 22  # maximum number of characters per line of a warning in a cell
MOST_LINES = 40  # maximum number of settings in a panel
FEW = 2  # maximum number of settings named in a cell; longer lists are collapsed
MOST_COLUMNS = 5  # maximum number of settings and readings in a table; further readings get another table
MOST_SETTINGS = 2  # maximum number of settings with separate columns; if there are more, they share one column


def report_sweep(folder: Path, readings: Sequence[str] | None = None) -> None:
    """Write the report page of a folder that contains runs at any depth, and print the path of the page.

    ``readings`` are keys as in ``metrics.json``; None selects the headline readings.

    Raises:
        FairlabError: The folder does not exist or contains no run, or a reading does not exist.
    """
    if not folder.is_dir():
        raise FairlabError(f"{folder} is not a folder; give runs=DIR, a folder of runs")
    unread: list[str] = []
    records = read_runs(folder, unread)
    for sentence in unread:
        print_escaped(f"fairlab: left out: {sentence}", error=True)
    if not records and unread:
        raise FairlabError(f"{folder} holds no run that can be read: {unread[0]}")
    if not records:
        raise FairlabError(f"{folder} holds no run (no record.json below it); give runs=DIR, a folder of runs")
    known = {reading.key for record in records for reading in record.readings}
    if unknown := [key for key in readings or () if key not in known]:
        raise FairlabError(f"no run in {folder} has {unknown[0]}; give readings as keys of metrics.json")
    written = write_sweep(folder, records, list(readings or headlines(records)), unread)
    print_escaped(f"report: {written}")


def write_sweep(folder: Path, records: Sequence[Record], keys: Sequence[str], unread: Sequence[str] = ()) -> Path:
    """Write ``report.html`` and ``report.json`` to a folder of runs, and return the path of the page.

    ``keys`` are those of ``metrics.json``, and ``unread`` has a sentence for each record that could not be read.
    """
    as_run = choices_of(records, keys)
    choices, chosen = _sort_groups(as_run), chosen_by_validation(as_run)
    shown = {reading.key: reading for record in records for reading in record.readings if reading.key in keys}
    titles = _titles(keys, shown)
    sections = [
        _side_by_side(choices, titles),
        _by_validation(chosen),
        _nearest(choices, titles, shown),
        Section("Runs", _tables(choices, titles, shown)),
        _lines(choices, titles),
        _trade_offs(choices, titles),
        Section("Not finished", _unfinished(folder, records, unread)),
    ]
    content = [
        {"settings": c.settings, "seeds": c.seeds, "readings": {key: _plain(p) for key, p in c.points.items()}}
        for c in choices
    ]
    write_whole(folder / "report.json", json.dumps(content, indent=1) + "\n")
    path = folder / "report.html"
    lead = _lead(records, choices, titles, chosen)
    made = page(f"fairlab: sweep {folder.name}", f"Sweep {folder.name}", lead, sections)
    write_whole(path, without_secrets(made))
    return path


def _plain(point: Point) -> dict[str, Any]:
    """Convert a point to a dictionary for JSON, with null in place of nan."""
    return {name: None if value != value else value for name, value in asdict(point).items()}


def _sort_groups(choices: Sequence[Choice]) -> Sequence[Choice]:
    """Sort groups of runs by their settings if all values are numbers. Otherwise, keep the order of the runs."""
    if not all(NUMBER.fullmatch(value) for choice in choices for value in choice.settings.values()):
        return choices
    return sorted(choices, key=lambda choice: [float(value) for value in choice.settings.values()])


def _titles(keys: Sequence[str], shown: Mapping[str, Reading]) -> dict[str, str]:
    """Return distinct titles of readings, by key, with the phase or model unless it is the trained model."""
    titles = {
        key: title(shown[key]) + (f", {shown[key].phase}" if shown[key].phase not in ("", "after") else "")
        for key in keys
        if key in shown
    }
    several = Counter(titles.values())
    return {key: name if several[name] == 1 else f"{name}, {key}" for key, name in titles.items()}


def _lead(
    records: Sequence[Record], choices: Sequence[Choice], titles: Mapping[str, str], chosen: Sequence[Chosen]
) -> list[Block]:
    """Return the first blocks of the page: the number of runs, the best settings by reading, and warnings."""
    done = sum(record.status == "finished" for record in records)
    repeated = sum(choice.repeated for choice in choices)
    again = f" {repeated} of them repeat another run with the same seed; the last one counts." if repeated else ""
    lines = [f"{done} of {len(records)} runs finished.{again}"]
    lines += [
        f"Best by validation{' of ' * bool(one.of)}{overrides_text(one.of)}: {overrides_text(one.settings)}."
        for one in chosen
    ]
    found = [nearest_said(choices, key, name) for key, name in titles.items()]
    answers = [sentence for sentence in found if sentence]
    first, *others = answers or [no_answer(choices)]
    lines += others
    notes = Counter(
        text
        for record in records
        for text in {
            f"{note.benchmark}: {note.text}" for note in [*record.notes, *version_notes(record)] if not note.item
        }
    )
    heed: list[Block] = (
        [Heed("Before reading the numbers", [f"{text} ({n} of {len(records)} runs)" for text, n in notes.items()])]
        if notes
        else []
    )
    return [
        Verdict(first, lines),
        *heed,
        Text(
            "Values are means over seeds with 95 % intervals over both items and seeds; small type shows intervals "
            f"of Student's t over seeds only, if there are fewer than {FEW_SEEDS}. Runs that agree in all digits "
            "count as one computation, with an interval over its items. Settings with untrained runs are never "
            "called nearest.",
            "note",
        ),
    ]


def _tables(choices: Sequence[Choice], titles: Mapping[str, str], shown: Mapping[str, Reading]) -> list[Block]:
    """Return tables of readings with one row per group of runs, by question and with few columns each."""
    settings = list(choices[0].settings) if choices else []
    called = any(choice.called for choice in choices)
    settings = settings if len(settings) <= MOST_SETTINGS and not called else ["settings"]
    tops = {key: best(choices, key) for key in titles}
    blocks: list[Block] = []
    for question, keys in by_question(titles, shown.__getitem__).items():
        blocks.append(Heading(question))
        for some in _chunks(keys, max(2, MOST_COLUMNS - len(settings))):
            rows = [_row(choice, settings, some, tops) for choice in choices]
            named = [PageCell(titles[key], shown[key].unit, hover=hover(shown[key])) for key in some]
            blocks.append(PageTable([*settings, "seeds", *named], rows))
    terms = [(name, f"{hover(shown[key])}".replace("\n", "; ")) for key, name in titles.items()]
    note = Text(
        "▲ marks the mean nearest to the ideal value if no other interval overlaps its own. Point to a name to see "
        "its meaning.",
        "note",
    )
    return [*blocks, note, Terms(terms)] if blocks else [PageTable([*settings, "seeds"], []), note]


def _chunks(keys: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """Split keys into as few portions as possible, of nearly equal size."""
    portions = -(-len(keys) // most)
    for number in range(portions):
        yield keys[number * len(keys) // portions : (number + 1) * len(keys) // portions]


def _row(
    choice: Choice, settings: Sequence[str], keys: Sequence[str], tops: Mapping[str, tuple[Choice, list[Choice]] | None]
) -> Row:
    own = list(choice.settings) == settings and not choice.called
    named = [plain_value(key, value) for key, value in choice.settings.items()] if own else [short_choice(choice)]
    cells: list[PageCell | str] = [*named, ", ".join(map(str, choice.seeds))]
    for key in keys:
        top = tops[key]
        nearest = top is not None and top[0] is choice and not top[1]
        cells.append(_point_cell(choice.points[key], nearest=nearest) if key in choice.points else "")
    return cells


def _point_cell(point: Point, *, nearest: bool = False) -> PageCell:
    sign, tone = ("▲ ", "better") if nearest else ("", "")
    said = [point.interval] if point.interval else []
    if point.over_seeds is not None:
        said.append(f"seeds alone\n[{point.over_seeds[0]:.4g}, {point.over_seeds[1]:.4g}]")
    said += [line for mark in point.marks for line in textwrap.wrap(f"({mark})", LONGEST_LINE)]
    return PageCell(f"{sign}{point.value:.4g}", "\n".join(said), tone=tone)


def _by_validation(chosen: Sequence[Chosen]) -> Section | None:
    """Return the section with the settings that have the best median validation score over seeds."""
    if not chosen:
        return None
    rows: list[Row] = [
        [
            overrides_text(one.of) or "all runs",
            overrides_text(one.settings),
            PageCell(f"{one.median:.4g}", one.measure),
            ", ".join(f"{value:.4g}" for value in one.values),
            ", ".join(map(str, one.seeds)),
            str(one.tried),
        ]
        for one in chosen
    ]
    note = (
        "The settings with the highest median over seeds of the task's measure on held-out training examples; in "
        "a tie, the first. The readings below do not influence the choice."
    )
    header = ["of", "best settings", "median", "of each run", "seeds", "settings tried"]
    return Section("Best by validation", [PageTable(header, rows), Text(note, "note")])


def _nearest(choices: Sequence[Choice], titles: Mapping[str, str], shown: Mapping[str, Reading]) -> Section:
    rows: list[Row] = []
    for key, name in titles.items():
        if found := best(choices, key):
            first, alike = found
            point = first.points[key]
            names = ", ".join(map(short_choice, alike))
            told = PageCell(f"{len(alike)} others", folded=names) if len(alike) > FEW else names or "none"
            value = PageCell(f"{point.value:.4g}", point.interval)
            rows.append(
                [PageCell(name, hover=hover(shown[key])), f"{point.ideal:.4g}", short_choice(first), value, told]
            )
    if not rows:
        return Section("Nearest to the ideal value", [Text("No reading has an ideal value.")])
    note = (
        "The settings whose mean is nearest to the ideal value. The best of many settings is partly luck: it cannot "
        "be distinguished from the settings in the last column."
    )
    header = ["what was measured", "ideal", "nearest settings", "value", "settings not distinguishable from it"]
    return Section("Nearest to the ideal value", [PageTable(header, rows), Text(note, "note")])


def _lines(choices: Sequence[Choice], titles: Mapping[str, str]) -> Section | None:
    """Plot readings against each numeric setting, with one line for each combination of the other settings."""
    blocks: list[Block] = []
    for setting in choices[0].settings if choices else ():
        if not all(NUMBER.fullmatch(choice.settings[setting]) for choice in choices):
            continue
        lines: dict[str, list[Choice]] = {}
        for choice in choices:
            others = " ".join(f"{key}={value}" for key, value in choice.settings.items() if key != setting)
            lines.setdefault(others or "all", []).append(choice)
        panels = []
        for key, named in islice(titles.items(), MOST_PLOTTED):
            marks = [_line(name, of_line, setting, key, k) for k, (name, of_line) in enumerate(lines.items())]
            panels.append(Panel(named, marks, setting))
        blocks.append(figure(panels))
    return Section("Against each setting", blocks) if blocks else None


def _line(name: str, of_line: Sequence[Choice], setting: str, key: str, colour: int) -> Marks:
    having = sorted((c for c in of_line if key in c.points), key=lambda choice: float(choice.settings[setting]))
    points = [choice.points[key] for choice in having]
    x = [float(choice.settings[setting]) for choice in having]
    low, high = [point.low for point in points], [point.high for point in points]
    return Marks(name, x, [point.value for point in points], "both", colour, low, high, list(map(short_choice, having)))


def _trade_offs(choices: Sequence[Choice], titles: Mapping[str, str]) -> Section | None:
    """Plot distances to the ideal value for pairs of readings from different benchmarks, with the Pareto front."""
    judged = [key for key in titles if all(key in c.points and c.points[key].ideal is not None for c in choices)]
    first = list({key.split("/")[-3]: key for key in reversed(judged) if key.count("/") > 1}.values())[::-1]
    pairs = list(combinations(first if len(first) > 1 else judged, 2))[: MOST_PLOTTED // 2]
    if len(choices) < 2 or not pairs:
        return None
    blocks: list[Block] = []
    for pair in pairs:
        points = [(choice.points[pair[0]].distance, choice.points[pair[1]].distance) for choice in choices]
        sound = [k for k, one in enumerate(choices) if not any(spoiled(one.points[key]) for key in pair)]
        front = [sound[k] for k in trade_off_front([points[k] for k in sound])]
        names = [short_choice(choice) for choice in choices]
        x, y = zip(*points, strict=True)
        marks = [
            Marks("runs", x, y, "dots", None, texts=names, size=4.5),
            Marks(
                "no other is nearer in both",
                [x[k] for k in front],
                [y[k] for k in front],
                "both",
                1,
                texts=[names[k] for k in front],
                size=4.5,
                labels=[str(number) for number in range(1, len(front) + 1)],
            ),
        ]
        across, up = (f"{titles[key]}: distance to ideal" for key in pair)
        drawn = figure([Panel(f"{titles[pair[0]]} against {titles[pair[1]]}", marks, across, up, [0.0], [0.0])])
        rows = [[f"{n}", names[k], f"{x[k]:.4g}", f"{y[k]:.4g}"] for n, k in enumerate(front, 1)]
        blocks += [drawn, PageTable(["", "not beaten", *(titles[key] for key in pair)], rows)]
    note = Text(
        "Joined and numbered points: no other sound settings are nearer to both ideal values. The tables name them, "
        "with their distances; points that are close together may differ by chance alone.",
        "note",
    )
    return Section("Trade-offs", [*blocks, note])


def _side_by_side(choices: Sequence[Choice], titles: Mapping[str, str]) -> Section | None:
    """Plot the value and interval of each group of runs around the ideal value, reading by reading."""
    rows: list[Row | Heading] = []
    for key, name in islice(titles.items(), MOST_PLOTTED):
        points = [(short_choice(choice), choice.points[key]) for choice in choices if key in choice.points]
        judged = [(settings, point) for settings, point in points if point.ideal is not None][:MOST_LINES]
        if len(judged) > 1:
            widest = max(scale_of((one.value, one.low, one.high), one.ideal or 0.0) for _, one in judged) or 1.0
            rows += [Heading(name), *(_forest_row(settings, one, widest) for settings, one in judged)]
    if not rows:
        return None
    note = NOTE + f" Only the first {MOST_LINES} settings are shown." if len(choices) > MOST_LINES else NOTE
    columns: Row = ["settings", "value", PageCell("", forest="ideal")]
    return Section("Side by side", [PageTable(columns, rows), Text(note, "note")])


def _forest_row(settings: str, point: Point, widest: float) -> Row:
    low, high = (end if math.isfinite(end) else point.value for end in (point.low, point.high))
    drawn = PageCell("", forest=whisker(point.value, low, high, point.ideal or 0.0, widest))
    return [settings, PageCell(f"{point.value:.4g}", point.interval), drawn]


def _unfinished(folder: Path, records: Sequence[Record], unread: Sequence[str]) -> list[Block]:
    """Return a table of the runs that did not finish, with their commands, and how to run them."""
    rows = [
        [str(r.folder.relative_to(folder)), *r.state.partition(": ")[::2], r.command]
        for r in records
        if r.status != "finished"
    ]
    rows += [["", "not read", sentence, ""] for sentence in unread]
    if not rows:
        return [Text("Every run that was started finished.")]
    table = PageTable(["run", "status", "why", "command"], rows)
    again = "The command of the sweep, given again, runs only these and those that were not started."
    return [table, Text(again)] if (folder / SWEEP).is_file() else [table]
