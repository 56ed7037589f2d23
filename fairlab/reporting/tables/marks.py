"""Warnings on readings, for example that training had no effect or that the benchmark's version is outdated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fairlab.benchmarks.versions import outdated
from fairlab.metrics.convergence import at_chance, too_short, unlearned
from fairlab.record import SAYS_NOTHING, TRAINING, Note, Reading, Record

UNTRAINED, CHANCE = "did not train", "at chance on its validation data"
COLLAPSED = "gap fell by collapse alone"


def training_notes(record: Record) -> list[Note]:
    """Return notes on training that makes the readings uninformative.

    A note is added if the loss did not fall, if training was too short to tell, or if a classifier is no better than
    guessing. Methods without training steps, such as projections, have no loss, so they only get notes with their own
    warnings.
    """
    data = record.provenance.get("data", {})
    guessed = at_chance(record.history, data.get("validation_labels", {}), data.get("validation_examples", 0))
    found = {UNTRAINED: unlearned(record.history), CHANCE: guessed}
    notes = [Note(TRAINING, text, phase="after", mark=mark) for mark, text in found.items() if text]
    own = record.provenance.get("method", {}).get("warnings", [])
    notes += [Note(TRAINING, text, phase="after") for text in own]
    return notes + ([Note(TRAINING, short, phase="after")] if (short := too_short(record.history)) else [])


def version_notes(record: Record) -> list[Note]:
    """Return one note for each benchmark and phase that was measured with an outdated version of the benchmark."""
    found = {(one.benchmark, one.phase): mark for one in record.readings if (mark := outdated(one))}
    remedy = "measure again before comparing it with present readings"
    return [Note(name, f"measured by {mark}; {remedy}", phase=phase) for (name, phase), mark in found.items()]


def marks_beside(record: Record, reading: Reading) -> list[str]:
    """Return the warnings on a reading: from the record's notes, the training history and the version of the benchmark.

    The history is needed because older records have no notes on training.
    """
    own = record.marks(reading)
    own += [note.mark for note in training_notes(record) if note.marks(reading) and note.mark not in own]
    return own + list(filter(None, [outdated(reading)]))


def marks_of_runs(runs: Sequence[tuple[Record, Reading]]) -> tuple[str, ...]:
    """Return the warnings on a mean over runs, each with the number of runs that have the warning."""
    return marks_with_counts((mark for record, reading in runs for mark in marks_beside(record, reading)), len(runs))


def marks_with_counts(marks: Iterable[str], runs: int) -> tuple[str, ...]:
    """Return each distinct warning, with the number of runs that have it unless all of them do."""
    return tuple(mark if n == runs else f"{mark} in {n} of {runs} runs" for mark, n in Counter(marks).items())


def marked(shown: str, marks: Sequence[str]) -> str:
    """Append warnings in parentheses to a formatted number."""
    return f"{shown} ({'; '.join(marks)})" if marks else shown


def failed_models(record: Record) -> dict[str, list[str]]:
    """Return the reasons why the readings of failed models do not show bias, by the model's label."""
    found: dict[str, list[str]] = {}
    for note in record.notes:
        if note.mark == SAYS_NOTHING and note.text not in found.setdefault(note.phase, []):
            found[note.phase].append(note.text)
    return found


def said_of_training(record: Record) -> list[str]:
    """Return any warnings on a run's training that affect how to interpret its changes."""
    notes = [note for note in record.notes if note.benchmark == TRAINING and note.mark != SAYS_NOTHING]
    return list(dict.fromkeys(note.text for note in notes))


def is_spoiled(marks: Sequence[str]) -> bool:
    """Return whether any warning makes a reading unusable.

    Examples are warnings that the model did not train, is at chance, fails the behaviour check, or reduced its gap only
    by collapsing.
    """
    return any(mark.startswith((UNTRAINED, CHANCE, SAYS_NOTHING, COLLAPSED)) for mark in marks)


def is_untrained(mark: str) -> bool:
    """Return whether a warning says that a model did not train, or is at chance on its own task."""
    return mark.startswith((UNTRAINED, CHANCE))
