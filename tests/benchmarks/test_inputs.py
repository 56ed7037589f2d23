"""Which files decide the numbers of benchmarks, and what a changed one ends in."""

import pytest

from fairlab.benchmarks.inputs import changed_file, facts_of, files_in_settings, other_input, refuse_changed_files
from fairlab.data.groups import read_groups
from fairlab.data.published.download import locate
from fairlab.data.reads import noting_reads
from fairlab.files import sha256
from fairlab.record import Record
from fairlab.types import FairlabError
from tests.conftest import make_groups, row, write_rows


class Settings:
    version = 3

    def __init__(self, **values):
        vars(self).update(values)


def test_a_file_of_a_model_that_differs_is_named():
    facts = {"sha256": "a", "files": {"config.json": "1", "tokenizer.json": "2"}}
    assert changed_file(facts, facts) is None
    assert changed_file(facts, facts | {"sha256": "b"}) == ""
    assert changed_file(facts, facts | {"files": {"config.json": "1", "tokenizer.json": "3"}}) == "tokenizer.json"
    assert changed_file(facts, facts | {"files": {**facts["files"], "modules.json": "4"}}) == "modules.json"
    assert changed_file({"sha256": "a"}, facts) is None  # a record that is older than hashes of files
    assert changed_file(facts, {"sha256": "a"}) is None


def test_what_a_benchmark_reads_and_names_is_hashed(tmp_path):
    groups = write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(3)])
    own, named = tmp_path / "own.txt", tmp_path / "named.txt"
    own.write_text("one")
    named.write_text("two")
    with noting_reads() as read:
        read_groups(groups)
        read_groups("embedded/people")
    locate("glue/STS-B/dev.tsv", own)  # outside: not read by the benchmark
    facts = facts_of(Settings(limit=3, place=own, long="x" * 5000, none="no\0file"), read, {"sets": [str(named)]})
    assert facts["version"] == 3
    files = facts["files"]
    embedded = [name for name in files if name.startswith("fairlab/")]
    assert set(files) == {groups, str(own), str(named), *embedded}
    assert len(embedded) == 1
    assert files[groups] == sha256(tmp_path / "groups.jsonl")


@pytest.mark.parametrize(("count", "read"), [(100, True), (101, False)])
def test_long_lists_are_no_lists_of_files(tmp_path, count, read):
    (tmp_path / "a.txt").write_text("one")
    values = [str(tmp_path / "a.txt"), *range(count - 1)]
    for some in (values, tuple(values), {str(k): value for k, value in enumerate(values)}):
        assert list(files_in_settings({"deep": [some]})) == [tmp_path / "a.txt"] * read


@pytest.mark.parametrize("value", ["x" * 5000, "no\0file", 3, None])
def test_what_is_no_name_of_a_file_is_none(value):
    assert list(files_in_settings(value)) == []


@pytest.mark.parametrize("change", ["changed", "gone"])
def test_data_that_changed_is_one_sentence(tmp_path, change):
    file = tmp_path / "set.jsonl"
    file.write_text("one")
    record = Record(tmp_path, {}, "command")
    record.provenance["benchmarks"] = {"cced": {"version": 1, "files": {str(file): sha256(file)}}}
    refuse_changed_files(record, ["cced", "seat"], "start a new run")
    if change == "gone":
        file.unlink()
    else:
        file.write_text("two")
    with pytest.raises(FairlabError, match=rf"{file}.*{'is gone' if change == 'gone' else 'changed since'}.*; start a"):
        refuse_changed_files(record, ["cced"], "start a new run")
    refuse_changed_files(record, ["seat"], "start a new run")


def test_records_that_read_other_contents_of_a_file_of_ones_own_differ(tmp_path):
    """Files of fairlab itself may change."""
    files = [{"own.jsonl": "a", "fairlab/data/x": "b"}, {"own.jsonl": "a", "fairlab/data/x": "c"}, {"own.jsonl": "d"}]
    read = [{"cced": {"version": 1, "files": one}} for one in files]
    first, second, third = (Record(tmp_path, {}, "", provenance={"benchmarks": one}) for one in read)
    assert other_input(first, second, "cced", "own") == ""
    assert other_input(first, third, "cced", "own") == "own.jsonl changed between them"
