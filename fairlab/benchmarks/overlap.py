"""What a benchmark measures on that was trained on: a reading on it shows what was learned by heart."""

from __future__ import annotations

from fairlab.record import Note
from fairlab.text.fingerprints import Fingerprints

MARK = "measured on training texts"
LEAST_MARKED = 0.01  # share of a benchmark's texts; fewer are worth a note, but change no reading by much


def overlap_notes(benchmark: str, shown: Fingerprints, trained_on: Fingerprints) -> list[Note]:
    """A note where a benchmark's texts were trained on.

    Args:
        benchmark: name of the benchmark.
        shown: hashes of the texts that it showed the model.
        trained_on: hashes of the texts that the model was trained on.
    """
    looked_for, found = shown.within(trained_on)
    if not found:
        return []
    sample = " of a sample" if shown.sampled or trained_on.sampled else ""
    text = (
        f"{found:,} of {looked_for:,} texts{sample} that it measures on were trained on (the same words, whatever case "
        "and punctuation): its readings are of what was learned by heart, as far as these go"
    )
    return [Note(benchmark, text, mark=MARK if found >= LEAST_MARKED * looked_for else "")]
