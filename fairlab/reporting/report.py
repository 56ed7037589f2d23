"""The report of a run: one HTML file that opens offline, made from the record and the items beside it."""

from __future__ import annotations

import html
import json
import math
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io
import yaml
from safetensors.numpy import load_file

from fairlab.benchmarks.cced import distances, held_out_groups, set_name
from fairlab.files import write_whole
from fairlab.record import Reading, Record, without_secrets
from fairlab.reporting import plots
from fairlab.reporting.summary import summary_lines

PUBLISHED = Path(__file__).parent / "published"
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f23; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #e1e4e8; text-align: right; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid #aab; }
.label { display: inline-block; padding: .1rem .6rem; border-radius: .3rem; background: #fff3cd; font-size: .9rem; }
pre { background: #f6f8fa; padding: .8rem; overflow-x: auto; font-size: .85rem; } .note { color: #57606a; }
"""


def write_report(record: Record) -> Path:
    """Write ``report.html`` into the run's folder, whole or not at all."""
    sections = [
        _heading(record),
        _section("Before and after", _bars(record) + _readings_table(record)),
        _section("Training", _figure(plots.curves(record.history)) if record.history else "<p>No training step.</p>"),
        _embeddings(record),
        _section("Beside the published numbers", _published(record)),
        _section("Not run", _not_run(record)),
        _section("Provenance", _provenance(record)),
    ]
    title = f"fairlab: {html.escape(_name(record))}"
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"<script>{plotly.offline.get_plotlyjs()}</script></head><body>{''.join(sections)}</body></html>"
    )
    path = record.folder / "report.html"
    write_whole(path, without_secrets(page))
    return path


def _name(record: Record) -> str:
    return record.folder.parent.name if record.folder.name[:1].isdigit() else record.folder.name


def _section(title: str, body: str) -> str:
    return f"<h2>{html.escape(title)}</h2>{body}"


def _figure(figure: go.Figure) -> str:
    return plotly.io.to_html(figure, include_plotlyjs=False, full_html=False, config={"displaylogo": False})


def _table(header: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _heading(record: Record) -> str:
    config = record.config
    scale = config["scale"]["name"]
    label = (
        "quickstart scale: small stand-ins, not the published setting" if scale == "quickstart" else f"{scale} scale"
    )
    backbone = config["backbone"]
    stands_for = f" (standing in for {backbone['stands_for']})" if backbone["stands_for"] else ""
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in summary_lines(record))
    return (
        f"<h1>{html.escape(_name(record))}</h1><p><span class='label'>{label}</span></p>"
        f"<p>Backbone {html.escape(backbone['name'] + stands_for)}; seed {config['seed']}; {record.status}.</p>"
        f"<ul>{lines}</ul>"
    )


def _bars(record: Record) -> str:
    pairs = [(first, second) for first, second in record.pairs() if second is not None and first.headline]
    return _figure(plots.bars(pairs)) if pairs else ""


def _readings_table(record: Record) -> str:
    rows = []
    for first, second in record.pairs():
        name = "/".join(part for part in (first.benchmark, first.subset, first.quantity))
        before = _value(first) if first.phase == "before" else ""
        later = second if first.phase == "before" else first
        after = _value(later) if later else ""
        ideal = "" if first.ideal is None else f"{first.ideal:g}"
        rows.append([name, before, after, ideal, first.unit, str(first.n)])
    note = "<p class='note'>95 % bootstrap intervals over items in brackets.</p>"
    return _table(["reading", "before", "after, or of the data", "ideal", "unit", "n"], rows) + note


def _value(reading: Reading) -> str:
    value = f"{reading.value:.4g}"
    return value if math.isnan(reading.low) else f"{value} [{reading.low:.4g}, {reading.high:.4g}]"


def _embeddings(record: Record) -> str:
    """Projections and distances of the first CCED set whose embeddings of both phases lie beside the record."""
    files = [record.folder / "items" / phase / "cced.safetensors" for phase in ("before", "after")]
    if not all(file.exists() for file in files):
        return ""
    before, after = (load_file(file) for file in files)
    name = next((name for name in record.config["benchmark"]["cced"]["sets"] if set_name(name) in after), None)
    if name is None:
        return ""
    groups = held_out_groups(name)
    subset, attributes = set_name(name), groups[0].attributes
    shown = slice(0, plots.MAX_PROJECTED)
    texts = [["<br>".join(textwrap.wrap(text, 70)) for text in group.texts] for group in groups]
    first, second = before[subset], after[subset]
    offsets = plots.offsets(first, second)
    mapped = plots.tsne(first[shown], second[shown], seed=record.config["seed"])
    scatter = plots.distance_scatter(attributes, distances(first), distances(second), [row[0] for row in texts])
    worst = np.argsort(-np.ptp(distances(second), axis=1))[:8]
    remaining = [[groups[k].texts[0], *(f"{value:.3f}" for value in distances(second)[k])] for k in worst]
    return "".join(
        [
            _section(f"Distances to neutral, {subset}", _figure(scatter)),
            "<p>Largest remaining gaps (neutral version; distance of each attribute after):</p>",
            _table(["text", *attributes], remaining),
            _section(
                "What the attribute adds to an embedding",
                "<p class='note'>f(version) - f(neutral), on its first two principal components before; neutral is "
                "the origin.</p>" + _figure(plots.projection(attributes, *offsets, texts)),
            ),
            _section(
                "Embeddings",
                f"<p class='note'>One t-SNE map of the versions of {len(texts[shown])} groups, before and after "
                "together.</p>" + _figure(plots.projection(attributes, *mapped, texts[shown])),
            ),
        ]
    )


def _published(record: Record) -> str:
    """The CCED table of the method's paper, and ours next to it, each with its setting."""
    file = PUBLISHED / f"{record.config['method']['_target_'].split('.')[-2]}.yaml"
    if not file.is_file():
        return "<p>No published numbers of this method are on file.</p>"
    table = yaml.safe_load(file.read_text(encoding="utf-8"))["table_6"]
    published = [[name, *(f"{value:.3f}" for value in values)] for name, values in table["rows"].items()]
    gaps = [pair for pair in record.pairs() if pair[0].benchmark == "cced" and pair[0].quantity == "gap" and pair[1]]
    ours = [[f"{first.subset}, n {first.n}", _value(first), _value(second)] for first, second in gaps if second]
    backbone = record.config["backbone"]["name"]
    return (
        f"<p><b>Published</b> ({html.escape(table['where'])}): {html.escape(table['title'])} "
        f"{html.escape(table['setting'])}.</p>{_table(['method', *table['columns']], published)}"
        f"<p><b>Ours</b>: {html.escape(backbone)}, {record.config['scale']['name']} scale, held-out groups. Distances "
        "depend on the model's embedding scale, so compare falls, not values.</p>"
        + _table(["held-out set", "before", "after"], ours)
    )


def _not_run(record: Record) -> str:
    if not record.not_run:
        return "<p>Everything asked for was run.</p>"
    rows = [[entry.phase, f"{entry.benchmark} {entry.subset}", entry.reason] for entry in record.not_run]
    return _table(["phase", "what", "why"], rows)


def _provenance(record: Record) -> str:
    def block(content: Any) -> str:
        return f"<pre>{html.escape(json.dumps(content, indent=1, ensure_ascii=False))}</pre>"

    return (
        f"<p>Made by</p><pre>{html.escape(record.command)}</pre>{block(record.provenance)}"
        f"<details><summary>configuration</summary>{block(record.config)}</details>"
    )
