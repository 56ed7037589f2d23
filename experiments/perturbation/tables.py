"""Tables of the perturbation page."""

from __future__ import annotations

from pathlib import Path

from experiments.rendering import matrix_table

FOLDER = Path(__file__).parent

PAGES = {
    "experiments/perturbation/README.md": {
        "twins": lambda: matrix_table(FOLDER, "twins"),
        "table_4": lambda: matrix_table(FOLDER, "4"),
        "table_5": lambda: matrix_table(FOLDER, "5"),
        "table_13": lambda: matrix_table(FOLDER, "13"),
    },
}
