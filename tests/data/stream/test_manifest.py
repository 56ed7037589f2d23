import json

import pytest

from fairlab.data.groups import read_groups
from fairlab.data.stream.manifest import Manifest, data_files
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
    with pytest.raises(
        DataUnavailable, match=r"has no manifest\.json: it is not a finished output of fairlab\.augment"
    ):
        read_groups(str(tmp_path))


def test_ids_that_repeat_between_files_are_named_with_both(tmp_path):
    output(tmp_path)
    file = tmp_path / "data-00001.jsonl"
    file.write_text((tmp_path / "data-00000.jsonl").read_text())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["shards"][1]["data"]["sha256"] = sha256(file)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FairlabError, match=r"data-00001.jsonl line 1: the id 'g0' .* data-00000.jsonl line 1|00000"):
        read_groups(str(tmp_path))
