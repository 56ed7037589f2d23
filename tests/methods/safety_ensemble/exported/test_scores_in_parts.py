"""Scores in parts: nothing is scored twice, and what has changed is refused."""

from __future__ import annotations

import json
import shutil

import pytest
from filelock import FileLock

from fairlab.data.stream.formats import BadRow
from fairlab.methods.safety_ensemble.exported.scores_in_parts import Parts
from fairlab.types import FairlabError, Row


def rows(count, text="text {}"):
    return [Row(str(k), text.format(k), {"user": f"u{k}"}, f"line {k}", k) for k in range(1, count + 1)]


class Counting:
    """Scores by length, and notes what it scored; ends before a text."""

    def __init__(self, ends_at=None):
        self.seen, self.ends_at = [], ends_at

    def __call__(self, texts):
        if self.ends_at in texts:
            raise KeyboardInterrupt
        self.seen += texts
        return [{"hate": float(len(text))} for text in texts]


def parts(folder, model="m", **more):
    return Parts(folder / "scores.jsonl", {"model": model}, **{"keep": ["user"], "part_rows": 2} | more)


def begun(folder, items):
    """Scores that were ended after two parts."""
    scorer = Counting(ends_at=items[4].text)
    with pytest.raises(KeyboardInterrupt):
        parts(folder).finish(items, lambda: scorer, num_proc=1)
    assert not (folder / "scores.jsonl").exists()
    return scorer


def test_no_row_is_scored_twice(tmp_path):
    items = [*rows(6), BadRow("line 7", "not JSON", "{")]
    first, second, whole = begun(tmp_path, items), Counting(), Counting()
    work = parts(tmp_path)
    finished = work.finish(items, lambda: second, num_proc=1)
    assert first.seen == ["text 1", "text 2", "text 3", "text 4"]
    assert second.seen == ["text 5", "text 6"]
    assert work.went_on == 2
    assert [(one["rows"], one["bad"]) for one in finished] == [(2, 0), (2, 0), (2, 0), (1, 1)]
    lines = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert lines[0] == {"id": "1", "user": "u1", "hate": 6.0}
    assert [line["id"] for line in lines] == ["1", "2", "3", "4", "5", "6", "line 7"]
    assert lines[-1]["error"] == "not JSON"
    assert [path.name for path in tmp_path.iterdir()] == ["scores.jsonl"]
    parts(tmp_path / "other").finish(items, lambda: whole, num_proc=1)
    assert (tmp_path / "other" / "scores.jsonl").read_bytes() == (tmp_path / "scores.jsonl").read_bytes()


@pytest.mark.parametrize("items", [rows(6, "other {}"), rows(2), []])
def test_an_input_that_changed_is_refused(tmp_path, items):
    begun(tmp_path, rows(6))
    with pytest.raises(FairlabError, match="the input has changed since its scores were started"):
        parts(tmp_path).finish(items, Counting, num_proc=1)
    assert not (tmp_path / "scores.jsonl").exists()


@pytest.mark.parametrize(
    ("change", "name"), [({"model": "n"}, "model"), ({"keep": []}, "keep"), ({"part_rows": 3}, "part_rows")]
)
def test_scores_begun_with_other_settings_are_refused(tmp_path, change, name):
    begun(tmp_path, rows(6))
    with pytest.raises(FairlabError, match=f"were started with another {name}; give another output"):
        parts(tmp_path, **change).finish(rows(6), Counting, num_proc=1)


def test_a_part_that_a_disk_lost_is_scored_again(tmp_path):
    begun(tmp_path, rows(6))
    (tmp_path / "scores.jsonl.parts" / "00000.jsonl").write_text("")
    scorer = Counting()
    parts(tmp_path).finish(rows(6), lambda: scorer, num_proc=1)
    assert scorer.seen == ["text 1", "text 2", "text 5", "text 6"]
    assert len((tmp_path / "scores.jsonl").read_text().splitlines()) == 6


def test_a_second_process_and_a_missing_column_are_refused(tmp_path):
    with pytest.raises(FairlabError, match="line 1 has no column 'age' to keep; next to text and id it has: user"):
        parts(tmp_path, keep=["age"]).finish(rows(1), Counting, num_proc=1)
    assert not list(tmp_path.iterdir())
    work = parts(tmp_path)
    work.folder.mkdir()
    with FileLock(work.folder / ".lock"), pytest.raises(FairlabError, match="another process is writing"):
        work.finish(rows(1), Counting, num_proc=1)


def test_an_error_is_not_hidden_by_a_folder_that_is_already_gone(tmp_path):
    work = parts(tmp_path)

    def load():
        shutil.rmtree(work.folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work.finish(rows(2), load, num_proc=1)
