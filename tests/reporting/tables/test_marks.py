"""A method that did not train is marked wherever its readings stand."""

import pytest

from fairlab.record import Note, Reading, Record
from fairlab.reporting.many_runs.reproduction import Matrix, Table, TableRow, cells, shown_cell
from fairlab.reporting.many_runs.sweep import choices_of, write_sweep
from fairlab.reporting.report import write_report
from fairlab.reporting.summary import summary_lines
from fairlab.reporting.tables.grouping import FEW_ITEMS
from fairlab.reporting.tables.marks import CHANCE, UNTRAINED, marked, marks_beside, training_notes

KEY = "after/stsb/dev/spearman"
STILL = [{"step": k, "train/loss": 1.1e-5} for k in range(40)]
FALLING = [{"step": k, "train/loss": 1.0 - k / 50} for k in range(40)]


def reading(phase, seed=1):
    return Reading("stsb", "dev", "spearman", 50.0, "u", 100.0, 9, 40.0, 60.0, headline=True, phase=phase, seed=seed)


def run(folder, history, seed=1):
    folder.mkdir(parents=True)
    config = {"seed": seed, "scale": {"name": "quickstart"}, "method": {"_target_": "a.b.C"}, "benchmark": {}}
    config["backbone"] = {"name": "tiny", "stands_for": ""}
    record = Record(folder, config, f"python -m fairlab.train seed={seed}", status="finished", history=history)
    record.readings = [reading("before", seed), reading("after", seed)]
    record.save()
    return record


def test_only_what_came_after_training_is_marked(tmp_path):
    record = run(tmp_path / "a", STILL)
    record.notes = training_notes(record)
    assert [note.mark for note in record.notes] == [UNTRAINED]
    before, after = record.readings
    assert marks_beside(record, before) == []
    assert marks_beside(record, after) == [UNTRAINED]
    assert any(line.startswith("STS-B") and line.endswith(f"({UNTRAINED})") for line in summary_lines(record))
    page = write_report(record).read_text(encoding="utf-8")
    assert f"too few for an interval\n({UNTRAINED})</" in page
    assert "training (after): the loss did not fall" in page or "training: the loss did not fall" in page
    assert training_notes(run(tmp_path / "b", FALLING)) == []


def test_a_record_saved_without_the_note_is_marked_all_the_same(tmp_path):
    run(tmp_path / "a", STILL)
    record = Record.load(tmp_path / "a")
    assert record.notes == []
    assert marks_beside(record, record.readings[1]) == [UNTRAINED]


def test_a_sweep_says_in_how_many_runs(tmp_path):
    records = [run(tmp_path / str(k), STILL if k < 2 else FALLING, seed=k) for k in range(3)]
    (choice,) = choices_of(records, [KEY])
    assert choice.points[KEY].marks == (f"{UNTRAINED} in 2 of 3 runs", FEW_ITEMS)
    page = write_sweep(tmp_path, records, [KEY]).read_text(encoding="utf-8")
    assert f"({UNTRAINED} in 2 of 3 runs) " in " ".join(page.split())
    (alone,) = choices_of(records[:1], [KEY])
    assert alone.points[KEY].marks == (UNTRAINED, FEW_ITEMS)


def test_a_table_of_a_paper_says_so_too(tmp_path):
    record = run(tmp_path / "a", STILL)
    table = Table("1", "t", "w", "s", ["stsb/dev/spearman"], [TableRow("x", "one")], {})
    matrix = Matrix("p", "quickstart", [1], {"one": []}, {}, {"1": table}, "", {}, frozenset())
    ((cell,),) = cells(table, matrix, {"one": {1: record}})
    assert cell.marks == (UNTRAINED,)
    assert shown_cell(cell).endswith(f"({UNTRAINED})")


def test_a_classifier_at_chance_is_marked(tmp_path):
    record = run(tmp_path / "a", [*FALLING, {"step": 40, "validation/accuracy": 0.5}])
    record.provenance["data"] = {"validation_labels": {"yes": 50, "no": 50}, "validation_examples": 100}
    assert [note.mark for note in training_notes(record)] == [CHANCE]


@pytest.mark.parametrize(("marks", "shown"), [([], "5"), (["a"], "5 (a)"), (["a", "b"], "5 (a; b)")])
def test_a_number_with_its_marks(marks, shown):
    assert marked("5", marks) == shown


def test_a_note_marks_its_own_benchmark_subset_and_phase():
    note = Note("stsb", "x", phase="after", mark="m")
    assert note.marks(reading("after"))
    assert not note.marks(reading("before"))
    assert not Note("seat", "x", mark="m").marks(reading("after"))
    assert not Note("stsb", "x", subset="test", mark="m").marks(reading("after"))
    assert not Note("stsb", "x").marks(reading("after"))
