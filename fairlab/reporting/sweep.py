"""The page of a sweep: its runs in a table, each criterion's best, lines, trade-offs and parallel coordinates."""

from __future__ import annotations

import html
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations, islice
from pathlib import Path

from fairlab.files import write_whole
from fairlab.record import Reading, Record, without_secrets
from fairlab.reporting import plots
from fairlab.reporting.headlines import meaning, title
from fairlab.reporting.page import Cell, figure, page, section, table
from fairlab.results.grouping import Choice, Point, choices_of, headlines
from fairlab.results.marks import marked
from fairlab.results.runs import read_runs
from fairlab.types import FairlabError

NUMBER = re.compile(r"-?\d+(\.\d*)?([eE][-+]?\d+)?")
MOST_PLOTTED = 8


def best(choices: Sequence[Choice], key: str) -> tuple[Choice, list[Choice]] | None:
    """The choice whose mean is nearest to the ideal, and those whose interval overlaps its own."""
    having = [choice for choice in choices if key in choice.points and choice.points[key].ideal is not None]
    if not having:
        return None
    first = min(having, key=lambda choice: choice.points[key].distance)
    top = first.points[key]
    alike = [c for c in having if c is not first and c.points[key].low <= top.high and c.points[key].high >= top.low]
    return first, alike


def trade_off_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Places of the points that no other is at least as near in both and nearer in one; by the first coordinate."""
    kept = [k for k, (x, y) in enumerate(points) if not any(a <= x and b <= y and (a < x or b < y) for a, b in points)]
    return sorted(kept, key=lambda k: points[k])


def write_sweep(folder: Path, records: Sequence[Record], keys: Sequence[str], unread: Sequence[str] = ()) -> Path:
    """Write ``report.html`` and ``report.json`` into a folder of runs.

    Args:
        folder: folder of the runs, where both files are written.
        records: records of the runs.
        keys: keys of the readings to show, as in ``metrics.json``.
        unread: a sentence for every record that could not be read.

    Returns:
        Path of the page.
    """
    choices = choices_of(records, keys)
    shown = {reading.key: reading for record in records for reading in record.readings if reading.key in keys}
    titles = _titles(keys, shown)
    sections = [
        _heading(folder, records, sum(choice.repeated for choice in choices)),
        section("Runs", _table(choices, titles, shown)),
        section("Nearest to the ideal value", _best(choices, titles, shown)),
        _lines(choices, titles),
        _trade_offs(choices, titles),
        _parallel(choices, titles),
        section("Not finished", _unfinished(records, unread)),
    ]
    content = [
        {"settings": c.settings, "seeds": c.seeds, "readings": {key: asdict(p) for key, p in c.points.items()}}
        for c in choices
    ]
    write_whole(folder / "report.json", json.dumps(content, indent=1) + "\n")
    path = folder / "report.html"
    write_whole(path, without_secrets(page(f"fairlab: sweep {folder.name}", sections)))
    return path


def _titles(keys: Sequence[str], shown: Mapping[str, Reading]) -> dict[str, str]:
    """Plain names of keys, all different: with the phase or model where that is not the one after training."""
    titles = {
        key: title(shown[key]) + (f", {shown[key].phase}" if shown[key].phase not in ("", "after") else "")
        for key in keys
        if key in shown
    }
    several = Counter(titles.values())
    return {key: name if several[name] == 1 else f"{name}, {key}" for key, name in titles.items()}


def _heading(folder: Path, records: Sequence[Record], repeated: int) -> str:
    done = sum(record.status == "finished" for record in records)
    again = f" {repeated} of them do what another does with the same seed; the last counts." if repeated else ""
    return (
        f"<h1>Sweep {html.escape(folder.name)}</h1><p>{done} of {len(records)} runs finished.{again} Values are "
        "means over seeds with 95 % intervals of Student's t; where there is one run, its own interval over items.</p>"
    )


def _table(choices: Sequence[Choice], titles: Mapping[str, str], shown: Mapping[str, Reading]) -> str:
    settings = list(choices[0].settings) if choices else []
    rows = [
        [
            *choice.settings.values(),
            ", ".join(map(str, choice.seeds)),
            *(_shown(choice.points[key]) if key in choice.points else "" for key in titles),
        ]
        for choice in choices
    ]
    named = [(f"{name} ({shown[key].unit})", meaning(shown[key]), key) for key, name in titles.items()]
    body = table([*settings, "seeds", *named], rows)
    return f"<div style='overflow-x: auto'>{body}</div>"


def _shown(point: Point) -> str:
    return marked(f"{point.value:.4g} [{point.low:.4g}, {point.high:.4g}]", point.marks)


def _best(choices: Sequence[Choice], titles: Mapping[str, str], shown: Mapping[str, Reading]) -> str:
    rows: list[list[Cell]] = []
    for key, name in titles.items():
        if found := best(choices, key):
            first, alike = found
            point = first.points[key]
            told = ", ".join(choice.name for choice in alike) or "none"
            criterion = (name, meaning(shown[key]), key)
            rows.append([criterion, f"{point.ideal:.4g}", first.name, _shown(point), str(point.n), told])
    if not rows:
        return "<p>No reading has an ideal value.</p>"
    note = (
        "<p class='note'>The settings whose mean lies nearest to the ideal value. The best of many settings is also "
        "lucky: it cannot be told apart from those in the last column.</p>"
    )
    header = ["what was measured", "ideal", "nearest settings", "value", "runs", "settings whose interval overlaps"]
    return f"<div style='overflow-x: auto'>{table(header, rows)}</div>{note}"


def _lines(choices: Sequence[Choice], titles: Mapping[str, str]) -> str:
    """Readings against each setting that is a number, a line for each choice of the others."""
    body = ""
    for setting in choices[0].settings if choices else ():
        if not all(NUMBER.fullmatch(choice.settings[setting]) for choice in choices):
            continue
        lines: dict[str, list[Choice]] = {}
        for choice in choices:
            others = " ".join(f"{key}={value}" for key, value in choice.settings.items() if key != setting)
            lines.setdefault(others or "all", []).append(choice)
        drawn = {
            named: {
                name: sorted(
                    (float(c.settings[setting]), c.points[key].value, c.points[key].low, c.points[key].high)
                    for c in of_line
                    if key in c.points
                )
                for name, of_line in lines.items()
            }
            for key, named in islice(titles.items(), MOST_PLOTTED)
        }
        body += figure(plots.lines(setting, drawn))
    return section("Against each setting", body) if body else ""


def _trade_offs(choices: Sequence[Choice], titles: Mapping[str, str]) -> str:
    """Distances to the ideal of two criteria, of different benchmarks, with the choices that no other beats in both."""
    judged = [key for key in titles if all(key in c.points and c.points[key].ideal is not None for c in choices)]
    first = list({key.split("/")[-3]: key for key in reversed(judged) if key.count("/") > 1}.values())[::-1]
    pairs = list(combinations(first if len(first) > 1 else judged, 2))[: MOST_PLOTTED // 2]
    if len(choices) < 2 or not pairs:
        return ""
    body = ""
    for pair in pairs:
        points = [(choice.points[pair[0]].distance, choice.points[pair[1]].distance) for choice in choices]
        names = [titles[key] for key in pair]
        body += figure(plots.trade_off(names, points, [choice.name for choice in choices], trade_off_front(points)))
    return section(
        "Trade-offs", body + "<p class='note'>Joined points: no other settings are nearer to both ideal values.</p>"
    )


def _parallel(choices: Sequence[Choice], titles: Mapping[str, str]) -> str:
    drawn = [key for key in titles if all(key in choice.points for choice in choices)][:MOST_PLOTTED]
    if len(choices) < 2 or not drawn:
        return ""
    settings = {key: [choice.settings[key] for choice in choices] for key in choices[0].settings}
    readings = {titles[key]: [choice.points[key].value for choice in choices] for key in drawn}
    return section("Parallel coordinates", figure(plots.parallel(settings, readings)))


def _unfinished(records: Sequence[Record], unread: Sequence[str]) -> str:
    rows = [[str(r.folder.name), r.status, r.reason] for r in records if r.status != "finished"]
    rows += [["", "not read", sentence] for sentence in unread]
    return table(["run", "status", "why"], rows) if rows else "<p>Every run that was started finished.</p>"


def report_sweep(folder: Path, readings: Sequence[str] | None = None) -> None:
    """Write the page of a folder of runs, and say where it is.

    Args:
        folder: folder that holds runs at any depth.
        readings: keys of the readings to show, as in ``metrics.json``; None takes the headline readings.

    Raises:
        FairlabError: there is no such folder, no run in it, or no such reading.
    """
    if not folder.is_dir():
        raise FairlabError(f"{folder} is no folder; give runs=DIR, a folder of runs")
    unread: list[str] = []
    records = read_runs(folder, unread)
    for sentence in unread:
        print(f"fairlab: left out: {sentence}", file=sys.stderr)
    if not records and unread:
        raise FairlabError(f"{folder} holds no run that can be read: {unread[0]}")
    if not records:
        raise FairlabError(f"{folder} holds no run (no record.json below it); give runs=DIR, a folder of runs")
    known = {reading.key for record in records for reading in record.readings}
    if unknown := [key for key in readings or () if key not in known]:
        raise FairlabError(f"no run in {folder} has {unknown[0]}; readings takes keys of metrics.json")
    page = write_sweep(folder, records, list(readings or headlines(records)), unread)
    print(f"report: {page}")
