"""The picture of the ensemble page: AU-PRC against ACV of all models, medians of the seeds, and those that none beats.

python -m experiments.ensemble.picture
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from experiments.ensemble.tables import SAME_LISTS, over_seeds
from experiments.shared.seeds import median_run
from fairlab.methods.safety_ensemble.strengths import Candidate, pareto_front
from fairlab.reporting.charts import HEIGHT, WIDTH
from fairlab.reporting.many_runs.reweighting import pareto_plot

FILE = Path(__file__).with_name("rivals.svg")
PANELS = {
    "hate, test folds": ("safety", "hate"),
    "violence, test folds": ("safety", "violence"),
    "hate, HateCheck": ("safety_hatecheck", "hate"),
}
HEAD = 24  # height of a panel's title
LETTER = 6.0  # width of a letter of a name, about
Box = tuple[float, float, float, float]
# Where a name may stand from its dot, the better places first.
BESIDE = [(8, 4, "start"), (7, 14, "start"), (-8, 4, "end"), (-6, -7, "end"), (7, -6, "start"), (0, 18, "middle")]
BESIDE += [(0, -10, "middle"), (-6, 14, "end"), (12, 24, "start"), (-14, -14, "end")]
STYLE = (
    "text{font:12px sans-serif;fill:#555}.head{font-weight:bold}.name{font-size:11px;fill:#111}.grid{stroke:#ddd}"
    ".axis{stroke:#888}.line{fill:none;stroke-width:2}.k0{stroke:#1764ab}.k1,.grey{stroke:#999}.dot{stroke:none}"
    ".dot.k0{fill:#1764ab}.dot.k1{fill:#c8501e}.dot.grey{fill:#999}"
)


def picture() -> str:
    """Return the SVG: the blue models are those that none beats; debiased is the red one."""
    root = ElementTree.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {len(PANELS) * (HEIGHT + HEAD)}"}
    )
    ElementTree.SubElement(root, "style").text = STYLE
    ElementTree.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    for number, (title, (benchmark, harm)) in enumerate(PANELS.items()):
        top = number * (HEIGHT + HEAD)
        ElementTree.SubElement(root, "text", {"x": "60", "y": str(top + 17), "class": "head"}).text = title
        panel = ElementTree.fromstring(str(_plot(benchmark, harm)))
        panel.attrib |= {"y": str(top + HEAD), "width": str(WIDTH), "height": str(HEIGHT)}
        _name_dots(panel)
        root.append(panel)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def candidates(benchmark: str, harm: str) -> list[Candidate]:
    """Medians over the seeds; on the test folds without the models that use the lists which made their versions."""
    seeds = over_seeds()
    start = f"{benchmark}/{harm}/acv_change"
    found = {"debiased": ""}
    found |= {key[len(f"{start}_of_") :]: key[len(start) :] for key in seeds[0] if key.startswith(f"{start}_of_")}
    names = {name.replace("_", " "): end for name, end in found.items()}
    return [
        Candidate(
            name,
            *(
                median_run([one[f"{benchmark}/{harm}/{quantity}_change{end}"] for one in seeds]).value
                for quantity in ("average_precision", "acv")
            ),
        )
        for name, end in names.items()
        if benchmark != "safety" or name not in SAME_LISTS
    ]


def _plot(benchmark: str, harm: str) -> str:
    some = candidates(benchmark, harm)
    front = [one.name for one in pareto_front(some)]
    figure = pareto_plot({"candidates": [vars(one) for one in some], "front": front, "chosen": "debiased"})
    return figure.panels[0].svg


def _name_dots(panel: ElementTree.Element) -> None:
    """Write every dot's name beside it, where it lies over no dot, no line and no other name, as far as that can be."""
    named = {dot.findtext("title"): (float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in panel.iter("circle")}
    dots = list(named.values())
    drawn = [*dots, *(point for line in panel.iter("polyline") for point in _along(line.attrib["points"]))]
    taken: list[Box] = []
    for name, (x, y) in sorted(named.items(), key=lambda one: one[1]):
        places = [(_box(x + dx, y + dy, anchor, len(str(name))), dx, dy, anchor) for dx, dy, anchor in BESIDE]
        box, dx, dy, anchor = min(places, key=lambda one: _faults(one[0], drawn, taken))
        taken.append(box)
        place = {"x": f"{x + dx:.1f}", "y": f"{y + dy:.1f}", "class": "name", "text-anchor": anchor}
        ElementTree.SubElement(panel, "text", place).text = name


def _along(points: str) -> list[tuple[float, float]]:
    """Points of a line, close to one another."""
    corners = [tuple(map(float, pair.split(","))) for pair in points.split()]
    return [
        (x0 + (x1 - x0) * step / 60, y0 + (y1 - y0) * step / 60)
        for (x0, y0), (x1, y1) in pairwise(corners)
        for step in range(61)
    ]


def _box(x: float, y: float, anchor: str, letters: int) -> Box:
    """Left, top, right and bottom of a name."""
    width = LETTER * letters
    left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
    return left, y - 9, left + width, y + 3


def _faults(box: Box, drawn: list[tuple[float, float]], taken: list[Box]) -> float:
    """How much lies below a name: names count most, then the edges, then points of dots and lines."""
    left, top, right, bottom = box
    names = sum(left < one[2] and one[0] < right and top < one[3] and one[1] < bottom for one in taken)
    outside = left < 44 or right > WIDTH or top < 0 or bottom > HEIGHT - 46
    return 1000 * names + 500 * outside + sum(left - 4 < x < right + 4 and top - 3 < y < bottom + 3 for x, y in drawn)


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
