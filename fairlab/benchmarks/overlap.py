"""Overlap of a benchmark's texts with the training texts. Readings on shared texts may reflect memorisation."""

from __future__ import annotations

from fairlab.record import Note
from fairlab.text.fingerprints import Fingerprints

MARK = "measured on training texts"
LEAST_MARKED = 0.01  # minimum fraction of texts; a smaller overlap is noted, but hardly changes any reading


def overlap_notes(benchmark: str, shown: Fingerprints, trained_on: Fingerprints) -> list[Note]:
    """Return a note if texts of a benchmark were used for training."""
    looked_for, found = shown.within(trained_on)
    if not found:
        return []
    sample = " of a sample" if shown.sampled or trained_on.sampled else ""
    text = (
        f"{found:,} of {looked_for:,} texts{sample} of this benchmark were also trained on (with the same words, "
        "ignoring case and punctuation): its readings on these may reflect memorization"
    )
    return [Note(benchmark, text, mark=MARK if found >= LEAST_MARKED * looked_for else "")]
