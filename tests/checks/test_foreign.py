"""Descriptions from outside: bounded, of a known layout, and nothing but text."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlab.checks.foreign import read_json, read_tensors, read_yaml, require_form
from fairlab.data.prepared import PreparedFile
from fairlab.data.stream.manifest import ManifestFile
from fairlab.lexicons import LexiconFile
from fairlab.reporting.many_runs.matrix_form import MatrixFile
from fairlab.run.folders import SweepFile
from fairlab.text.reading import read_yaml_text
from fairlab.types import FairlabError

FORMS = (LexiconFile, ManifestFile, MatrixFile, PreparedFile, SweepFile)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("form", FORMS)
@given(content=ANYTHING, data=st.data())
def test_whatever_stands_in_the_place_of_a_key_is_one_sentence_or_fits(tmp_path_factory, form, content, data):
    key = data.draw(st.sampled_from(sorted(form.__annotations__)))
    said = "FILE: it fits"
    try:
        require_form("FILE", {key: content}, form)
    except FairlabError as error:
        said = str(error)
    assert said.startswith("FILE: ")
    assert "\n" not in said


def test_no_node_of_a_file_is_imported(tmp_path, monkeypatch):
    (tmp_path / "evil_module.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    content = {"shards": [], "made_by": {"_target_": "evil_module.x"}, "source": {"a": [{"_target_": "evil_module.x"}]}}
    require_form(tmp_path / "manifest.json", content, ManifestFile)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("read", [read_json, read_yaml, read_tensors])
@pytest.mark.parametrize("kind", ["nothing", "a folder", "a pipe", "bytes", "a device"])
def test_what_is_no_description_is_one_sentence(tmp_path, read, kind):
    file = tmp_path / "x"
    match kind:
        case "a folder":
            file.mkdir()
        case "a pipe":
            os.mkfifo(file)
        case "bytes":
            file.write_bytes(b"\xff\xfe\0")
        case "a device":
            file.symlink_to("/dev/zero")
    with pytest.raises(FairlabError) as caught:
        read(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_beyond_its_bound_is_not_read_whole(tmp_path):
    with (tmp_path / "x").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FairlabError, match="is larger than 67,108,864 bytes"):
        read_json(tmp_path / "x")


@pytest.mark.parametrize("read", [read_yaml, read_yaml_text])
def test_a_long_yaml_file_is_refused_before_it_is_parsed(tmp_path, read):
    file = tmp_path / "x.yaml"
    file.write_text("".join(f"key{k}: {k}\n" for k in range(100_000)))  # some six seconds of parsing
    with pytest.raises(FairlabError, match=r"x\.yaml has more than 1,048,576 bytes of YAML, the limit for such a file"):
        read(file)
