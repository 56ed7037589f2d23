"""Pictures for the CCD pages, drawn from ``records/composed`` and ``records/second``.

    python -m experiments.ccd.picture

``turn.svg`` shows the gap on Winogender against the rotation of the gender direction, with one point per seed.
``tradeoff.svg`` shows the remaining SEAT average against the loss on STS-B, with one point per combination (the mean
over seeds). ``agreement.svg`` shows three measures of the second study against the CCED gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from experiments.ccd import second_results
from experiments.ccd.composed import GAP, METHODS, SEAT, STS, called, change, combinations

FOLDER = Path(__file__).parent
WIDTH, HEIGHT, LEFT, TOP = 780, 280, 60, 30
LEGEND = 320  # width of the legend
STYLE = "text{font:12px sans-serif;fill:#555}.head{font-weight:bold}.axis{stroke:#888}.grid{stroke:#ddd}"
COLOURS = {  # by the following method; the first method determines the shade
    "none": "#1764ab",
    "sentence_debias": "#8a8a8a",
    "inlp_5": "#c9a227",
    "inlp": "#7a5c00",
    "leace": "#b0306a",
    "ccd_linear": "#c8501e",
    "ccd_linear_drift_32": "#2a8a4a",
    "ccd_linear_lean_1": "#8d3fa8",
}
SHADES = dict.fromkeys(METHODS, 0.35)  # baselines
SHADES |= {"original": 0.2, "ccd": 0.6, "dpce_fixed_ccd_aligned": 0.8, "ccd_aligned": 1.0, "ccd_published": 0.4}


@dataclass(frozen=True)
class Point:
    """Point in a panel, with its combination, the combination's name in the legend, a tooltip and a shape."""

    encoder: str
    method: str
    then: str
    name: str
    x: float
    y: float
    said: str
    square: bool = False


def turns() -> Iterator[Point]:
    """Yield a point per seed and combination: the cosine to the original direction, and the remaining gap."""
    start = "after/cced/winogender"
    for encoder, method, then, runs in combinations():
        for run in runs:
            cosine, kept = run[f"{start}/direction_cosine"].value, run[f"{start}/gap_kept"].value
            name = called(method, then)
            yield Point(encoder, method, then, name, cosine, kept, f"{name}: gap kept {kept:.1%}, cosine {cosine:.2f}")


def trade() -> Iterator[Point]:
    """Yield a point per combination: the points lost on STS-B, and the remaining share of SEAT's average."""
    for encoder, method, then, runs in combinations():
        (seat, seat_now), (sts, sts_now), (gap, gap_now) = (change(runs, key) for key in (SEAT, STS, GAP))
        name = called(method, then)
        said = f"{name}: SEAT {seat_now / seat - 1:+.0%}, STS-B {sts_now - sts:+.2f}, gap {gap_now / gap - 1:+.0%}"
        yield Point(encoder, method, then, name, sts - sts_now, seat_now / seat, said)


def measured(place: int) -> Iterator[Point]:
    """Yield a point per combination of the second study: the CCED gap, and another of its measures."""
    for one in second_results.results():
        method, _, then = one.name.rpartition("+") if "+" in one.name else (one.name, "", "none")
        if method in COLOURS:
            method, then = "original", method
        name, (x, y) = second_results.words(one.name), (one.measures[0], one.measures[place])
        said = f"{one.encoder}, {name}: gap {x:.4f}, {second_results.MEASURES[place]} {y:.2f}"
        yield Point(one.encoder, method, then, name, x, y, said, one.encoder == "mpnet")


@dataclass(frozen=True)
class Axes:
    """Title, upper limits and tick formats of a panel's axes."""

    title: str
    right: float
    top: float
    marks: tuple[Callable[[float], str], Callable[[float], str]]


@dataclass(frozen=True)
class Panel:
    """One pair of axes with its points."""

    axes: Axes
    points: Sequence[Point]


def by_encoder(points: Iterator[Point], axes: Axes) -> list[Panel]:
    """Return one panel per encoder."""
    found = list(points)
    return [
        Panel(replace(axes, title=f"{encoder}: {axes.title}"), [one for one in found if one.encoder == encoder])
        for encoder in dict.fromkeys(one.encoder for one in found)
    ]


def agreement() -> list[Panel]:
    """Return one panel for each measure of the second study other than the gap."""
    note, forms = "against the CCED gap (circles: minilm, squares: mpnet)", ("{:.2f}".format, "{:.2f}".format)
    tops = {1: 1.5, 2: 0.3, 3: 1.0}
    return [
        Panel(Axes(f"{second_results.MEASURES[place]}, {note}", 0.15, top, forms), list(measured(place)))
        for place, top in tops.items()
    ]


PICTURES: dict[str, Callable[[], list[Panel]]] = {
    "turn.svg": lambda: by_encoder(
        turns(), Axes("share of the gap kept, against the cosine", 1.0, 0.5, ("{:.1f}".format, "{:.0%}".format))
    ),
    "tradeoff.svg": lambda: by_encoder(
        trade(),
        Axes("share of SEAT kept, against points lost on STS-B", 1.5, 1.25, ("{:.1f}".format, "{:.0%}".format)),
    ),
    "agreement.svg": agreement,
}


def picture(name: str) -> str:
    """Return a picture as SVG, with its panels below each other.

    Points beyond an axis are drawn at its end.
    """
    panels = PICTURES[name]()
    high = HEIGHT + 2 * TOP
    root = ElementTree.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {len(panels) * high + 10}"}
    )
    ElementTree.SubElement(root, "style").text = STYLE
    ElementTree.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    for number, panel in enumerate(panels):
        _panel(root, number * high + TOP, panel)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _panel(root: ElementTree.Element, top: float, panel: Panel) -> None:
    axes = panel.axes
    wide = WIDTH - LEFT - LEGEND

    def place(x: float, y: float) -> tuple[float, float]:
        right, up = (min(max(value, 0.0), end) / end for value, end in ((x, axes.right), (y, axes.top)))
        return LEFT + right * wide, top + HEIGHT * (1 - up)

    _text(root, LEFT, top - 10, axes.title, "head")
    for step in range(6):
        across, up = place(axes.right * step / 5, axes.top * step / 5)
        line = {"class": "grid", "x1": f"{LEFT}", "x2": f"{LEFT + wide}", "y1": f"{up:.1f}", "y2": f"{up:.1f}"}
        ElementTree.SubElement(root, "line", line)
        _text(root, LEFT - 42, up + 4, axes.marks[1](axes.top * step / 5))
        _text(root, across - 8, top + HEIGHT + 16, axes.marks[0](axes.right * step / 5))
    for one in panel.points:
        _dot(root, *place(one.x, one.y), one)
    shown = {one.name: one for one in reversed(panel.points)}  # the first point of each name
    for row, one in enumerate(sorted(shown.values(), key=panel.points.index)):
        at = top + 6 + 15 * row
        _dot(root, WIDTH - LEGEND + 16, at, replace(one, said=one.name))
        _text(root, WIDTH - LEGEND + 26, at + 4, one.name.replace("none, then ", ""))


def _dot(root: ElementTree.Element, x: float, y: float, one: Point) -> None:
    style = {"fill": COLOURS[one.then], "fill-opacity": f"{SHADES[one.method]}", "stroke": COLOURS[one.then]}
    circle = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "5"}
    square = {"x": f"{x - 4.5:.1f}", "y": f"{y - 4.5:.1f}", "width": "9", "height": "9"}
    dot = ElementTree.SubElement(root, *(("rect", square | style) if one.square else ("circle", circle | style)))
    ElementTree.SubElement(dot, "title").text = one.said


def _text(root: ElementTree.Element, x: float, y: float, said: str, kind: str = "") -> None:
    ElementTree.SubElement(root, "text", {"x": f"{x:.0f}", "y": f"{y:.0f}", "class": kind}).text = said


if __name__ == "__main__":
    for name in PICTURES:
        (FOLDER / name).write_text(picture(name), encoding="utf-8")
