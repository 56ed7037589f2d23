"""The picture of the CCD page: the gap on Winogender against the turn of the direction between the genders.

    python -m experiments.ccd.picture

One point a method and seed. The values are those of ``records/turn.json``, and of the record of CCD in the encoder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fairlab.record import Record

FOLDER = Path(__file__).parent
FILE = FOLDER / "turn.svg"
WIDTH, HEIGHT, LEFT, TOP = 640, 300, 60, 30
COLOURS = {
    "CCD in the encoder": "#1764ab",
    "SentenceDebias": "#999",
    "lean taken away, not trained": "#2a8a4a",
    "linear map": "#c8501e",
}
STYLE = "text{font:12px sans-serif;fill:#555}.head{font-weight:bold}.axis{stroke:#888}.grid{stroke:#ddd}"


def points() -> list[dict[str, Any]]:
    """Every method and seed with its gap, as a share of the gap before, and the cosine of its direction."""
    found: list[dict[str, Any]] = json.loads((FOLDER / "records" / "turn.json").read_text(encoding="utf-8"))
    for folder in sorted((FOLDER / "records" / "turn").glob("seed_*")):
        values = {one.key: one.value for one in Record.load(folder).readings}
        start = "after/cced/winogender"
        row = {"encoder": "minilm_mlm", "method": "CCD in the encoder", "seed": int(folder.name.removeprefix("seed_"))}
        row["gap_kept"] = values[f"{start}/gap_kept"]
        row |= {name: values[f"{start}/direction_{name}"] for name in ("cosine", "length_kept")}
        found.append(row)
    return found


def picture() -> str:
    """The SVG, one panel an encoder."""
    found = points()
    encoders = list(dict.fromkeys(one["encoder"] for one in found))
    panel = HEIGHT + 2 * TOP
    root = ElementTree.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {len(encoders) * panel + 10}"}
    )
    ElementTree.SubElement(root, "style").text = STYLE
    ElementTree.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    for number, encoder in enumerate(encoders):
        _panel(root, number * panel + TOP, encoder, [one for one in found if one["encoder"] == encoder])
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _panel(root: ElementTree.Element, top: float, encoder: str, found: list[dict[str, Any]]) -> None:
    def x(cosine: float) -> float:
        return LEFT + cosine * (WIDTH - LEFT - 190)

    def y(kept: float) -> float:
        return top + HEIGHT - kept * 2 * HEIGHT  # half of the gap kept is the upper end

    _text(
        root, LEFT, top - 10, f"{encoder}: gap on Winogender, share kept, against the cosine of the direction", "head"
    )
    for step in range(6):
        share = step / 5
        line = {"class": "grid", "x1": str(x(0)), "x2": str(x(1)), "y1": f"{y(share / 2)}", "y2": f"{y(share / 2)}"}
        ElementTree.SubElement(root, "line", line)
        _text(root, LEFT - 34, y(share / 2) + 4, f"{share / 2:.0%}")
        _text(root, x(share) - 8, top + HEIGHT + 16, f"{share:.1f}")
    for one in found:
        place = {"cx": f"{x(one['cosine']):.1f}", "cy": f"{y(min(one['gap_kept'], 0.5)):.1f}", "r": "5"}
        dot = ElementTree.SubElement(root, "circle", place | {"fill": COLOURS[one["method"]], "fill-opacity": "0.8"})
        said = f"{one['method']}, seed {one['seed']}: gap kept {one['gap_kept']:.1%}, cosine {one['cosine']:.3f}"
        ElementTree.SubElement(dot, "title").text = said
    for row, method in enumerate(method for method in COLOURS if any(one["method"] == method for one in found)):
        at = top + 10 + 18 * row
        ElementTree.SubElement(
            root, "circle", {"cx": f"{WIDTH - 176}", "cy": f"{at}", "r": "5", "fill": COLOURS[method]}
        )
        _text(root, WIDTH - 166, at + 4, method)


def _text(root: ElementTree.Element, x: float, y: float, said: str, kind: str = "") -> None:
    ElementTree.SubElement(root, "text", {"x": f"{x:.0f}", "y": f"{y:.0f}", "class": kind}).text = said


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
