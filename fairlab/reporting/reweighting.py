"""A sweep over strengths of reweighting: what each costs and gains on validation, and which is chosen.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", tables 7 and 8.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from fairlab.ensemble.strengths import MOST_LOST, Candidate, choose, pareto_front
from fairlab.record import Reading, Record
from fairlab.reporting.page import figure, page, section, table
from fairlab.reporting.plots import AFTER, BEFORE, laid_out

PRECISION, VARIANCE = "average_precision_change", "acv_change"
COLUMNS = {
    "AU-PRC, %": PRECISION,
    "ACV, %": VARIANCE,
    "ACV of safe sets, %": "acv_safe_change",
    "ACV of unsafe sets, %": "acv_unsafe_change",
}
GAP = "largest_gap_unsafe"  # table 8, of this category
CATEGORY = "sexualorien"


def compare_strengths(records: Sequence[Record]) -> dict[str, Any]:
    """By harm: the candidates, the names of those on the Pareto front, and the chosen one.

    Args:
        records: records of finished runs that measured ``safety_validation``.
    """
    found = {}
    for harm in dict.fromkeys(harm for record in records for harm in _harms(record)):
        measured = [(setting(record, harm), _of(record, harm)) for record in records]
        candidates = [
            Candidate(name, readings[PRECISION].value, readings[VARIANCE].value)
            for name, readings in measured
            if {PRECISION, VARIANCE} <= readings.keys()
        ]
        if candidates:
            best = choose(candidates)
            found[harm] = {
                "candidates": [vars(one) for one in candidates],
                "front": [one.name for one in pareto_front(candidates)],
                "chosen": best.name,
                "allowed": best.precision >= -MOST_LOST,
            }
    return found


def setting(record: Record, harm: str) -> str:
    """The strength that a run had, in words of the configuration."""
    values = record.config["method"]["reweighting"][harm]
    return ", ".join(f"{name} {value:g}" for name, value in values.items())


def strength_lines(records: Sequence[Record], harm: str) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of a harm, one row a run, with 95 % intervals."""
    head = ["strength", *COLUMNS, f"largest gap, {CATEGORY}, unsafe"]
    rows = []
    for record in records:
        readings = _of(record, harm)
        gap = next((one for one in record.readings if _is_gap(one, harm)), None)
        cells = [readings.get(name) for name in COLUMNS.values()]
        rows.append([setting(record, harm), *(_shown(one, 1) for one in cells), _shown(gap, 3)])
    return head, rows


def rendered_strengths(records: Sequence[Record], found: Mapping[str, Any]) -> str:
    """The page: for every harm the plot of AU-PRC against ACV, the table, and the choice."""
    rule = (
        f"Changes from the baseline on the validation folds. Chosen is, of the Pareto front, the lowest ACV that costs "
        f"no more than {MOST_LOST:g} % of AU-PRC; if all cost more, the one that costs least."
    )
    sections = [f"<h1>Strengths of reweighting</h1><p>{rule}</p>"]
    for harm, of_harm in found.items():
        chosen = f"<p>Chosen: {html.escape(strength_verdict(of_harm))}</p>"
        body = f"{chosen}{figure(pareto_plot(of_harm))}{table(*strength_lines(records, harm))}"
        sections.append(section(harm, body))
    return page("fairlab: strengths of reweighting", sections)


def strength_verdict(of_harm: Mapping[str, Any]) -> str:
    """The choice, and whether it costs more than is allowed."""
    chosen = str(of_harm["chosen"])
    return chosen if of_harm["allowed"] else f"{chosen}; all cost more than {MOST_LOST:g} % of AU-PRC"


def pareto_plot(of_harm: Mapping[str, Any]) -> go.Figure:
    """AU-PRC against ACV of several models of a harm, with those that none beats.

    Args:
        of_harm: what :func:`compare_strengths` gives of a harm.
    """
    drawn = go.Figure()
    for name, colour, inside in (("not on the front", BEFORE, False), ("Pareto front", AFTER, True)):
        some = [one for one in of_harm["candidates"] if (one["name"] in of_harm["front"]) is inside]
        some.sort(key=lambda one: one["variance"])
        drawn.add_scatter(
            x=[one["variance"] for one in some],
            y=[one["precision"] for one in some],
            text=[one["name"] for one in some],
            mode="lines+markers" if inside else "markers",
            marker={"color": colour, "size": [14 if one["name"] == of_harm["chosen"] else 8 for one in some]},
            name=name,
        )
    drawn.update_xaxes(title_text="change of ACV, %")
    drawn.update_yaxes(title_text="change of AU-PRC, %")
    return laid_out(drawn, 420)


def _harms(record: Record) -> list[str]:
    return [str(harm) for harm in record.config["method"]["harms"]]


def _of(record: Record, harm: str) -> dict[str, Reading]:
    """Readings of the debiased model on validation by quantity."""
    return {
        one.quantity: one
        for one in record.readings
        if (one.phase, one.benchmark, one.subset) == ("after", "safety_validation", harm)
    }


def _is_gap(reading: Reading, harm: str) -> bool:
    place = ("after", "safety_validation", f"{harm}_{CATEGORY}", GAP)
    return (reading.phase, reading.benchmark, reading.subset, reading.quantity) == place


def _shown(reading: Reading | None, digits: int) -> str:
    if reading is None:
        return ""
    return f"{reading.value:.{digits}f} [{reading.low:.{digits}f}, {reading.high:.{digits}f}]"
