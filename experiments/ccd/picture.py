"""Pictures for the CCD pages, drawn from ``records/composed``.

    python -m experiments.ccd.picture

``turn.svg`` shows the gap on Winogender against the rotation of the gender direction, with one point per seed.
``tradeoff.svg`` shows the remaining SEAT average against the loss on STS-B, with one point per combination (the mean
over seeds).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

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
    "ccd_linear": "#c8501e",
    "ccd_linear_drift_32": "#2a8a4a",
    "ccd_linear_lean_1": "#8d3fa8",
}
SHADES = dict.fromkeys(METHODS, 0.35)  # baselines
SHADES |= {"original": 0.2, "ccd": 0.6, "dpce_fixed_ccd_aligned": 0.8, "ccd_aligned": 1.0}


@dataclass(frozen=True)
class Point:
    """Point in a panel, with its combination and tooltip."""

    encoder: str
    method: str
    then: str
    x: float
    y: float
    said: str


def turns() -> Iterator[Point]:
    """Yield a point per seed and combination: the cosine to the original direction, and the remaining gap."""
    start = "after/cced/winogender"
    for encoder, method, then, runs in combinations():
        for run in runs:
            cosine, kept = run[f"{start}/direction_cosine"].value, run[f"{start}/gap_kept"].value
            said = f"{called(method, then)}: gap kept {kept:.1%}, cosine {cosine:.2f}"
            yield Point(encoder, method, then, cosine, kept, said)


def trade() -> Iterator[Point]:
    """Yield a point per combination: the points lost on STS-B, and the remaining share of SEAT's average."""
    for encoder, method, then, runs in combinations():
        (seat, seat_now), (sts, sts_now), (gap, gap_now) = (change(runs, key) for key in (SEAT, STS, GAP))
        said = f"{called(method, then)}: SEAT {seat_now / seat - 1:+.0%}, STS-B {sts_now - sts:+.2f}, "
        yield Point(encoder, method, then, sts - sts_now, seat_now / seat, said + f"gap {gap_now / gap - 1:+.0%}")


@dataclass(frozen=True)
class Axes:
    """Title, upper limits and tick formats of a panel's axes."""

    title: str
    right: float
    top: float
    marks: tuple[Callable[[float], str], Callable[[float], str]]


PICTURES: dict[str, tuple[Callable[[], Iterator[Point]], Axes]] = {
    "turn.svg": (
        turns,
        Axes("share of the gap kept, against the cosine", 1.0, 0.5, ("{:.1f}".format, "{:.0%}".format)),
    ),
    "tradeoff.svg": (
        trade,
        Axes("share of SEAT kept, against points lost on STS-B", 1.5, 1.25, ("{:.1f}".format, "{:.0%}".format)),
    ),
}


def picture(name: str) -> str:
    """Return a picture as SVG, with one panel per encoder.

    Points beyond an axis are drawn at its end.
    """
    found, axes = PICTURES[name]
    points = list(found())
    encoders = list(dict.fromkeys(one.encoder for one in points))
    panel = HEIGHT + 2 * TOP
    root = ElementTree.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {len(encoders) * panel + 10}"}
    )
    ElementTree.SubElement(root, "style").text = STYLE
    ElementTree.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    for number, encoder in enumerate(encoders):
        of_encoder = [one for one in points if one.encoder == encoder]
        _panel(root, number * panel + TOP, encoder, of_encoder, axes)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _panel(root: ElementTree.Element, top: float, encoder: str, points: Sequence[Point], axes: Axes) -> None:
    wide = WIDTH - LEFT - LEGEND

    def place(x: float, y: float) -> tuple[float, float]:
        right, up = (min(max(value, 0.0), end) / end for value, end in ((x, axes.right), (y, axes.top)))
        return LEFT + right * wide, top + HEIGHT * (1 - up)

    _text(root, LEFT, top - 10, f"{encoder}: {axes.title}", "head")
    for step in range(6):
        across, up = place(axes.right * step / 5, axes.top * step / 5)
        line = {"class": "grid", "x1": f"{LEFT}", "x2": f"{LEFT + wide}", "y1": f"{up:.1f}", "y2": f"{up:.1f}"}
        ElementTree.SubElement(root, "line", line)
        _text(root, LEFT - 42, up + 4, axes.marks[1](axes.top * step / 5))
        _text(root, across - 8, top + HEIGHT + 16, axes.marks[0](axes.right * step / 5))
    for one in points:
        x, y = place(one.x, one.y)
        _dot(root, x, y, one.method, one.then, one.said)
    shown = list(dict.fromkeys((one.method, one.then) for one in points))
    for row, (method, then) in enumerate(shown):
        at = top + 6 + 15 * row
        _dot(root, WIDTH - LEGEND + 16, at, method, then, called(method, then))
        _text(root, WIDTH - LEGEND + 26, at + 4, called(method, then).replace("none, then ", ""))


def _dot(root: ElementTree.Element, x: float, y: float, method: str, then: str, said: str) -> None:
    place = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "5"}
    style = {"fill": COLOURS[then], "fill-opacity": f"{SHADES[method]}", "stroke": COLOURS[then]}
    dot = ElementTree.SubElement(root, "circle", place | style)
    ElementTree.SubElement(dot, "title").text = said


def _text(root: ElementTree.Element, x: float, y: float, said: str, kind: str = "") -> None:
    ElementTree.SubElement(root, "text", {"x": f"{x:.0f}", "y": f"{y:.0f}", "class": kind}).text = said


if __name__ == "__main__":
    for name in PICTURES:
        (FOLDER / name).write_text(picture(name), encoding="utf-8")
