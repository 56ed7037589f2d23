"""The picture of the ensemble page: AU-PRC against ACV of all models, medians of the seeds, and those that none beats.

python -m experiments.ensemble.picture
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from experiments.ensemble.tables import SAME_LISTS, over_seeds
from fairlab.ensemble.strengths import Candidate, pareto_front
from fairlab.reporting.charts import HEIGHT, WIDTH
from fairlab.reporting.reweighting import pareto_plot
from fairlab.reporting.seeds import median_run

FILE = Path(__file__).with_name("rivals.svg")
PANELS = {
    "hate, test folds": ("safety", "hate"),
    "violence, test folds": ("safety", "violence"),
    "hate, HateCheck": ("safety_hatecheck", "hate"),
}
HEAD = 24  # height of a panel's title
STYLE = (
    "text{font:12px sans-serif;fill:#555}.head{font-weight:bold}.name{font-size:11px;fill:#111}.grid{stroke:#ddd}"
    ".axis{stroke:#888}.line{fill:none;stroke-width:2}.k0{stroke:#1764ab}.k1,.grey{stroke:#999}.dot{stroke:none}"
    ".dot.k0{fill:#1764ab}.dot.k1{fill:#c8501e}.dot.grey{fill:#999}"
)


def picture() -> str:
    """The SVG: the blue models are those that none beats; debiased is the red one."""
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
    """Write the name of every dot below it and to the right, where lines that rise leave room; none over another."""
    named = {dot.findtext("title"): (float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in panel.iter("circle")}
    taken: list[tuple[float, float]] = []
    for name, (x, y) in sorted(named.items(), key=lambda one: one[1]):
        late = x > WIDTH - 90
        at = (x - 80 if late else x + 7, y + 13)
        while any(abs(at[0] - other[0]) < 75 and abs(at[1] - other[1]) < 11 for other in taken):
            at = (at[0], at[1] + 3)
        taken.append(at)
        place = {"x": f"{x if late else at[0]:.1f}", "y": f"{at[1]:.1f}", "class": "name"}
        ElementTree.SubElement(panel, "text", place | {"text-anchor": "end" if late else "start"}).text = name


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
