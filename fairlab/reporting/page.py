"""Pieces of HTML that every report is made of."""

from __future__ import annotations

import html
from collections.abc import Sequence

import plotly.graph_objects as go
import plotly.io

Cell = str | tuple[str, ...]  # plain text, or lines of which all but the first are set in small type

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f23; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; }
table { display: block; overflow-x: auto; border-collapse: collapse; }
table { font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #e1e4e8; text-align: right; }
th small, td small { color: #57606a; font-weight: normal; display: inline-block; max-width: 28rem; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid #aab; }
.label { display: inline-block; padding: .1rem .6rem; border-radius: .3rem; background: #fff3cd; font-size: .9rem; }
pre { background: #f6f8fa; padding: .8rem; overflow-x: auto; font-size: .85rem; } .note { color: #57606a; }
.diff { border-left: 3px solid #e1e4e8; padding-left: .8rem; margin: 1rem 0; } .diff p { margin: .15rem 0; }
del { background: #ffdcd6; text-decoration-color: #b5402a; } ins { background: #d3f0da; text-decoration: none; }
h1, li, p { overflow-wrap: break-word; } .plotly-graph-div { overflow-x: auto; }
@media (prefers-color-scheme: dark) {
  body { color: #d7dade; background: #1c1f24; } a { color: #8ab4f8; } pre { background: #272b32; }
  th, td, .diff { border-color: #3a3f47; } .label { background: #5c4a12; } .note, th small, td small { color: #9aa3ad; }
  del { background: #6b2c22; } ins { background: #1d5230; }
  .plotly-graph-div { border-radius: .4rem; overflow: hidden; }
}
"""


def page(title: str, sections: list[str], *, figures: bool = True) -> str:
    """A self-contained page; ``figures`` puts the program that draws them in."""
    script = f"<script>{plotly.offline.get_plotlyjs()}</script>" if figures else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style>{script}</head><body>{''.join(sections)}</body></html>"
    )


def section(title: str, body: str) -> str:
    """A headed part of a page."""
    return f"<h2>{html.escape(title)}</h2>{body}"


def figure(drawn: go.Figure) -> str:
    """A plotly figure."""
    return plotly.io.to_html(drawn, include_plotlyjs=False, full_html=False, config={"displaylogo": False})


def table(header: Sequence[Cell], rows: Sequence[Sequence[Cell]]) -> str:
    """A table of plain text."""
    head = "".join(f"<th>{_lines(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{_lines(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _lines(cell: Cell) -> str:
    first, *more = (cell,) if isinstance(cell, str) else cell
    return html.escape(first) + "".join(f"<br><small>{html.escape(line)}</small>" for line in more if line)
