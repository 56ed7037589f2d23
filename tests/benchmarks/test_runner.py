"""What a run measures, with which earlier values, and what it says of it."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, local
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest

from fairlab.backbones.backbone import Backbone
from fairlab.backbones.model_object import Limit, ModelObject
from fairlab.benchmarks import runner
from fairlab.benchmarks.kept_items import items_file, keep_texts, kept_texts
from fairlab.benchmarks.runner import gate, measure, measure_models, take
from fairlab.benchmarks.validity import Validity
from fairlab.protocols import Benchmark
from fairlab.record import Comparison, Note, NotRun, Outcome, Reading, Record
from fairlab.types import Description, FairlabError, ItemTexts


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


@pytest.mark.parametrize(
    ("limit", "cut"), [(Limit(2, lambda texts: [len(text.split()) for text in texts]), 1), (None, 0)]
)
def test_texts_that_an_object_cuts_are_counted_if_it_says_where(record, limit, cut):
    model = ModelObject("m", lambda texts: [[crc32(text.encode()) % 97, len(text), 1] for text in texts], limit=limit)
    measure([Scores(text="an old boat")], model, "before", record)
    assert sum("1 texts were cut at max_length=2" in note.text for note in record.notes) == cut
    assert len(record.readings) == 1


def test_files_that_the_configuration_names_are_hashed(tiny, record, tmp_path):
    (tmp_path / "set.txt").write_text("one")
    record.config["benchmark"] = {"scores": {"path": str(tmp_path / "set.txt")}}
    measure([Scores()], tiny, "before", record)
    assert list(record.provenance["benchmarks"]["scores"]["files"]) == [str(tmp_path / "set.txt")]
    record.config["benchmark"] = None
    measure([Scores()], tiny, "after", record)
    assert record.provenance["benchmarks"]["scores"]["files"] == {}


def test_what_another_version_measured_is_measured_again_in_this_phase_alone(tiny, record):
    def old(name, phase):
        return Reading(name, "all", "gap", 1.5, "u", 0.0, 2, 1, 2, phase=phase, version=2)

    record.readings = [old("scores", "before"), old("gone", "before"), old("scores", "after")]
    benchmark = Scores()
    for _ in range(2):
        measure([benchmark], tiny, "before", record)  # whose items are gone at first
    assert len(benchmark.given) == 1
    found = {(one.benchmark, one.phase): one.version for one in record.readings}
    assert found == {("scores", "before"): 3, ("gone", "before"): 2, ("scores", "after"): 2}


def test_processes_divide_the_benchmarks(record, tmp_path, monkeypatch):
    exchanged, barrier, process = [None, None], Barrier(2, timeout=5), local()
    ran, shown = [], []

    def gather(value):
        exchanged[process.rank] = value
        barrier.wait()
        found = list(exchanged)
        barrier.wait()
        return found

    def measured(name):
        ran.append((name, process.rank))
        return Outcome([Reading(name, "all", "gap", 1.5, "u", 0.0, 2, 1, 2)])

    parts = {"rank": lambda: process.rank, "ranks": lambda: 2, "gather_over_ranks": gather}
    parts["steps"] = lambda blocks, title: shown.append((process.rank, blocks)) or blocks
    for name, part in parts.items():
        monkeypatch.setattr(runner, name, part)
    tasks = {name: partial(measured, name) for name in "abc"}
    records = [record, Record(tmp_path / "second", record.config, "")]

    def run(rank):
        process.rank = rank
        runner._keep(tasks, {name: SimpleNamespace(name=name, version=1) for name in tasks}, "before", records[rank])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(2)))
    assert sorted(ran) == [("a", 0), ("b", 1), ("c", 0)]
    assert shown == [(0, ["a, b", "c"])]
    assert [[one.benchmark for one in one.readings] for one in records] == [["a", "b", "c"]] * 2


def test_texts_of_benchmarks_from_outside_alone_are_kept(tmp_path):
    class Mine(Benchmark):
        description, version = Description("mine", "Mine", "?", {}), 1

        def texts(self):
            return parts

        def measure(self, backbone, before=None):
            raise NotImplementedError

    parts = [ItemTexts("values", ["v"], ["1", "2"], [["ein Buch"], ["zwei Bücher"]])]
    own = type("Mine", (Mine,), {"__module__": "fairlab.benchmarks.mine"})()
    (tmp_path / "items").mkdir()
    for benchmark, kept in ((own, []), (Scores(), []), (Mine(), parts)):
        keep_texts(benchmark, tmp_path)
        assert kept_texts(tmp_path, "mine") == kept_texts(tmp_path, "scores") + kept
    assert "Bücher" in (tmp_path / "items" / "mine.texts.json").read_text(encoding="utf-8")


def test_an_ensemble_passes_the_gate(record):
    assert gate(object(), "", record) == Validity()
    assert "validity" not in record.provenance


def other_run(folder, record):
    """A finished run of the same model with readings of two phases."""
    made = Record(folder, dict(record.config) | {"seed": 1}, "", "finished")
    place = ("scores", "all", "gap")
    made.readings = [
        Reading(*place, k, "u", 0.0, 2, 1, 2, phase=phase, seed=1)
        for k, (phase, place) in enumerate({"before": place, "after": ("more", "all", "gap")}.items())
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
    items_file(record.folder, "before", "").parent.mkdir(parents=True)  # of a run that was killed
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
