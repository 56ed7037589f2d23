"""What a run measures, with which earlier values, and what it says of it."""

import numpy as np
import pytest

from fairlab.backbones.backbone import Backbone
from fairlab.benchmarks.kept_items import items_file
from fairlab.benchmarks.runner import gate, measure, measure_models, take
from fairlab.benchmarks.validity import Validity
from fairlab.record import Comparison, Note, NotRun, Outcome, Reading, Record
from fairlab.types import Description, FairlabError


class Scores:
    """A benchmark that says whether it was given values of an earlier model, and embeds one text."""

    name, version = "scores", 3

    def __init__(self, needs=("embeddings",), text="a boat"):
        self.description = Description("scores", "Scores", "?", {}, needs=needs)
        self.text, self.given = text, []

    def measure(self, backbone, before=None):
        self.given.append(before)
        backbone.embed([self.text])
        place = (self.name, "all", "gap")
        compared = [Comparison(*place, 0.0, "u", 0, 0, 0.04, 2, headline=True)] if before else []
        items = {"values": np.array([1.0, 2.0])}
        return Outcome([Reading(*place, 1.5, "u", 0.0, 2, 1, 2)], comparisons=compared, items=items)


@pytest.fixture
def record(tmp_path):
    made = Record(tmp_path / "run", {"seed": 5, "benchmark": {}, "backbone": {"name": "b"}}, "")
    made.folder.mkdir()
    made.provenance = {"revision": "r", "weights": {"sha256": "w"}}
    return made


def test_later_models_are_compared_with_the_first(tiny, record):
    benchmark = Scores()
    other = Backbone(tiny.model, tiny.tokenizer, pooling="cls", max_length=16, normalize=False)
    measure_models([benchmark], [("a", tiny), ("b", other)], record)
    first, second = benchmark.given
    assert first is None
    assert second["values"].tolist() == [1, 2]
    assert [(one.phase, one.seed, one.version) for one in record.readings] == [("a", 5, 3), ("b", 5, 3)]
    (change,) = record.comparisons
    assert (change.phase, change.p_holm) == ("b less a", 0.04)
    assert [note.benchmark for note in record.notes if "same weights" in note.text] == ["weights"]


@pytest.mark.parametrize(
    ("needs", "phase", "measured"),
    [(("labels",), "before", True), (("labels",), "after", False), (("texts",), "before", False)],
)
def test_a_head_that_training_adds_is_not_missed_before_it(tiny, record, needs, phase, measured):
    measure([Scores(needs)], tiny, phase, record)
    assert bool(record.readings) == measured
    assert [(one.phase, one.subset) for one in record.not_run] == ([] if measured else [(phase, "all")])


def test_damaged_items_are_measured_again_and_cut_texts_counted(tiny, record):
    tiny.max_length = 30
    benchmark = Scores(text="boat " * 40)
    for _ in range(2):
        measure([benchmark], tiny, "before", record)
    assert len(benchmark.given) == 1
    assert sum("1 texts were cut at max_length=30" in note.text for note in record.notes) == 1
    items_file(record.folder, "before", "scores").write_bytes(b"{")
    measure([benchmark], tiny, "before", record)
    assert len(benchmark.given) == 2
    assert sum("was damaged" in note.text for note in record.notes) == 1
    assert len(record.readings) == 1


def test_an_ensemble_passes_the_gate(record):
    assert gate(object(), "", record) == Validity()
    assert "validity" not in record.provenance


def other_run(folder, record):
    """A finished run of the same model with readings of two phases."""
    made = Record(folder, dict(record.config) | {"seed": 1}, "", "finished")
    place = ("scores", "all", "gap")
    made.readings = [
        Reading(*place, k, "u", 0.0, 2, 1, 2, phase=phase, seed=1) for k, phase in enumerate(("before", "after"))
    ]
    made.not_run = [NotRun("b", "s", "r", phase="before"), NotRun("b", "s", "r", phase="after")]
    made.notes = [Note("b", "t", phase="before"), Note("b", "t", phase="after"), Note("b", "t", item="7")]
    made.provenance = {"revision": "q", "weights": {"sha256": "w"}}
    made.provenance["benchmarks"] = {"scores": {"version": 1, "files": {}}, "more": {"version": 1, "files": {}}}
    file = items_file(folder, "before", "scores")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x")
    made.save()
    return made


def test_a_phase_is_taken_from_another_run_with_its_notes_and_values(record, tmp_path):
    other = other_run(tmp_path / "other", record)
    for _ in range(2):  # the second time it is there
        take("before", other.folder, record, {"scores": 1})
    assert [(one.value, one.phase, one.seed) for one in record.readings] == [(0, "before", 5)]
    assert [one.phase for one in record.not_run] == ["before"]
    assert [(one.phase, one.item) for one in record.notes] == [("before", ""), ("", "7")]
    assert items_file(record.folder, "before", "scores").read_bytes() == b"x"
    assert list(record.provenance["benchmarks"]) == ["scores"]
    assert record.provenance["before_taken_from"] == {"folder": str(other.folder), "revision": "q"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda other: setattr(other, "status", "failed"), "is failed; finish it first"),
        (lambda other: other.config.update(backbone={"name": "c"}), "has a different backbone"),
        (lambda other: other.config.update(benchmark={"a": {"b": 1}}), "has a different benchmark"),
        (lambda other: other.provenance.update(weights={"sha256": "v"}), "measured other weights"),
        (lambda other: items_file(other.folder, "before", "scores").unlink(), "holds no run with its items"),
    ],
)
def test_a_run_of_something_else_is_not_taken(record, tmp_path, change, said):
    other = other_run(tmp_path / "other", record)
    change(other)
    other.save()
    if "no run" in said:
        items_file(other.folder, "before", "scores").parent.rmdir()
    with pytest.raises(FairlabError, match=said):
        take("before", other.folder, record, {"scores": 1})
    assert not record.readings
