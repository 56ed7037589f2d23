"""SVG charts without scripts: lines, and points with intervals.

Colours are CSS classes defined in ``templates/page.css``, so that charts also work on dark and printed pages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from markupsafe import Markup

from fairlab.reporting.page import Drawn, Figure

WIDTH, HEIGHT = 480, 300
TOP, RIGHT, BOTTOM = 8, 14, 42
COLOURS = 8
MOST_POINTS = 1200  # maximum number of points drawn for a line; longer lines are subsampled evenly
LETTER = 6.2  # width of one letter of a tick label
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Marks:
    """Series of points in a chart.

    Attributes:
        name: Name in the legend; empty for no legend entry.
        x, y: Coordinates of the points.
        kind: Type of the series: ``line``, ``dots`` or ``both``.
        colour: Number of the colour; None for grey.
        low, high: Bounds of an interval of y around each point; empty if there are no intervals.
        texts: Tooltip of each point.
        dashed: Whether the line is dashed.
        size: Radius of the dots.
        labels: Short text drawn next to each dot; empty for no labels.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    kind: str = "line"
    colour: int | None = 0
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    texts: Sequence[str] = ()
    dashed: bool = False
    size: float = 3.2
    labels: Sequence[str] = ()

    @property
    def shade(self) -> str:
        """Return the CSS class for the colour."""
        return "grey" if self.colour is None else f"k{self.colour % COLOURS}"

    @property
    def swatch(self) -> str:
        """Return the CSS classes for the symbol in the legend."""
        return f"dot {self.shade}" if self.kind == "dots" else f"line {self.shade}{' dashed' * self.dashed}"


@dataclass(frozen=True)
class Panel:
    """Chart panel with one pair of axes.

    Attributes:
        title: Title above the axes; the page wraps it.
        marks: Series to draw; later series are drawn on top of earlier ones.
        x, y: Labels of the axes.
        x_held, y_held: Values that the range of the axis must include, such as 0 or the values of another panel.
    """

    title: str
    marks: Sequence[Marks]
    x: str = ""
    y: str = ""
    x_held: Sequence[float] = ()
    y_held: Sequence[float] = ()


def figure(panels: Sequence[Panel]) -> Figure:
    """Return panels side by side with a common legend. The legend is left out if it would have a single entry."""
    legend = dict.fromkeys((one.name, one.swatch) for panel in panels for one in panel.marks if one.name)
    return Figure([Drawn(panel.title, drawn(panel)) for panel in panels], list(legend) if len(legend) > 1 else [])


def drawn(panel: Panel) -> Markup:
    """Draw a panel as SVG."""
    x_range = _range([value for one in panel.marks for value in one.x], panel.x_held)
    y_range = _range([v for one in panel.marks for part in (one.y, one.low, one.high) for v in part], panel.y_held)
    x_ticks, y_ticks = ticks(*x_range), ticks(*y_range)
    left = 26 + LETTER * max((len(_number(tick)) for tick in y_ticks), default=1)
    inner = _Inner(x_range, y_range, left)
    root = ElementTree.Element("svg", {"class": "chart", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"})
    if panel.title:
        ElementTree.SubElement(root, "title").text = panel.title
    _axes(root, inner, x_ticks, y_ticks, panel)
    for one in panel.marks:
        _marks(root, inner, one)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # ElementTree has escaped the text


@dataclass(frozen=True)
class _Inner:
    """Plot area between the axes, which converts values to coordinates."""

    x_range: Bounds
    y_range: Bounds
    left: float

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (WIDTH - RIGHT - self.left)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - BOTTOM - TOP)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return at most ``most`` round values from ``low`` to ``high``, for the ticks of an axis.

    Example:
        >>> ticks(0, 1)
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        >>> ticks(-3, 12)
        [0.0, 5.0, 10.0]
    """
    step = 10 ** math.floor(math.log10((high - low) / most))
    step = next(step * more for more in (1, 2, 5, 10, 20) if (high - low) / (step * more) <= most - 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) + 0.0 for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _range(values: Sequence[float], held: Sequence[float]) -> Bounds:
    """Return the range of an axis: the range of the values with a margin at both ends.

    An end at 0 has no margin if 0 is a required value.
    """
    found = [float(value) for value in (*values, *held) if math.isfinite(value)]
    low, high = min(found, default=0.0), max(found, default=1.0)
    if low == high:
        return low - (abs(low) / 10 or 1.0), high + (abs(high) / 10 or 1.0)
    room = 0.05 * (high - low)
    return (low if low == 0 and 0 in held else low - room, high if high == 0 and 0 in held else high + room)


def _axes(root: ElementTree.Element, inner: _Inner, x_ticks: list[float], y_ticks: list[float], panel: Panel) -> None:
    bottom, end = HEIGHT - BOTTOM, WIDTH - RIGHT
    for tick in y_ticks:
        place = inner.y(tick)
        _line(root, inner.left, place, end, place, "grid")
        _text(root, inner.left - 5, place + 4, _number(tick), "end")
    for tick in x_ticks:
        _line(root, inner.x(tick), bottom, inner.x(tick), bottom + 4, "axis")
        _text(root, inner.x(tick), bottom + 16, _number(tick), "middle")
    _line(root, inner.left, bottom, end, bottom, "axis")
    _text(root, (inner.left + end) / 2, HEIGHT - 6, _short(panel.x, 72), "middle")
    middle = (TOP + bottom) / 2
    title = _text(root, 11, middle, _short(panel.y, 42), "middle")
    title.set("transform", f"rotate(-90 11 {middle:g})")


def _marks(root: ElementTree.Element, inner: _Inner, one: Marks) -> None:
    points = [(inner.x(x), inner.y(y)) for x, y in zip(one.x, one.y, strict=True) if math.isfinite(x + y)]
    for x, low, high in zip(one.x, one.low, one.high, strict=False):
        if math.isfinite(x + low + high):
            _line(root, inner.x(x), inner.y(low), inner.x(x), inner.y(high), f"band {one.shade}")
    if one.kind != "dots" and len(points) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points[:: math.ceil(len(points) / MOST_POINTS)])
        classes = f"line {one.shade}{' dashed' * one.dashed}"
        ElementTree.SubElement(root, "polyline", {"points": path, "class": classes})
    if one.kind in ("dots", "both") or len(points) == 1:
        for number, (x, y) in enumerate(points):
            place = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{one.size:g}", "class": f"dot {one.shade}"}
            dot = ElementTree.SubElement(root, "circle", place)
            if number < len(one.texts):
                ElementTree.SubElement(dot, "title").text = one.texts[number]
            if number < len(one.labels):
                end = x > WIDTH - RIGHT - 24
                _text(root, x - 8 if end else x + 8, max(y - 6, 12), one.labels[number], "end" if end else "start")


def _line(root: ElementTree.Element, x1: float, y1: float, x2: float, y2: float, classes: str) -> None:
    ends = {name: f"{value:.1f}" for name, value in (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2))}
    ElementTree.SubElement(root, "line", ends | {"class": classes})


def _text(root: ElementTree.Element, x: float, y: float, text: str, anchor: str) -> ElementTree.Element:
    element = ElementTree.SubElement(root, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor})
    element.text = text
    return element


def _short(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"


def _number(value: float) -> str:
    return f"{value:.6g}"
