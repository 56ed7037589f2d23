"""Building blocks of all reports; blocks hold the content, and templates/ defines the presentation.

``templates/page.html`` is the frame, ``templates/blocks.html`` has a macro for each kind of block, and
``templates/page.css`` is the style sheet. All content of a block is text: the templates escape it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import jinja2
from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
SHORT_NUMBER = re.compile(r"([▲▼] )?[-+−±<>≈]?\d[\d.,:e+−-]*\*?( ?%)?( ?[\[(].{0,24}[\])])?( [^ ]{1,10})?|—|")
BETTER, WORSE = "better", "worse"
SIGNS = {BETTER: "▲", WORSE: "▼"}


@dataclass(frozen=True)
class Whisker:
    """Interval and centre of a line in a forest plot, as shares of the plot's width from the left."""

    low: float
    centre: float
    high: float


@dataclass(frozen=True)
class PageCell:
    """Cell of a table, or heading of a column.

    Attributes:
        text: Text of the cell.
        small: Second line in small type, such as an interval.
        hover: Meaning of the text, shown on hover.
        tone: ``better`` or ``worse``, shown in colour; the text must express this too.
        heat: Intensity of the background, 0 to 1; None for a plain background.
        forest: Line of a forest plot, shown instead of the text; for the heading of such a column, ``scale`` (nearer,
            farther) or ``ideal`` (below, above).
        folded: Additional text, shown after a click.
    """

    text: str
    small: str = ""
    hover: str = ""
    tone: str = ""
    heat: float | None = None
    forest: Whisker | str = ""
    folded: str = ""

    @property
    def classes(self) -> str:
        """Return the CSS classes of the cell; numbers are right-aligned and never wrap."""
        number = not self.forest and not self.folded and is_number(self.text)
        return " ".join(filter(None, ("number" if number else "", "" if self.forest else self.tone)))


Row = Sequence[PageCell | str]


@dataclass(frozen=True)
class Heading:
    """Heading within a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class PageTable:
    """Table; the only component for tables. A heading among its rows applies to the rows below it."""

    kind: ClassVar[str] = "table"
    columns: Row
    rows: Sequence[Row | Heading]
    caption: PageCell | str = ""

    @property
    def numeric(self) -> list[bool]:
        """Return whether each column contains only numbers."""
        rows = [row for row in self.rows if not isinstance(row, Heading)]
        return [all(is_number(_text(row[k])) for row in rows) for k in range(len(self.columns))]


@dataclass(frozen=True)
class Tables:
    """Small tables side by side, in rows that fill the width of the page."""

    kind: ClassVar[str] = "tables"
    tables: Sequence[PageTable]


@dataclass(frozen=True)
class Text:
    """Paragraph; ``style`` is ``note`` for small type."""

    kind: ClassVar[str] = "text"
    text: str
    style: str = ""


@dataclass(frozen=True)
class Label:
    """Prominent label."""

    kind: ClassVar[str] = "label"
    text: str


@dataclass(frozen=True)
class Code:
    """Preformatted text."""

    kind: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True)
class Verdict:
    """Main result in one sentence, with supporting lines."""

    kind: ClassVar[str] = "verdict"
    sentence: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Heed:
    """Warnings to read before the numbers."""

    kind: ClassVar[str] = "heed"
    title: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Drawn:
    """Drawn panel of a figure."""

    title: str
    svg: Markup


@dataclass(frozen=True)
class Figure:
    """Panels side by side under one legend of names and their CSS classes."""

    kind: ClassVar[str] = "figure"
    panels: Sequence[Drawn]
    legend: Sequence[tuple[str, str]] = ()
    note: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Change:
    """Text and its versions by name, each as pairs of (deleted, inserted) text in order."""

    kind: ClassVar[str] = "change"
    title: str
    source: str
    versions: Sequence[tuple[str, Sequence[tuple[str, str]]]]


@dataclass(frozen=True)
class Terms:
    """Names with their meanings, shown after a click."""

    kind: ClassVar[str] = "terms"
    terms: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Fold:
    """Blocks shown after a click."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: Sequence[Any]


Block = PageTable | Tables | Text | Label | Heading | Code | Verdict | Heed | Figure | Change | Terms | Fold


@dataclass(frozen=True)
class Section:
    """Part of a page with a heading."""

    title: str
    blocks: Sequence[Block]
    anchor: str = ""


@cache
def templates() -> jinja2.Environment:
    """Return the template environment, which escapes all inserted values."""
    loader = jinja2.FileSystemLoader(TEMPLATES)
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.tests["short_number"] = is_number
    return made


def page(title: str, heading: str, lead: Sequence[Block], sections: Sequence[Section | None]) -> str:
    """Render a self-contained page; sections that are None are left out.

    Args:
        title: Title of the browser window.
        heading: Heading of the page.
        lead: Blocks before the first section.
        sections: Sections of the page, in order.
    """
    shown = [
        replace(section, anchor=f"part-{number}") for number, section in enumerate(filter(None, sections), start=1)
    ]
    return templates().get_template("page.html").render(title=title, heading=heading, lead=lead, sections=shown)


def is_number(text: str) -> bool:
    """Check whether a text is a number, optionally with a unit or interval; empty text counts as a number."""
    return SHORT_NUMBER.fullmatch(text) is not None


def measured(value: float, low: float, high: float, form: str = ".4g", **more: Any) -> PageCell:
    """Return a cell with a value and its 95 % interval in small type."""
    return PageCell(f"{value:{form}}", f"[{low:{form}}, {high:{form}}]", **more)


def _text(cell: PageCell | str) -> str:
    return cell if isinstance(cell, str) else cell.text
