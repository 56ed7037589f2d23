"""Tables of the biasers page."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.rendering import markdown, matrix_table
from fairlab.record import Record
from fairlab.reporting import mb_index

FOLDER = Path(__file__).parent
RECORDS = FOLDER / "records"


def language_models() -> str:
    """What the language models of the biasers paper were tuned on, and their perplexity on held-out entries."""
    rows = []
    for folder in sorted(RECORDS.glob("llm_*/seed_*")):
        record = Record.load(folder)
        facts, data = record.provenance, record.provenance["data"]
        last = [row for row in record.history if "validation/perplexity" in row][-1]
        rows.append(
            [
                f"{folder.parent.name.replace('llm_', 'LLM ').upper()}, {folder.name.replace('_', ' ')}",
                data["trained_on"],
                str(data["made_of_the_sample"]),
                f"{last['validation/perplexity']:.1f}",
                f"{facts['wall_seconds']:,.0f}",
                f"`{facts['revision'][:12]}`",
            ]
        )
    header = [
        "model",
        "tuned on",
        "entries the sample became",
        "perplexity, held out",
        "seconds",
        "revision",
    ]
    return markdown(header, rows)


def mb_index_changes() -> str:
    """The language models side by side, and the paired changes of their mb-index, as the sweep writes them."""
    return mb_index.rendered_models(json.loads((RECORDS / "mb_index.json").read_text(encoding="utf-8"))).strip()


def clusters() -> str:
    """Clusters of the data sets of the biasers paper, and why their index is what it is."""
    rows = []
    for folder in sorted(RECORDS.glob("data_bias/seed_*")):
        readings_ = Record.load(folder).readings
        for phase in dict.fromkeys(reading.phase for reading in readings_):
            of_phase = {(r.subset, r.quantity): r for r in readings_ if r.phase == phase}
            parts = [r for (subset, _), r in of_phase.items() if subset.startswith("cluster_")]
            values = [f"{r.value:.3f} ({r.n})" for r in parts]
            whole = of_phase["all", "expectation"]
            rows.append([phase.replace("_", " "), str(whole.n), str(len(parts)), ", ".join(values)])
    return markdown(["data", "entries", "clusters", "db-index of each (its entries)"], rows)


PAGES = {
    "experiments/biasers/README.md": {
        "table_1": lambda: matrix_table(FOLDER, "1"),
        "clusters": clusters,
        "table_2": lambda: matrix_table(FOLDER, "2"),
        "mb_index_changes": mb_index_changes,
        "language_models": language_models,
    },
}
