"""The report of a run: one HTML file that opens offline, made from the record and the items beside it."""

from __future__ import annotations

import html
import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from safetensors.numpy import load_file

from fairlab.benchmarks.cced import distances, held_out_groups, set_name
from fairlab.files import write_whole
from fairlab.record import DATA, Reading, Record, without_secrets
from fairlab.reporting import plots
from fairlab.reporting.db_index import data_bias
from fairlab.reporting.headlines import key, meaning, title
from fairlab.reporting.page import Cell, figure, page, section, table
from fairlab.reporting.safety import safety_sections
from fairlab.reporting.shortcuts import shortcuts
from fairlab.reporting.summary import moved, summary_lines
from fairlab.results.marks import marked, marks_beside
from fairlab.types import Group

PUBLISHED = Path(__file__).parent / "published"


def write_report(record: Record) -> Path:
    """Write ``report.html`` into the run's folder, whole or not at all."""
    trained = "method" in record.config
    ensemble = "sources" in record.provenance
    sections = [
        _heading(record),
        section(
            "Before and after" if "before" in record.phases else "Readings", _bars(record) + _readings_table(record)
        ),
        _differences(record),
        section("Training", figure(plots.curves(record.history)) if record.history else "<p>No training step.</p>")
        if trained and not ensemble
        else "",
        _embeddings(record) if not ensemble else "",
        data_bias(record),
        shortcuts(record),
        *(safety_sections(record) if ensemble else ()),
        section("Beside the published numbers", _published(record)) if trained and not ensemble else "",
        _notes(record),
        section("Not run", _not_run(record)),
        section("Provenance", _provenance(record)),
    ]
    path = record.folder / "report.html"
    write_whole(path, without_secrets(page(f"fairlab: {_name(record)}", sections)))
    return path


def _name(record: Record) -> str:
    return record.folder.parent.name if record.folder.name[:1].isdigit() else record.folder.name


def _heading(record: Record) -> str:
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in summary_lines(record))
    about = _about_training(record) if "method" in record.config else _about_evaluation(record)
    return f"<h1>{html.escape(_name(record))}</h1>{about}<ul>{lines}</ul>"


def _about_training(record: Record) -> str:
    config = record.config
    scale = config["scale"]["name"]
    label = (
        "quickstart scale: small stand-ins, not the published setting" if scale == "quickstart" else f"{scale} scale"
    )
    if not config.get("backbone"):
        sources = ", ".join(record.provenance.get("sources", {}).get("sources", {}))
        return f"<p>An ensemble of {html.escape(sources)}; seed {config['seed']}; {record.status}.</p>"
    backbone = config["backbone"]
    adapters = f" with the adapters {backbone['adapters']}" if backbone.get("adapters") else ""
    stands_for = f"{adapters} (standing in for {backbone['stands_for']})" if backbone["stands_for"] else adapters
    return (
        f"<p><span class='label'>{label}</span></p>"
        f"<p>Backbone {html.escape(backbone['name'] + stands_for)}; seed {config['seed']}; {record.status}.</p>"
    )


def _about_evaluation(record: Record) -> str:
    models = record.config.get("dataset") or record.config["model"]
    names = ", ".join(map(str, models)) if isinstance(models, list) else models
    if isinstance(models, dict):
        names = ", ".join(f"{label} ({name})" for label, name in models.items())
    return f"<p>Measured without training: {html.escape(str(names))}; {record.status}.</p>"


def _bars(record: Record) -> str:
    rows = [row for row in record.table() if DATA not in row and next(iter(row.values())).headline]
    return figure(plots.bars(rows)) if rows else ""


def _readings_table(record: Record) -> str:
    rows: list[list[Cell]] = []
    explained = set[str]()
    phases = [*record.phases, *([DATA] if any(DATA in row for row in record.table()) else [])]
    for row in record.table():
        first = next(iter(row.values()))
        ideal = "" if first.ideal is None else f"{first.ideal:.4g}"
        values = [
            marked(_value(row[phase]), marks_beside(record, row[phase])) if phase in row else "" for phase in phases
        ]
        told = meaning(first)
        name = (title(first), "" if told in explained else told, key(first))
        explained.add(told)
        rows.append([name, *values, ideal, first.unit, str(first.n)])
    note = (
        "<p class='note'>95 % intervals in brackets. p: the benchmark's own test of the value, in parentheses adjusted "
        "for its other tests of the kind (Holm).</p>"
    )
    return table(["what was measured", *(phase or "value" for phase in phases), "ideal", "unit", "n"], rows) + note


def _value(reading: Reading) -> str:
    value = f"{reading.value:.4g} [{reading.low:.4g}, {reading.high:.4g}]"
    if reading.p is None:
        return value
    return f"{value} p {reading.p:.2g}" + (f" ({reading.p_holm:.2g})" if reading.p_holm is not None else "")


def _differences(record: Record) -> str:
    """Every comparison, those of headline readings first."""
    if not record.comparisons:
        return ""
    several = len({comparison.phase for comparison in record.comparisons}) > 1
    rows: list[list[Cell]] = [
        [
            (title(c) + (f", {c.phase}" if several else ""), key(c)),
            f"{c.difference:+.4g} [{c.low:+.4g}, {c.high:+.4g}]",
            f"{c.p:.2g}",
            "" if c.p_holm is None else f"{c.p_holm:.2g}",
            "yes" if moved(c) else "",
        ]
        for c in sorted(record.comparisons, key=lambda comparison: not comparison.headline)
    ]
    note = (
        "<p class='note'>Differences on the same items with their 95 % intervals and two-sided p-values, from 2,000 "
        "paired resamples. Adjusted: Holm over all headline readings; the others are not adjusted, and among many of "
        "them some p-values are small by chance.</p>"
    )
    return section(
        "What changed", table(["what was measured", "difference", "p", "p adjusted", "beyond chance"], rows) + note
    )


def _notes(record: Record) -> str:
    if not record.notes:
        return ""
    rows = [[note.benchmark, note.phase, note.item, note.text] for note in record.notes]
    return section("Notes", table(["benchmark", "model", "item", "note"], rows))


@dataclass(frozen=True)
class Embedded:
    """The first CCED set whose embeddings of both phases lie beside a record.

    Attributes:
        subset: name of the set in readings.
        groups: the N groups of the set.
        before, after: embeddings (N, 1 + A, D), the neutral version first.
    """

    subset: str
    groups: list[Group]
    before: NDArray[np.floating]
    after: NDArray[np.floating]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the versions but the neutral one."""
        return self.groups[0].attributes

    @property
    def texts(self) -> list[list[str]]:
        """What to show at each point: the text in short lines."""
        return [["<br>".join(textwrap.wrap(text, 70)) for text in group.texts] for group in self.groups]


def _embedded(record: Record) -> Embedded | None:
    """The embeddings to draw; None where there are none."""
    files = [record.folder / "items" / phase / "cced.safetensors" for phase in ("before", "after")]
    if not all(file.exists() for file in files):
        return None
    before, after = (load_file(file) for file in files)
    name = next((name for name in record.config["benchmark"]["cced"]["sets"] if set_name(name) in after), None)
    if name is None:
        return None
    return Embedded(set_name(name), held_out_groups(name), before[set_name(name)], after[set_name(name)])


def tsne_figure(record: Record) -> str:
    """One t-SNE map of embeddings before and after together; empty where there are none."""
    found = _embedded(record)
    if found is None:
        return ""
    shown = slice(0, plots.MAX_PROJECTED)
    mapped = plots.tsne(found.before[shown], found.after[shown], seed=record.config["seed"])
    return figure(plots.projection(found.attributes, *mapped, found.texts[shown]))


def _embeddings(record: Record) -> str:
    """Projections and distances."""
    found = _embedded(record)
    if found is None:
        return ""
    earlier, later = distances(found.before), distances(found.after)
    scatter = plots.distance_scatter(found.attributes, earlier, later, [row[0] for row in found.texts])
    worst = np.argsort(-np.ptp(later, axis=1))[:8]
    remaining = [[found.groups[k].texts[0], *(f"{value:.3f}" for value in later[k])] for k in worst]
    offsets = plots.projection(found.attributes, *plots.offsets(found.before, found.after), found.texts)
    return "".join(
        [
            section(f"Distances to neutral, {found.subset}", figure(scatter)),
            "<p>Largest remaining gaps (neutral version; distance of each attribute after):</p>",
            table(["text", *found.attributes], remaining),
            section(
                "What the attribute adds to an embedding",
                "<p class='note'>f(version) - f(neutral), on its first two principal components before; neutral is "
                "the origin.</p>" + figure(offsets),
            ),
            section(
                "Embeddings",
                f"<p class='note'>One t-SNE map of the versions of {min(plots.MAX_PROJECTED, len(found.groups))} "
                "groups, before and after together.</p>" + tsne_figure(record),
            ),
        ]
    )


def _published(record: Record) -> str:
    """The table of the method's paper, and ours next to it, each with its setting."""
    if any(reading.benchmark == "mb_index" for reading in record.readings):
        return _published_language_models(record)
    file = PUBLISHED / f"{record.config['method']['_target_'].split('.')[-2]}.yaml"
    if not file.is_file():
        return "<p>No published numbers of this method are on file.</p>"
    table_6 = yaml.safe_load(file.read_text(encoding="utf-8"))["table_6"]
    published = [[name, *(f"{value:.3f}" for value in values)] for name, values in table_6["rows"].items()]
    gaps = [row for row in record.table() if {"before", "after"} <= set(row) and _is_cced_gap(row["after"])]
    ours = [[f"{row['after'].subset}, n {row['after'].n}", _value(row["before"]), _value(row["after"])] for row in gaps]
    backbone = record.config["backbone"]["name"]
    return (
        f"<p><b>Published</b> ({html.escape(table_6['where'])}): {html.escape(table_6['title'])} "
        f"{html.escape(table_6['setting'])}.</p>{table(['method', *table_6['columns']], published)}"
        f"<p><b>Ours</b>: {html.escape(backbone)}, {record.config['scale']['name']} scale, held-out groups. Distances "
        "depend on the model's embedding scale, so compare falls, not values.</p>"
        + table(["held-out set", "before", "after"], ours)
    )


def _published_language_models(record: Record) -> str:
    """Table 2 of the biasers paper, and the readings of this run under the same columns."""
    table_2 = yaml.safe_load((PUBLISHED / "biasers.yaml").read_text(encoding="utf-8"))["table_2"]
    published = [[name, *(f"{value:g}" for value in values)] for name, values in table_2["rows"].items()]
    found = {key(reading): reading for reading in record.readings if reading.phase == "after"}
    columns = table_2["columns"]
    ours = ["ours", *(_value(found[column]) if column in found else "" for column in columns)]
    named = [(title(found[column]), column) if column in found else column for column in columns]
    return (
        f"<p><b>Published</b> ({html.escape(table_2['where'])}): {html.escape(table_2['setting'])}. The stereotype "
        "score is nearer to 0 the better, by the authors; the mb-index falls with the number of entries alone; "
        "normalised is among several models.</p>" + table(["model", *named], [*published, ours])
    )


def _is_cced_gap(reading: Reading) -> bool:
    return (reading.benchmark, reading.quantity) == ("cced", "gap")


def _not_run(record: Record) -> str:
    if not record.not_run:
        return "<p>Everything asked for was run.</p>"
    rows = [[entry.phase, f"{entry.benchmark} {entry.subset}", entry.reason] for entry in record.not_run]
    return table(["model", "benchmark", "reason"], rows)


def _provenance(record: Record) -> str:
    def block(content: Any) -> str:
        return f"<pre>{html.escape(json.dumps(content, indent=1, ensure_ascii=False))}</pre>"

    return (
        f"<p>Made by</p><pre>{html.escape(record.command)}</pre>{block(record.provenance)}"
        f"<details><summary>configuration</summary>{block(record.config)}</details>"
    )
