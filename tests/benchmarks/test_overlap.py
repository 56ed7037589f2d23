"""Measured on what was trained on: said at the reading, on the first page and in the summary."""

from dataclasses import replace

import pytest

from fairlab.benchmarks.cced import CCED
from fairlab.benchmarks.overlap import MARK, overlap_notes
from fairlab.benchmarks.runner import measure
from fairlab.record import SAYS_NOTHING, Record
from fairlab.reporting.report import write_report
from fairlab.reporting.summary import summary_lines
from fairlab.text.fingerprints import Fingerprints
from tests.conftest import make_groups, row, write_rows


def of(texts):
    found = Fingerprints()
    found.add(texts)
    return found


def test_a_note_counts_what_is_shared():
    trained = of([f"text number {k}" for k in range(100)])
    assert overlap_notes("stsb", of(["something else entirely"]), trained) == []
    (note,) = overlap_notes("stsb", of([f"text number {k}" for k in range(95, 145)]), trained)
    assert note.text.startswith("5 of 50 texts of this benchmark were also trained on")
    assert note.mark == MARK
    (few,) = overlap_notes("stsb", of([f"text number {k}" for k in range(99, 300)]), trained)
    assert few.text.startswith("1 of 201 texts")
    assert few.mark == ""
    (hundredth,) = overlap_notes("stsb", of([f"text number {k}" for k in range(99, 199)]), trained)
    assert hundredth.mark == MARK


@pytest.mark.parametrize("sampled", ["shown", "trained", "both"])
def test_a_sample_is_said_to_be_one(sampled):
    texts = [f"text number {k}" for k in range(100)]
    shown, trained = (Fingerprints(50 if sampled in (name, "both") else 1000) for name in ("shown", "trained"))
    shown.add(texts)
    trained.add(texts)
    (note,) = overlap_notes("stsb", shown, trained)
    assert note.text.startswith("50 of 50 texts of a sample of this benchmark")


@pytest.fixture
def record(tmp_path):
    (tmp_path / "run").mkdir()
    return Record(tmp_path / "run", {"seed": 0, "model": "x", "benchmark": {"cced": {"sets": []}}}, "command")


def test_a_benchmark_on_the_training_file(tiny, tmp_path, record):
    groups = make_groups(40)
    mine = write_rows(tmp_path / "mine.jsonl", [row(group) for group in groups[:10]])
    trained = of(text for group in groups for text in group.texts)
    measure([CCED([mine])], tiny, "", record, trained_on=trained)
    gap = next(reading for reading in record.readings if reading.quantity == "gap")
    assert record.marks(gap) == [MARK, SAYS_NOTHING]  # the model is random
    assert any(line.startswith("note: cced: 30 of 30 texts") for line in summary_lines(record))
    assert any(
        line.startswith("CCED gap") and line.endswith(f"({MARK}; {SAYS_NOTHING})") for line in summary_lines(record)
    )
    page = write_report(record).read_text(encoding="utf-8")
    first, _, rest = page.partition("<h2>Readings</h2>")
    assert "30 of 30 texts of this benchmark were also trained on" in first
    assert f"({MARK})\n({SAYS_NOTHING})</" in rest.partition("<h2>Notes</h2>")[0]


def test_other_texts_get_no_note(tiny, tmp_path, record):
    groups = make_groups(40)
    mine = write_rows(tmp_path / "mine.jsonl", [row(group) for group in groups[:10]])
    measure([CCED([mine])], tiny, "", record, trained_on=of(text for group in groups[10:] for text in group.texts))
    assert [note for note in record.notes if note.mark != SAYS_NOTHING] == []  # the model is random


def test_a_text_is_embedded_once_over_all_benchmarks_and_told_of_in_each(tiny, tmp_path, record):
    groups = make_groups(40)
    mine = write_rows(tmp_path / "mine.jsonl", [row(group) for group in groups[:10]])
    more = write_rows(tmp_path / "more.jsonl", [row(group) for group in groups[:12]])
    second = CCED([more])
    second.description = replace(CCED.description, name="again")
    rows = []
    tiny.transformer.register_forward_pre_hook(lambda _, __, given: rows.extend(given["input_ids"]), with_kwargs=True)
    trained = of(text for group in groups for text in group.texts)
    measure([CCED([mine])], tiny, "alone", record, trained_on=trained)
    alone = len(rows)
    rows.clear()
    measure([CCED([mine]), second], tiny, "both", record, trained_on=trained)
    new = {text for group in groups[:12] for text in group.texts} - {t for g in groups[:10] for t in g.texts}
    assert len(rows) == alone + len(new)
    again = [note for note in record.notes if note.benchmark == "again" and note.mark != SAYS_NOTHING]
    assert [note.text[:8] for note in again] == ["36 of 36"]
