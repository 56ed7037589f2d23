"""Sections of a report on a safety ensemble: the paper's tables and figures, and a look into each subgroup.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", tables 3 and 6,
figures 3 to 5.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import yaml

from fairlab.ensemble.strengths import Candidate, pareto_front
from fairlab.record import Reading, Record
from fairlab.reporting.headlines import title
from fairlab.reporting.page import Cell, figure, section, table
from fairlab.reporting.plots import AFTER, BEFORE, laid_out
from fairlab.reporting.reweighting import pareto_plot

PUBLISHED = Path(__file__).parent / "published" / "ensemble.yaml"
LOOK = "look.json"  # beside the record: what the figures and the look into subgroups show
OF = "acv_change_of_"  # before the name of another model
LEAST = 0.05  # share below which a source score is left out of figure 4, as in the paper


def safety_sections(record: Record) -> list[str]:
    """Tables 3 and 6 beside the printed ones, figures 3 to 5, and the sets with the largest gaps."""
    sections = [section("Beside the published numbers", _beside(record)), *_rivals(record)]
    file = record.folder / LOOK
    if not file.is_file():
        return sections
    look = json.loads(file.read_text(encoding="utf-8"))
    for harm, of_harm in look.items():
        sections.append(section(f"Sliced averages, {harm}, safe texts", _heat_maps(of_harm)))
        if of_harm["contributions"]["before"]:
            sections.append(section(f"What the models decide by, {harm}", figure(_contributions(of_harm))))
            sections.append(section(f"Bias of source scores, {harm}", figure(_gaps(of_harm))))
        sections.append(section(f"Largest gaps, {harm}", _largest(of_harm["largest"])))
    return sections


def rivals(record: Record, benchmark: str, harm: str) -> list[Candidate]:
    """The debiased model, its controls and its rivals by what each does to the baseline, in per cent.

    Args:
        record: of a run that measured the benchmark.
        benchmark: ``safety`` or another part of the texts.
        harm: name of the harm.
    """
    found = {
        one.quantity: one.value
        for one in record.readings
        if (one.phase, one.benchmark, one.subset) == ("after", benchmark, harm)
    }
    names = [name.removeprefix(OF) for name in found if name.startswith(OF)]
    pairs = {"debiased": ("average_precision_change", "acv_change")}
    pairs |= {name.replace("_", " "): (f"average_precision_change_of_{name}", OF + name) for name in names}
    return [
        Candidate(name, found[precision], found[variance])
        for name, (precision, variance) in pairs.items()
        if precision in found and variance in found
    ]


def _rivals(record: Record) -> list[str]:
    """ACV against AU-PRC on the test folds of all models of a harm."""
    sections = []
    for harm in record.config["method"]["harms"]:
        candidates = rivals(record, "safety", harm)
        if len(candidates) > 1:
            front = [one.name for one in pareto_front(candidates)]
            drawn = {"candidates": [vars(one) for one in candidates], "front": front, "chosen": "debiased"}
            note = "<p class='note'>Changes from the baseline on the test folds; no model beats one on the front.</p>"
            sections.append(section(f"Controls and rivals, {harm}", note + figure(pareto_plot(drawn))))
    return sections


def _beside(record: Record) -> str:
    published = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))
    ours = {f"{r.benchmark}/{r.subset}/{r.quantity}": r for r in record.readings if r.phase == "after"}
    pieces = []
    for name in ("table_3", "table_6"):
        printed = published[name]
        values = printed["rows"]["remediated"]
        rows = [
            [_name(column, ours), f"{value:+.4g}", _percent(ours[column]) if column in ours else "not measured"]
            for column, value in zip(printed["columns"], values, strict=True)
        ]
        pieces.append(f"<p>{html.escape(printed['where'])}: {html.escape(printed['title'])}. Printed: ")
        pieces.append(f"{html.escape(printed['setting'])}.</p>{table(['what was measured', 'printed', 'ours'], rows)}")
    note = "Other sources, other texts: a direction to compare, not a value. Brackets are 95 % intervals."
    return "".join(pieces) + f"<p class='note'>{note}</p>"


def _name(column: str, ours: Mapping[str, Reading]) -> Cell:
    return (title(ours[column]), column) if column in ours else column


def _percent(reading: Reading) -> str:
    return f"{reading.value:+.3g} [{reading.low:+.3g}, {reading.high:+.3g}]"


def _heat_maps(of_harm: dict[str, Any]) -> str:
    """Figure 3: a row for each source score and model, a column for each subgroup of a category."""
    maps = []
    for category, averages in of_harm["averages"].items():
        drawn = go.Figure(
            go.Heatmap(
                z=[[np.nan if value is None else value for value in row] for row in averages["values"]],
                x=averages["subgroups"],
                y=averages["rows"],
                colorscale="Blues",
                texttemplate="%{z:.2f}",
            )
        )
        drawn.update_yaxes(autorange="reversed", automargin=True)
        drawn.update_layout(title=category)
        maps.append(figure(laid_out(drawn, 160 + 26 * len(averages["rows"]))))
    return "".join(maps)


def _contributions(of_harm: dict[str, Any]) -> go.Figure:
    """Figure 4."""
    found = of_harm["contributions"]
    shown = [
        k for k in range(len(of_harm["features"])) if max(found[phase][k] for phase in ("before", "after")) >= LEAST
    ]
    drawn = go.Figure()
    for phase, colour in (("before", BEFORE), ("after", AFTER)):
        values = [100 * found[phase][k] for k in shown]
        drawn.add_bar(x=[of_harm["features"][k] for k in shown], y=values, name=phase, marker_color=colour)
    drawn.update_yaxes(title_text="contribution, %")
    return laid_out(drawn, 380)


def _gaps(of_harm: dict[str, Any]) -> go.Figure:
    """Figure 5: mean over categories of the largest gap of each source score; the models as stars."""
    drawn = go.Figure()
    drawn.add_scatter(x=of_harm["features"], y=of_harm["gaps"]["features"], mode="markers", name="source scores")
    for phase, colour in (("before", BEFORE), ("after", AFTER)):
        star = {"symbol": "star", "size": 14, "color": colour}
        drawn.add_scatter(x=[phase], y=[of_harm["gaps"][phase]], mode="markers", name=phase, marker=star)
    drawn.update_yaxes(title_text="mean of largest gaps between sliced averages")
    return laid_out(drawn, 420)


def _largest(by_subgroup: dict[str, list[dict[str, Any]]]) -> str:
    """The texts of each subgroup that lie furthest from the mean of their set; a click shows a text."""
    pieces = []
    for subgroup, entries in by_subgroup.items():
        rows = "".join(
            f"<tr><td><details><summary>{html.escape(str(entry['key']))}</summary>{html.escape(entry['text'])}"
            f"</details></td><td>{'unsafe' if entry['truth'] else 'safe'}</td><td>{entry['before']:.2f}</td>"
            f"<td>{entry['after']:.2f}</td><td>{entry['gap']:+.2f}</td></tr>"
            for entry in entries
        )
        head = "<tr><th>set</th><th>truth</th><th>before</th><th>after</th><th>after, less its set's mean</th></tr>"
        pieces.append(
            f"<details><summary>{html.escape(subgroup)}</summary><table><thead>{head}</thead><tbody>{rows}</tbody>"
            "</table></details>"
        )
    note = "<p class='note'>Texts may be harmful; they are shown on a click only.</p>"
    return note + "".join(pieces)
