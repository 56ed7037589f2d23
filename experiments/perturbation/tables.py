"""Tables of the perturbation page."""

from __future__ import annotations

from pathlib import Path

from experiments.rendering import markdown, matrix_table
from fairlab.record import Record

FOLDER = Path(__file__).parent
TWINS = {"roberta": "text as it was", "fairberta": "perturbed text"}


def novels() -> str:
    """Masked words of novels held out as they were written: perplexity and accuracy of both twins in the end."""
    rows = []
    for run, name in TWINS.items():
        for file in sorted((FOLDER / "records" / run).glob("*/record.json")):
            record = Record.load(file.parent)
            last = [row for row in record.history if "validation/perplexity" in row][-1]
            data = record.provenance["data"]
            changed = f"{data['passages_changed']:,} of {data['passages']:,}"
            figures = [f"{last['validation/perplexity']:.1f}", f"{100 * last['validation/accuracy']:.1f}"]
            seed = file.parent.name.removeprefix("seed_")
            rows.append([name, seed, f"{data['train_tokens']:,}", changed, *figures])
    header = ["trained on", "seed", "tokens", "passages changed", "perplexity", "masked words right, %"]
    return markdown(header, rows)


PAGES = {
    "experiments/perturbation/README.md": {
        "novels": novels,
        "twins": lambda: matrix_table(FOLDER, "twins"),
        "table_4": lambda: matrix_table(FOLDER, "4"),
        "table_5": lambda: matrix_table(FOLDER, "5"),
        "table_13": lambda: matrix_table(FOLDER, "13"),
    },
}
