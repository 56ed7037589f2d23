"""Overlap of a benchmark's texts with the training texts: readings on trained texts reflect memorisation."""

from __future__ import annotations

from fairlab.record import Note
from fairlab.text.fingerprints import Fingerprints

MARK = "measured on training texts"
LEAST_MARKED = 0.01  # share of a benchmark's texts; a smaller overlap is noted, but changes no reading by much


def overlap_notes(benchmark: str, shown: Fingerprints, trained_on: Fingerprints) -> list[Note]:
    """Return a note if texts of a benchmark were trained on.

    Args:
        benchmark: Name of the benchmark.
        shown: Hashes of the texts that it showed the model.
        trained_on: Hashes of the texts that the model was trained on.
    """
    looked_for, found = shown.within(trained_on)
    if not found:
        return []
    sample = " of a sample" if shown.sampled or trained_on.sampled else ""
    text = (
        f"{found:,} of {looked_for:,} texts{sample} of this benchmark were also trained on (the same words, ignoring "
        "case and punctuation): on these its readings may show memorization"
    )
    return [Note(benchmark, text, mark=MARK if found >= LEAST_MARKED * looked_for else "")]
