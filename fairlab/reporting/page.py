"""What every report is made of: blocks, which say what is shown, and templates/, which say how.

``templates/page.html`` is the frame, ``templates/blocks.html`` has a macro for each kind of block, and
``templates/page.css`` is the look. Whatever stands in a block is text: the templates escape it.
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
    """An interval of a forest plot and its middle, as shares of the plot's width from the left."""

    low: float
    centre: float
    high: float


@dataclass(frozen=True)
class PageCell:
    """A cell of a table, or the head of a column.

    Attributes:
        text: what it says.
        small: a line below in small type, such as an interval.
        hover: what the text means, shown when pointed at.
        tone: ``better`` or ``worse``, shown in colour; the text must say so too.
        heat: depth of the background, 0 to 1; None leaves it plain.
        forest: a line of a forest plot, or ``scale`` for the head of such a column, in place of the text.
        folded: more text, shown on a click.
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
        """Classes of the cell: numbers stand to the right and never wrap."""
        number = not self.forest and not self.folded and is_number(self.text)
        return " ".join(filter(None, ("number" if number else "", "" if self.forest else self.tone)))


Row = Sequence[PageCell | str]


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class PageTable:
    """A table; the one component that all of them are made with. A heading among its rows heads those below it."""

    kind: ClassVar[str] = "table"
    columns: Row
    rows: Sequence[Row | Heading]
    caption: PageCell | str = ""

    @property
    def numeric(self) -> list[bool]:
        """Whether each column holds nothing but numbers."""
        rows = [row for row in self.rows if not isinstance(row, Heading)]
        return [all(is_number(_text(row[k])) for row in rows) for k in range(len(self.columns))]


@dataclass(frozen=True)
class Tables:
    """Small tables side by side, as many as the page is wide."""

    kind: ClassVar[str] = "tables"
    tables: Sequence[PageTable]


@dataclass(frozen=True)
class Text:
    """A paragraph; ``style`` is ``note`` for what stands in small type."""

    kind: ClassVar[str] = "text"
    text: str
    style: str = ""


@dataclass(frozen=True)
class Label:
    """A mark that no reader should miss."""

    kind: ClassVar[str] = "label"
    text: str


@dataclass(frozen=True)
class Code:
    """Text in which spaces and line ends count."""

    kind: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True)
class Verdict:
    """What came out, in a sentence, and what it rests on."""

    kind: ClassVar[str] = "verdict"
    sentence: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Heed:
    """What a reader must know before the numbers."""

    kind: ClassVar[str] = "heed"
    title: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Drawn:
    """A drawn panel of a figure."""

    title: str
    svg: Markup


@dataclass(frozen=True)
class Figure:
    """Panels side by side under one legend of names and their classes."""

    kind: ClassVar[str] = "figure"
    panels: Sequence[Drawn]
    legend: Sequence[tuple[str, str]] = ()
    note: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Change:
    """A text and what became of it: versions by name, each as (what left, what came) in order."""

    kind: ClassVar[str] = "change"
    title: str
    source: str
    versions: Sequence[tuple[str, Sequence[tuple[str, str]]]]


@dataclass(frozen=True)
class Terms:
    """Names and what they mean, folded."""

    kind: ClassVar[str] = "terms"
    terms: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Fold:
    """Blocks that a click shows."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: Sequence[Any]


Block = PageTable | Tables | Text | Label | Heading | Code | Verdict | Heed | Figure | Change | Terms | Fold


@dataclass(frozen=True)
class Section:
    """A headed part of a page."""

    title: str
    blocks: Sequence[Block]
    anchor: str = ""


@cache
def templates() -> jinja2.Environment:
    """The templates; everything that is put into them is escaped."""
    loader = jinja2.FileSystemLoader(TEMPLATES)
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.tests["short_number"] = is_number
    return made


def page(title: str, heading: str, lead: Sequence[Block], sections: Sequence[Section | None]) -> str:
    """A self-contained page; sections that are None are left out.

    Args:
        title: what the browser calls the page.
        heading: what the page calls itself.
        lead: what stands before the first section.
        sections: the page's sections in order.
    """
    shown = [
        replace(section, anchor=f"part-{number}") for number, section in enumerate(filter(None, sections), start=1)
    ]
    return templates().get_template("page.html").render(title=title, heading=heading, lead=lead, sections=shown)


def is_number(text: str) -> bool:
    """Whether a text is a number, with its unit or interval perhaps; nothing at all counts as one."""
    return SHORT_NUMBER.fullmatch(text) is not None


def measured(value: float, low: float, high: float, form: str = ".4g", **more: Any) -> PageCell:
    """A value with its 95 % interval in small type."""
    return PageCell(f"{value:{form}}", f"[{low:{form}}, {high:{form}}]", **more)


def _text(cell: PageCell | str) -> str:
    return cell if isinstance(cell, str) else cell.text
