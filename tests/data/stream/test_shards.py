import json
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from fairlab.data.stream import shards
from fairlab.data.stream.formats import BadRow
from fairlab.data.stream.shards import cut, json_line, make_shards
from fairlab.types import FairlabError, Made, Row


class Upper:
    """Doubles rows of even length and rejects the others."""

    def make(self, rows):
        return [
            Made(rows=({"id": row.id, "text": row.text.upper()},) * 2, counts={"doubled": 1})
            if len(row.text) % 2 == 0
            else Made(reason="odd", detail=str(len(row.text)), versions={"x": "y"})
            for row in rows
        ]


def items(count):
    rows = [Row(f"r{k}", "x" * (k + 1), {}, f"line {k}", k) for k in range(count)]
    return [*rows[:1], BadRow("line 9", "broken", "?"), *rows[1:]]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_row_ends_somewhere(tmp_path):
    first, second = make_shards(items(4), Upper, tmp_path, shard_rows=3)
    assert first["counts"] == {"doubled": 1, "rows that cannot be read": 1}
    assert second["reasons"] == {"odd": 1}
    assert [row["text"] for row in lines(tmp_path / "data-00000.jsonl")] == ["XX", "XX"]
    (reject,) = lines(tmp_path / "rejected-00001.jsonl")
    assert reject == {
        "id": "r2", "place": "line 2", "reason": "odd", "detail": "3", "text": "xxx", "versions": {"x": "y"}
    }  # fmt: skip
    bad = {"place": "line 9", "reason": "broken", "content": "?"}
    assert lines(tmp_path / "shards" / "00000.quarantine.jsonl") == [bad]
    assert not (tmp_path / "shards" / "00001.quarantine.jsonl").exists()


def test_a_shard_holds_so_many_rows_or_characters(tmp_path, monkeypatch):
    assert [len(task.items) for task in cut(items(6), tmp_path, 3)] == [3, 3, 1]
    monkeypatch.setattr(shards, "MOST_CHARACTERS", 6)
    assert [len(task.items) for task in cut(items(6), tmp_path, 100)] == [4, 1, 1, 1]
    rows = [Row(str(k), "x" * length, {}, "", k) for k, length in enumerate((6, 3, 3))]
    assert [len(task.items) for task in cut(rows, tmp_path, 100)] == [1, 2]
    assert list(cut([], tmp_path, 3)) == []


def test_a_split_is_kept_with_what_cannot_be_read(tmp_path):
    rows = [Row("1", "xx", {}, "line 1", 1, split="test"), BadRow("line 2", "broken", "?", split="test")]
    list(make_shards(rows, Upper, tmp_path, shard_rows=3))
    assert [row["split"] for row in lines(tmp_path / "shards" / "00000.quarantine.jsonl")] == ["test"]
    assert len(lines(tmp_path / "data-test-00000.jsonl")) == 2


def test_lines_are_json_as_it_reads():
    assert json_line({"a": "é"}) == '{"a": "é"}\n'
    assert json_line({"a": float("nan"), "b": [1]}) == '{"a": null, "b": [1]}\n'


def test_two_shards_per_process_are_read_in_advance():
    drawn = []
    given = shards.drawn_ahead((drawn.append(k) or k for k in range(9)), 3)
    assert next(given) == 0
    assert len(drawn) == 7
    assert list(given) == list(range(1, 9))


def test_half_a_surrogate_pair_in_another_field_is_written(tmp_path):
    class Same:
        def make(self, rows):
            return [Made(rows=({"text": row.text, **row.extra},)) for row in rows]

    list(make_shards([Row("1", "é", {"note": "\ud83d"}, "line 1", 1)], Same, tmp_path, shard_rows=3))
    assert lines(tmp_path / "data-00000.jsonl") == [{"text": "é", "note": "\ud83d"}]


def test_an_error_in_a_shard_leaves_the_finished_ones(tmp_path):
    class Failing(Upper):
        def make(self, rows):
            if rows[0].id == "r5":
                raise FairlabError("no more")
            return super().make(rows)

    with pytest.raises(FairlabError, match="no more"):
        list(make_shards(items(8), Failing, tmp_path, shard_rows=3))
    assert sorted(path.name for path in (tmp_path / "shards").glob("*.json")) == ["00000.json", "00001.json"]
    assert len(list(make_shards(items(8), Upper, tmp_path, shard_rows=3))) == 3


def in_a_thread(monkeypatch):
    """Let a thread stand in for processes from now on, and note how many are asked for."""
    asked = []

    def pool(count, _, start, arguments):
        asked.append(count)
        return ThreadPoolExecutor(1, initializer=start, initargs=arguments)

    monkeypatch.setattr(shards, "ProcessPoolExecutor", pool)
    monkeypatch.setattr(shards, "end_with_parent", lambda: None)
    monkeypatch.setattr(shards, "_built", None)
    return asked


def test_workers_make_only_the_shards_that_are_missing_as_here(tmp_path, monkeypatch):
    workers, made = in_a_thread(monkeypatch), []
    plain = shards.make_shard
    monkeypatch.setattr(shards, "make_shard", lambda task, *given: made.append(task.number) or plain(task, *given))
    over = list(make_shards(items(8), Upper, tmp_path / "workers", shard_rows=3, num_proc=2))
    assert over == list(make_shards(items(8), Upper, tmp_path / "here", shard_rows=3))
    (tmp_path / "workers" / "shards" / "00001.json").unlink()
    assert list(make_shards(items(8), Upper, tmp_path / "workers", shard_rows=3, num_proc=3)) == over
    assert (workers, made) == ([2, 3], [0, 1, 2, 0, 1, 2, 1])


def test_a_worker_ends_with_its_parent(monkeypatch):
    steps = []
    monkeypatch.setattr(shards, "parent_process", lambda: SimpleNamespace(join=lambda: steps.append("ended")))
    monkeypatch.setattr(shards.os, "_exit", steps.append)
    shards._wait_for_parent()
    assert steps == ["ended", 1]


GROWTH = """
import pathlib, sys
from fairlab.benchmarks.stages import Stage, timed
from fairlab.data.stream.rows import read_rows
from fairlab.data.stream.shards import make_shards
from fairlab.types import Made

class Same:
    def make(self, rows):
        return [Made(rows=({"text": row.text},)) for row in rows]

with timed(taken := Stage()):
    for _ in make_shards(read_rows(sys.argv[1]), Same, pathlib.Path(sys.argv[2]), shard_rows=2000):
        pass
print(taken.peak_bytes // 2**20)
"""


@pytest.mark.slow
@pytest.mark.long
def test_memory_does_not_grow_with_the_input(tmp_path):
    """Ten times as much input, at most 20 MB more: what is held is a shard."""
    peaks = []
    for size in (20, 200):
        path = tmp_path / f"{size}.txt"
        with path.open("w") as file:
            for k in range(size * 5000):
                file.write(f"{k} " + "She saw the river. " * 10 + "\n")
        command = [sys.executable, "-c", textwrap.dedent(GROWTH), str(path), str(tmp_path / f"out{size}")]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] - peaks[0] < 20


class Call:
    """Call of an actor that was begun: the second at which it ends, and its result."""

    def __init__(self, end, result):
        self.end, self.result = end, result


class FakeActor:
    def __init__(self, ray, worker):
        self.ray, self.worker, self.free = ray, worker, 0
        self.ready, self.make = (
            SimpleNamespace(remote=lambda: Call(0, worker.ready)),
            SimpleNamespace(remote=self.begin),
        )

    def begin(self, task):
        self.free = max(self.ray.now, self.free) + len(task.items)
        return Call(self.free, lambda: self.worker.make(task))


class FakeRay:
    """Stands in for the module ``ray``. Each actor makes one shard at a time, in as many seconds as a shard has rows.

    Attributes:
        now: Time on a clock of its own, in seconds.
        at_once: Greatest number of shards that were being made.
        killed: Whether an actor is killed while it makes a shard.
    """

    def __init__(self, killed=False):
        self.now, self.at_once, self.killed = 0, 0, killed
        errors = {name: type(name, (Exception,), {}) for name in ("RayTaskError", "RayActorError")}
        self.exceptions = SimpleNamespace(**errors)

    def remote(self, *, num_cpus):
        assert num_cpus == 1
        return lambda cls: SimpleNamespace(remote=lambda *given: FakeActor(self, cls(*given)))

    def wait(self, waiting):
        first = min(waiting, key=lambda one: one.end)
        self.at_once = max(self.at_once, sum(one.end > self.now for one in waiting))
        self.now = max(self.now, first.end)
        return [first], [one for one in waiting if one is not first]

    def get(self, one):
        if self.killed and one.end > 0:
            raise self.exceptions.RayActorError("died")
        try:
            return one.result()
        except FairlabError as error:
            wrapped = self.exceptions.RayTaskError("a long traceback")
            wrapped.cause = error
            raise wrapped from error


def as_ray(monkeypatch, fake):
    monkeypatch.setattr(shards, "need_extra", lambda *_: None)
    monkeypatch.setitem(sys.modules, "ray", fake)
    return fake


def in_splits(*lengths):
    """Return rows of one split per shard."""
    return [
        Row(str(k), "x" * k, {}, f"line {k}", k, split=str(s))
        for s, length in enumerate(lengths)
        for k in range(length)
    ]


def test_ray_does_not_wait_for_a_slow_shard_before_it_begins_others(tmp_path, monkeypatch):
    fake = as_ray(monkeypatch, FakeRay())
    rows = in_splits(6, 1, 1, 2, 1, 1)  # seconds: one worker makes the first shard, the other one all others
    over = list(make_shards(rows, Upper, tmp_path / "ray", shard_rows=9, num_proc=2, engine="ray"))
    assert fake.now == 6  # in blocks of two shards, it would take 6 + 2 + 1 seconds
    assert fake.at_once == 2
    assert [one["read"] for one in over] == [6, 1, 1, 2, 1, 1]
    assert over == list(make_shards(rows, Upper, tmp_path / "local", shard_rows=9))
    made, local = (
        {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*.json*")}
        for folder in (tmp_path / "ray", tmp_path / "local")
    )
    assert made == local != {}


def test_ray_makes_only_the_shards_that_are_missing(tmp_path, monkeypatch):
    fake = as_ray(monkeypatch, FakeRay())
    rows = in_splits(3, 2, 1)
    before = list(make_shards(rows, Upper, tmp_path, shard_rows=9))
    (tmp_path / "shards" / "00001.json").unlink()
    assert list(make_shards(rows, Upper, tmp_path, shard_rows=9, num_proc=2, engine="ray")) == before
    assert fake.now == 2


def test_errors_on_ray_are_one_sentence(tmp_path, monkeypatch):
    class Broken:
        def make(self, rows):
            raise FairlabError("the text is broken; mend it")

    as_ray(monkeypatch, FakeRay())
    with pytest.raises(FairlabError, match=r"^the text is broken; mend it$"):
        list(make_shards(items(3), Broken, tmp_path, shard_rows=2, engine="ray"))
    as_ray(monkeypatch, FakeRay(killed=True))
    with pytest.raises(FairlabError, match="one of Ray's num_proc=2 workers was killed"):
        list(make_shards(items(3), Upper, tmp_path, shard_rows=2, num_proc=2, engine="ray"))
