"""Warnings on readings: training had no effect, or the benchmark's version is outdated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fairlab.benchmarks.versions import outdated
from fairlab.metrics.convergence import at_chance, too_short, unlearned
from fairlab.record import SAYS_NOTHING, TRAINING, Note, Reading, Record

UNTRAINED, CHANCE = "did not train", "at chance on its validation data"
COLLAPSED = "gap fell by collapse alone"


def training_notes(record: Record) -> list[Note]:
    """Return notes on uninformative training: the loss did not fall, or training was too short to tell.

    A classifier no better than a guess also gets a note. A method without steps, such as a projection, has no loss and
    gets no note.
    """
    data = record.provenance.get("data", {})
    guessed = at_chance(record.history, data.get("validation_labels", {}), data.get("validation_examples", 0))
    found = {UNTRAINED: unlearned(record.history), CHANCE: guessed}
    notes = [Note(TRAINING, text, phase="after", mark=mark) for mark, text in found.items() if text]
    return notes + ([Note(TRAINING, short, phase="after")] if (short := too_short(record.history)) else [])


def version_notes(record: Record) -> list[Note]:
    """Return a note per benchmark and phase whose readings have a version other than the current one."""
    found = {(one.benchmark, one.phase): mark for one in record.readings if (mark := outdated(one))}
    remedy = "measure again before comparing it with present readings"
    return [Note(name, f"measured by {mark}; {remedy}", phase=phase) for (name, phase), mark in found.items()]


def marks_beside(record: Record, reading: Reading) -> list[str]:
    """Return a reading's warnings from the record's notes, from the history of older records, and from its version."""
    own = record.marks(reading)
    own += [note.mark for note in training_notes(record) if note.marks(reading) and note.mark not in own]
    return own + list(filter(None, [outdated(reading)]))


def marks_of_runs(runs: Sequence[tuple[Record, Reading]]) -> tuple[str, ...]:
    """Return the warnings on a mean over runs, each with the number of runs that have it."""
    return marks_with_counts((mark for record, reading in runs for mark in marks_beside(record, reading)), len(runs))


def marks_with_counts(marks: Iterable[str], runs: int) -> tuple[str, ...]:
    """Return each warning once, with the number of ``runs`` that have it unless all do."""
    return tuple(mark if n == runs else f"{mark} in {n} of {runs} runs" for mark, n in Counter(marks).items())


def marked(shown: str, marks: Sequence[str]) -> str:
    """Append warnings in parentheses to a formatted number."""
    return f"{shown} ({'; '.join(marks)})" if marks else shown


def failed_models(record: Record) -> dict[str, list[str]]:
    """Return the reasons why a model's numbers do not show bias, by label; empty if every model is sound."""
    found: dict[str, list[str]] = {}
    for note in record.notes:
        if note.mark == SAYS_NOTHING and note.text not in found.setdefault(note.phase, []):
            found[note.phase].append(note.text)
    return found


def said_of_training(record: Record) -> list[str]:
    """Return warnings about a run's training that qualify its changes; empty if the training is sound."""
    notes = [note for note in record.notes if note.benchmark == TRAINING and note.mark != SAYS_NOTHING]
    return list(dict.fromkeys(note.text for note in notes))


def is_spoiled(marks: Sequence[str]) -> bool:
    """Return whether a mark says that a model did not train, is at chance, or fails the check of its behaviour."""
    return any(mark.startswith((UNTRAINED, CHANCE, SAYS_NOTHING, COLLAPSED)) for mark in marks)


def is_untrained(mark: str) -> bool:
    """Return whether a mark says that a model did not train, or is at chance on its own task."""
    return mark.startswith((UNTRAINED, CHANCE))
