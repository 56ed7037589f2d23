"""What is wrong with a training is in the report's verdict, whatever the verdict is."""

import pytest

from fairlab.record import SAYS_NOTHING, TRAINING, Note, Reading, Record
from fairlab.reporting.report import _verdict

READING = Reading("one", "all", "gap", 0.1, "points", 0.0, 8, 0.0, 0.2, phase="after", headline=True)
TEXT = "the 12 training groups are only 1 distinct groups, repeated"


@pytest.mark.parametrize("failed", [True, False])
def test_a_warning_about_training_is_told_once(tmp_path, failed):
    notes = [Note(TRAINING, TEXT, phase="after", mark="trained on equal groups")]
    broken = "these numbers say nothing about bias: random"
    notes += [Note(name, broken, phase="after", mark=SAYS_NOTHING) for name in ("one", TRAINING)] if failed else []
    found = _verdict(Record(tmp_path, {}, "", readings=[READING], notes=notes))
    assert found.lines.count(f"About the training: {TEXT}.") == 1
    assert found.lines.count(broken) == failed
