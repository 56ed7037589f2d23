import json

import pytest

from fairlab.data.groups import read_groups
from fairlab.data.published.task_files import examples_digest
from fairlab.data.published.tasks import Example
from fairlab.data.stream.features import description_of
from fairlab.data.stream.manifest import Manifest, data_files, dataset_facts, dataset_rows
from fairlab.files import sha256
from fairlab.types import DataUnavailable, FairlabError
from tests.conftest import make_groups, row, write_rows


def output(folder):
    """A finished output of two files."""
    manifest = Manifest("1.0", {"name": "x"}, {})
    for number, groups in enumerate((make_groups(5)[:3], make_groups(5)[3:])):
        file = folder / f"data-{number:05}.jsonl"
        write_rows(file, [row(group) for group in groups])
        entry = {"file": file.name, "rows": len(groups), "sha256": sha256(file)}
        manifest.add({"read": 4, "files": {"data": entry}, "reasons": {"odd": 1}, "counts": {"groups": len(groups)}})
    manifest.write(folder)
    return manifest


def test_groups_of_all_files_are_read(tmp_path):
    manifest = output(tmp_path)
    assert (manifest.made, manifest.read, manifest.reasons) == (5, 8, {"odd": 2})
    assert manifest.rows() == {"read": 8, "rejected": 2, "groups": 5, "written": 5}
    assert [path.name for path in data_files(tmp_path)] == ["data-00000.jsonl", "data-00001.jsonl"]
    assert [group.id for group in read_groups(str(tmp_path))] == ["g0", "g1", "g2", "g3", "g4"]


def test_counts_of_other_things_than_rows_are_no_rows():
    manifest = Manifest("1.0", {"name": "x"}, {}, counts={"judged": 3, "perturbed/gender": 2, "groups": 5})
    assert manifest.rows() == {"read": 0, "rejected": 0, "groups": 5, "written": 0}


def test_rows_of_an_output_are_numbered_through_its_files(tmp_path):
    manifest = Manifest("1.0", {"name": "x"}, {})
    for name, texts in (("data-test-00000", ["a"]), ("data-train-00001", ["b", "c"]), ("data-train-00002", ["d"])):
        file = tmp_path / f"{name}.jsonl"
        write_rows(file, [{"text": text} for text in texts])
        entry = {"file": file.name, "rows": len(texts), "sha256": sha256(file)}
        manifest.add({"read": 1, "files": {"data": entry}, "reasons": {}, "counts": {}})
    manifest.write(tmp_path)
    found = {
        every: [(row.number, row.split, row.text) for row in dataset_rows(str(tmp_path), every_split=every)]
        for every in (False, True)
    }
    assert found[False] == [(1, "train", "b"), (2, "train", "c"), (3, "train", "d")]
    assert [row.text for row in dataset_rows(str(tmp_path))] == ["b", "c", "d"]
    assert found[True] == [(1, "test", "a"), (2, "train", "b"), (3, "train", "c"), (4, "train", "d")]
    files = sorted(tmp_path.glob("data-*.jsonl"))
    facts = {"bytes": sum(file.stat().st_size for file in files), "sha256": sha256(*files)}
    assert dataset_facts(str(tmp_path)) == {"name": tmp_path.name, **facts}


def test_an_output_that_is_not_as_it_was_written_is_refused(tmp_path):
    output(tmp_path)
    file = tmp_path / "data-00001.jsonl"
    whole = file.read_text()
    file.write_text(whole.replace("he", "it"))
    with pytest.raises(FairlabError, match=r"data-00001\.jsonl has changed since fairlab\.augment wrote it"):
        read_groups(str(tmp_path))
    file.unlink()
    with pytest.raises(DataUnavailable, match=r"data-00001\.jsonl is missing"):
        read_groups(str(tmp_path))
    (tmp_path / "manifest.json").write_text(json.dumps({"shards": [1]}))
    with pytest.raises(FairlabError, match=r"manifest\.json: shards\[0\] must be values by name"):
        read_groups(str(tmp_path))
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "manifest.json").symlink_to("/etc/hostname")
    with pytest.raises(FairlabError, match=r"manifest\.json is a link out of the folder"):
        description_of(str(tmp_path))
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(
        DataUnavailable, match=r"has no manifest\.json: it is not a finished output of fairlab\.augment"
    ):
        read_groups(str(tmp_path))


def test_a_manifest_needs_the_list_of_shards_alone(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"shards": []}))
    assert data_files(tmp_path) == []


def test_the_hash_of_a_task_is_that_of_its_examples(monkeypatch):
    examples = [Example("a", "b", 0)]
    monkeypatch.setattr("fairlab.data.stream.manifest.task_examples", lambda source: (source, examples))
    assert dataset_facts("task:rte") == {"name": "task:rte", "sha256": examples_digest(examples)}


def test_a_bad_row_of_an_output_is_named_with_its_file(tmp_path):
    manifest = Manifest("1.0", {"name": "x"}, {})
    (tmp_path / "data-00000.jsonl").write_text("{\n")
    entry = {"file": "data-00000.jsonl", "rows": 1, "sha256": sha256(tmp_path / "data-00000.jsonl")}
    manifest.add({"read": 1, "files": {"data": entry}, "reasons": {}, "counts": {}})
    manifest.write(tmp_path)
    with pytest.raises(FairlabError, match=r"data-00000\.jsonl line 1 is not JSON"):
        read_groups(str(tmp_path))


def test_ids_that_repeat_between_files_are_named_with_both(tmp_path):
    output(tmp_path)
    file = tmp_path / "data-00001.jsonl"
    file.write_text((tmp_path / "data-00000.jsonl").read_text())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["shards"][1]["data"]["sha256"] = sha256(file)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FairlabError, match=r"data-00001\.jsonl line 1: the id 'g0' .*data-00000\.jsonl line 1"):
        read_groups(str(tmp_path))
