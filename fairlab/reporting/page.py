"""Building blocks of all reports. Blocks hold the content, and templates define the presentation.

``templates/page.html`` is the frame, ``templates/blocks.html`` has a macro for each kind of block, and
``templates/page.css`` is the style sheet. The content of blocks is plain text, which the templates escape.
"""

from __future__ import annotations

import json
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
    """Interval in a forest plot.

    Attributes:
        low, centre, high: Positions of the lower bound, the value and the upper bound, as shares of the plot's width
            from the left.
    """

    low: float
    centre: float
    high: float


@dataclass(frozen=True)
class PageCell:
    """Cell of a table, or heading of a column.

    Attributes:
        text: Text of the cell.
        small: Second line in small type, such as an interval.
        hover: Tooltip that explains the text.
        tone: ``better`` or ``worse``, which sets the colour. The text must express the same information, for readers
            who cannot distinguish colours.
        heat: Intensity of the background, from 0 to 1; None for no background.
        forest: Interval to draw instead of the text. For the heading of a column with forest plots, the type of axis:
            ``scale`` (nearer, farther) or ``ideal`` (below, above).
        folded: Additional text, which is shown after a click.
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
        """Return the CSS classes of the cell. Numbers are right-aligned and never wrapped."""
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
    """Table with optional headings between its rows."""

    kind: ClassVar[str] = "table"
    columns: Row
    rows: Sequence[Row | Heading]
    caption: PageCell | str = ""

    @property
    def numeric(self) -> list[bool]:
        """Return, for each column, whether all its cells are numbers."""
        rows = [row for row in self.rows if not isinstance(row, Heading)]
        return [all(is_number(_cell_text(row[k])) for row in rows) for k in range(len(self.columns))]


@dataclass(frozen=True)
class Tables:
    """Small tables side by side, which fill the width of the page."""

    kind: ClassVar[str] = "tables"
    tables: Sequence[PageTable]


@dataclass(frozen=True)
class Text:
    """Paragraph. The style ``note`` selects small type."""

    kind: ClassVar[str] = "text"
    text: str
    style: str = ""


@dataclass(frozen=True)
class Label:
    """Label that stands out on the page."""

    kind: ClassVar[str] = "label"
    text: str


@dataclass(frozen=True)
class Code:
    """Preformatted text."""

    kind: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True)
class Verdict:
    """Main result in one sentence, with more detailed lines."""

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
    """Panel of a figure, drawn as SVG."""

    title: str
    svg: Markup


@dataclass(frozen=True)
class Figure:
    """Panels side by side with a common legend.

    Attributes:
        panels: Panels in order.
        legend: Name and CSS class of each entry.
    """

    kind: ClassVar[str] = "figure"
    panels: Sequence[Drawn]
    legend: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Change:
    """Text with rewritten versions, in which the changes are highlighted.

    Attributes:
        title: Title above the texts.
        source: Original text.
        versions: Name of each version, and its text as pairs of deleted and inserted text in order.
    """

    kind: ClassVar[str] = "change"
    title: str
    source: str
    versions: Sequence[tuple[str, Sequence[tuple[str, str]]]]


@dataclass(frozen=True)
class Terms:
    """List of terms with explanations, which is shown after a click."""

    kind: ClassVar[str] = "terms"
    terms: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Fold:
    """Collapsed blocks, which are shown after a click."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: Sequence[Any]


Block = PageTable | Tables | Text | Label | Heading | Code | Verdict | Heed | Figure | Change | Terms | Fold


@dataclass(frozen=True)
class Section:
    """Section of a page, with a heading."""

    title: str
    blocks: Sequence[Block]
    anchor: str = ""


@cache
def templates() -> jinja2.Environment:
    """Return the Jinja environment, which escapes all inserted values."""
    loader = jinja2.FileSystemLoader(TEMPLATES)
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.tests["short_number"] = is_number
    return made


def page(title: str, heading: str, lead: Sequence[Block], sections: Sequence[Section | None]) -> str:
    """Render a self-contained HTML page from blocks and those sections that are not None."""
    shown = [
        replace(section, anchor=f"part-{number}") for number, section in enumerate(filter(None, sections), start=1)
    ]
    return templates().get_template("page.html").render(title=title, heading=heading, lead=lead, sections=shown)


def is_number(text: str) -> bool:
    """Return whether a text is empty or a number, optionally with a unit or an interval."""
    return SHORT_NUMBER.fullmatch(text) is not None


def measured(value: float, low: float, high: float, form: str = ".4g", **more: Any) -> PageCell:
    """Return a cell with a value, and with the bounds of its 95 % interval in small type."""
    return PageCell(f"{value:{form}}", f"[{low:{form}}, {high:{form}}]", **more)


def json_code(content: Any) -> Code:
    """Return a block with content as indented JSON."""
    return Code(json.dumps(content, indent=1, ensure_ascii=False))


def _cell_text(cell: PageCell | str) -> str:
    return cell if isinstance(cell, str) else cell.text
