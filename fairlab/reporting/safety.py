"""Report sections on a safety ensemble: the tables and figures of the paper, and the texts of each subgroup.

Source: Sturman et al. 2024, "Debiasing Text Safety Classifiers through a Fairness-Aware Ensemble", tables 3 and 6,
figures 3 to 5.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from fairlab.methods.safety_ensemble.strengths import Candidate, pareto_front
from fairlab.record import Reading, Record
from fairlab.reporting.changes import in_words
from fairlab.reporting.many_runs.reweighting import pareto_plot
from fairlab.reporting.page import Block, Fold, Heading, PageCell, PageTable, Section, Text, measured
from fairlab.reporting.safety_files import read_largest_gaps, read_overview

PUBLISHED = Path(__file__).parent / "papers" / "ensemble.yaml"
OF = "acv_change_of_"  # prefix of another model's name
LEAST = 0.05  # source scores with a smaller share are left out of figure 4, as in the paper


def safety_sections(record: Record) -> list[Section]:
    """Return sections with tables 3 and 6 next to the published ones, figures 3 to 5, and the largest gaps."""
    overview, largest = read_overview(record.folder), read_largest_gaps(record.folder)
    sections = [
        Section("Published numbers", _published_tables(record)),
        *_rivals(record, list(overview) or record.config["method"]["harms"]),
    ]
    for harm, of_harm in overview.items():
        sections.append(Section(f"Sliced averages, {harm}, safe texts", _heat_maps(of_harm)))
        if of_harm["contributions"]["before"] and of_harm["contributions"]["after"]:
            sections.append(Section(f"Inputs that decide, {harm}", [_contributions(of_harm)]))
            sections.append(Section(f"Bias of source scores, {harm}", _gaps(of_harm)))
        if harm in largest:
            sections.append(Section(f"Largest gaps, {harm}", _largest(largest[harm])))
    return sections


def rivals(record: Record, benchmark: str, harm: str) -> list[Candidate]:
    """Return the debiased model, its controls and the other methods, each with its change from the baseline in %.

    The benchmark is ``safety``, or a benchmark on another part of the texts.
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


def _rivals(record: Record, harms: list[str]) -> list[Section]:
    """Plot ACV against AU-PRC on the test folds, for all models of each harm."""
    sections = []
    for harm in harms:
        candidates = rivals(record, "safety", harm)
        if len(candidates) > 1:
            front = [one.name for one in pareto_front(candidates)]
            drawn = {"candidates": [vars(one) for one in candidates], "front": front, "chosen": "debiased"}
            note = Text("Changes from the baseline on the test folds; no model beats a model on the front.", "note")
            sections.append(Section(f"Controls and rivals, {harm}", [note, pareto_plot(drawn)]))
    return sections


def _published_tables(record: Record) -> list[Block]:
    published = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))
    ours = {f"{r.benchmark}/{r.subset}/{r.quantity}": r for r in record.readings if r.phase == "after"}
    blocks: list[Block] = []
    for name in ("table_3", "table_6"):
        printed = published[name]
        values = printed["rows"]["remediated"]
        rows = [
            [in_words(column), f"{value:+.4g}", _percent(ours[column]) if column in ours else "not measured"]
            for column, value in zip(printed["columns"], values, strict=True)
        ]
        blocks.append(Text(f"{printed['where']}: {printed['title']}. Printed: {printed['setting']}."))
        blocks.append(PageTable(["what was measured", "printed", "ours"], rows))
    note = "Sources and texts differ, so compare directions, not values. Brackets are 95 % intervals."
    return [*blocks, Text(note, "note")]


def _percent(reading: Reading) -> PageCell:
    return measured(reading.value, reading.low, reading.high, "+.3g")


def _heat_maps(of_harm: dict[str, Any]) -> list[Block]:
    """Return figure 3: source scores and models in rows, and the subgroups of a category in columns."""
    blocks: list[Block] = []
    for category, averages in of_harm["averages"].items():
        rows = [[name, *map(_warm, values)] for name, values in zip(averages["rows"], averages["values"], strict=True)]
        blocks += [Heading(category), PageTable(["source score or model", *averages["subgroups"]], rows)]
    return blocks


def _warm(value: float | None) -> PageCell | str:
    return "" if value is None or value != value else PageCell(f"{value:.2f}", heat=min(max(value, 0.0), 1.0))


def _contributions(of_harm: dict[str, Any]) -> PageTable:
    """Return figure 4 as a table: the contribution of each source score before and after debiasing."""
    found = of_harm["contributions"]
    shown = [
        k for k in range(len(of_harm["features"])) if max(found[phase][k] for phase in ("before", "after")) >= LEAST
    ]
    rows = [
        [
            of_harm["features"][k],
            *(PageCell(f"{100 * found[p][k]:.0f} %", heat=found[p][k]) for p in ("before", "after")),
        ]
        for k in shown
    ]
    return PageTable(["source score", "contribution before", "contribution after"], rows)


def _gaps(of_harm: dict[str, Any]) -> list[Block]:
    """Return figure 5 as a table: the largest gap of each source score and model, averaged over categories."""
    of_models = [(f"the model, {phase}", of_harm["gaps"][phase]) for phase in ("before", "after")]
    of_sources = zip(of_harm["features"], of_harm["gaps"]["features"], strict=True)
    rows = [
        [name, "" if gap is None else PageCell(f"{gap:.3f}", heat=min(abs(gap), 1.0))]
        for name, gap in (*of_models, *of_sources)
    ]
    return [PageTable(["source score or model", "mean of largest gaps between sliced averages"], rows)]


def _largest(by_subgroup: dict[str, list[dict[str, Any]]]) -> list[Block]:
    """Return, in collapsed blocks, the texts of each subgroup whose scores are furthest from the mean of their set."""
    blocks: list[Block] = [Text("Texts may be harmful; they are shown only after a click.", "note")]
    for subgroup, entries in by_subgroup.items():
        rows = [
            [
                PageCell(str(entry["key"]), folded=entry["text"]),
                "unsafe" if entry["truth"] else "safe",
                f"{entry['before']:.2f}",
                f"{entry['after']:.2f}",
                f"{entry['gap']:+.2f}",
            ]
            for entry in entries
        ]
        blocks.append(
            Fold(subgroup, [PageTable(["set", "truth", "before", "after", "after, minus its set's mean"], rows)])
        )
    return blocks
