"""Resumable parts: finished by the summary alone, and not by a damaged one."""

import json
import os
from typing import TypedDict

import pytest

from fairlab.data.stream.parts import FinishedPart, changed_facts, is_as_listed
from fairlab.files import sha256


class Summary(TypedDict):
    rows: int
    files: dict[str, dict[str, str]]


@pytest.fixture
def part(tmp_path):
    """A finished part of one file."""
    file = tmp_path / "data-00000.jsonl"
    file.write_text("one\n")
    made = FinishedPart(tmp_path, tmp_path / "00000.json", Summary)
    made.write({"rows": 1, "files": {"data": {"file": file.name, "sha256": sha256(file)}}})
    return made


def test_a_part_is_finished_by_its_summary(part, tmp_path):
    assert part.read()["rows"] == 1
    assert FinishedPart(tmp_path, tmp_path / "00001.json", Summary).read() is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"files": []}', '{"files": {"data": 5}}'])
def test_a_part_with_a_damaged_summary_is_made_again(part, text):
    part.summary.write_text(text)
    assert part.read() is None


def test_a_part_whose_file_changed_is_made_again(part, tmp_path):
    (tmp_path / "data-00000.jsonl").write_text("two\n")
    assert part.read() is None
    (tmp_path / "data-00000.jsonl").unlink()
    assert part.read() is None


def test_a_file_is_read_where_size_and_time_do_not_decide(tmp_path):
    file = tmp_path / "file"
    file.write_text("one")
    digest = sha256(file)
    assert is_as_listed(file, {"sha256": digest})
    assert not is_as_listed(file, {"sha256": digest, "bytes": 4})
    assert is_as_listed(file, {"sha256": "another", "bytes": 3, "mtime_ns": file.stat().st_mtime_ns})  # taken by time
    os.utime(file, ns=(1, 1))
    assert is_as_listed(file, {"sha256": digest, "bytes": 3, "mtime_ns": 2})
    assert not is_as_listed(file, {"sha256": "another", "bytes": 3, "mtime_ns": 2})


def test_changed_facts_are_named(tmp_path):
    file = tmp_path / "facts.json"
    assert changed_facts(file, {"model": "a", "keep": ("x",)}) == ["model", "keep"]
    file.write_text(json.dumps({"model": "a", "keep": ["x"], "gone": 1}))
    assert changed_facts(file, {"model": "a", "keep": ("x",), "gone": 1}) == []
    assert changed_facts(file, {"model": "b", "keep": ("x",)}) == ["model", "gone"]
