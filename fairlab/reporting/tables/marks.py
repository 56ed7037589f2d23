"""What must stand beside the readings of a model whose training did nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairlab.metrics.convergence import at_chance, too_short, unlearned
from fairlab.record import SAYS_NOTHING, TRAINING, Note, Reading, Record

UNTRAINED, CHANCE = "did not train", "at chance on its validation data"


def training_notes(record: Record) -> list[Note]:
    """Return notes on a training that says nothing: its loss did not fall, or it is too short to tell.

    So is a classifier that is no better than a guess. A method without steps, such as a projection, has no loss and
    gets no note.
    """
    data = record.provenance.get("data", {})
    guessed = at_chance(record.history, data.get("validation_labels", {}), data.get("validation_examples", 0))
    found = {UNTRAINED: unlearned(record.history), CHANCE: guessed}
    notes = [Note(TRAINING, text, phase="after", mark=mark) for mark, text in found.items() if text]
    return notes + ([Note(TRAINING, short, phase="after")] if (short := too_short(record.history)) else [])


def marks_beside(record: Record, reading: Reading) -> list[str]:
    """What must be said beside a reading, by the record's notes and, for records that are older, by its history."""
    own = record.marks(reading)
    return own + [note.mark for note in training_notes(record) if note.marks(reading) and note.mark not in own]


def marks_of_runs(runs: Sequence[tuple[Record, Reading]]) -> tuple[str, ...]:
    """What must be said beside a mean over runs, and of how many of them."""
    counts = Counter(mark for record, reading in runs for mark in marks_beside(record, reading))
    return tuple(mark if n == len(runs) else f"{mark} in {n} of {len(runs)} runs" for mark, n in counts.items())


def marked(shown: str, marks: Sequence[str]) -> str:
    """A number as it is shown, with what must be said beside it."""
    return f"{shown} ({'; '.join(marks)})" if marks else shown


def failed_models(record: Record) -> dict[str, list[str]]:
    """Return why the numbers of a run's models say nothing of bias, by label; empty if every model is sound."""
    found: dict[str, list[str]] = {}
    for note in record.notes:
        if note.mark == SAYS_NOTHING and note.text not in found.setdefault(note.phase, []):
            found[note.phase].append(note.text)
    return found


def said_of_training(record: Record) -> list[str]:
    """Return what must be said of a run's training before its changes are believed; empty of a sound one."""
    return list(dict.fromkeys(note.text for note in record.notes if note.benchmark == TRAINING))
