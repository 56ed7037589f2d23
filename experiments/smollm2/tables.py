"""Table for the page on SmolLM2."""

from __future__ import annotations

from pathlib import Path

from experiments.rendering import ideal, markdown, significant
from fairlab.record import Record

RECORDS = Path(__file__).parent / "records"


def likelihoods() -> str:
    """Return a table of the likelihood-based readings of the model."""
    wanted = "lms ss icat metric_score significant_pairs women_correlation pro_preferred perplexity".split()
    rows = [
        [reading.key, significant(reading), reading.unit, ideal(reading), str(reading.n)]
        for reading in Record.load(RECORDS / "likelihood").readings
        if reading.quantity in wanted
    ]
    return markdown(["reading", "value", "unit", "ideal", "n"], rows)


PAGES = {"experiments/smollm2/README.md": {"smollm2": likelihoods}}
