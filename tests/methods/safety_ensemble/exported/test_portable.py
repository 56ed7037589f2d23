"""An exported ensemble's folder scores wherever it is moved to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from fairlab.files import sha256
from fairlab.methods.safety_ensemble.exported.portable import write_sources
from fairlab.methods.safety_ensemble.exported.trust import read_sources
from fairlab.run.config.build import build
from fairlab.types import FairlabError

OWN = Path(__file__).parents[1] / "own_source.py"
HERE = "fairlab.methods.safety_ensemble.sources"


@pytest.fixture
def exported(tmp_path):
    """A folder whose sources lay elsewhere: a word list, stored scores, and a list of ours."""
    machine = tmp_path / "machine"
    machine.mkdir()
    (machine / "words.txt").write_text("awful\n")
    (machine / "scores.csv").write_text("text,hate\nAn awful day.,0.5\n")
    nodes = {
        "word_list": {"_target_": f"{HERE}.word_list.WordList", "path": str(machine / "words.txt")},
        "stored": {
            "_target_": f"{HERE}.stored_scores.StoredScores",
            "path": str(machine / "scores.csv"),
            "version": None,
        },
        "violence": {"_target_": f"{HERE}.word_list.WordList", "path": "violence", "name": "violence"},
    }
    folder = tmp_path / "model"
    folder.mkdir()
    write_sources(nodes, folder)
    return folder


def test_a_moved_folder_needs_what_lay_elsewhere_once(exported, tmp_path):
    assert str(tmp_path) not in (exported / "sources.yaml").read_text()
    scores = tmp_path / "machine" / "scores.csv"
    kept = tmp_path / "kept.csv"
    scores.rename(kept)
    shutil.rmtree(tmp_path / "machine")
    moved = exported.rename(tmp_path / "moved")
    with pytest.raises(FairlabError) as error:
        read_sources(moved, {})
    assert str(error.value) == (
        f"{moved}/sources/stored/scores.csv, which the source stored needs, does not exist; copy it there, or give its "
        "path: +sources.stored.path=PATH"
    )
    given = read_sources(moved, {"stored": {"path": str(kept)}})
    (moved / "sources" / "stored").mkdir()
    shutil.copy(kept, moved / "sources" / "stored" / "scores.csv")
    for nodes in (given, read_sources(moved, {})):
        words, stored, violence = (build(node) for node in nodes.values())
        assert words.score(["awful weather"]).tolist() == [[0.5, 1.0]]
        assert stored.score(["An awful day."]).tolist() == [[0.5]]
        assert violence.name == "violence"


@pytest.mark.parametrize("path", ["sources/../../machine/words.txt", "sources/link.txt"])
def test_a_path_out_of_the_folder_is_refused(exported, tmp_path, path):
    (exported / "sources" / "link.txt").symlink_to(tmp_path / "machine" / "words.txt")
    nodes = {"word_list": {"_target_": f"{HERE}.word_list.WordList", "path": path}}
    (exported / "sources.yaml").write_text(yaml.safe_dump(nodes))
    with pytest.raises(FairlabError, match="leads out of the folder"):
        read_sources(exported, {})


LIST = {"_target_": f"{HERE}.word_list.WordList", "path": "violence"}
REMOTE = {"_target_": f"{HERE}.judge.Judge", "model": "m"}


@pytest.mark.parametrize(
    ("nodes", "given", "message"),
    [
        ([], {}, "lists no sources"),
        ({}, {}, "lists no sources"),
        ({"words": LIST}, {"other": {}}, r"sources\.other is not a source"),
        ({"words": LIST | {"depth": "1"}}, {}, "there is no setting depth of words"),
        ({"words": LIST}, {"words": {"depth": "1"}}, "there is no setting depth of words"),
        ({"words": LIST | {"name": 1}}, {}, "name of words must be a plain text"),
        ({"words": LIST | {"name": ["a", 1]}}, {}, "name of words must be a plain text"),
        ({"words": LIST | {"name": "${oc.env:KEY}"}}, {}, "name of words must be a plain text"),
        ({"words": {"path": "violence"}}, {}, r"words is not a source of fairlab \(None\)"),
        ({"words": {"_target_": 3}}, {}, r"words is not a source of fairlab \(3\)"),
        ({"words": "violence"}, {}, "words is not a source of fairlab"),
        ({"words": "violence"}, {"words": {"_target_": LIST["_target_"]}}, "words lists no settings"),
        ({"far": REMOTE}, {}, "far contacts a server"),
        ({"far": REMOTE}, {"far": {"base_url": "http://x", "ledger": "l"}}, "far contacts a server"),
        ({"near": {"_target_": f"{HERE}.policy.PolicySimilarity", "encoder": "some/model"}}, {}, "choose a model on"),
        ({"words": LIST | {"path": "sources/none.txt"}}, {}, r"none\.txt, which the source words needs, does not"),
        ({"words": LIST | {"path": "/nowhere/none.txt"}}, {}, r"none\.txt, which the source words needs, does not"),
    ],
)
def test_sources_that_a_folder_must_not_name(tmp_path, nodes, given, message):
    (tmp_path / "sources.yaml").write_text(yaml.safe_dump(nodes))
    with pytest.raises(FairlabError, match=message):
        read_sources(tmp_path, given)


def test_settings_of_the_command_come_first(tmp_path):
    (tmp_path / "sources.yaml").write_text(yaml.safe_dump({"words": LIST | {"name": None}, "far": REMOTE}))
    far = {"base_url": "http://x", "ledger": "l", "api_key_env": None}
    assert read_sources(tmp_path, {"words": {"name": "mine"}, "far": far | {"model": "other"}}) == {
        "words": LIST | {"name": "mine"},
        "far": REMOTE | far | {"model": "other"},
    }


def test_the_code_of_a_source_of_ones_own_is_the_exported_one(tmp_path, monkeypatch):
    (tmp_path / "loud.py").write_text(OWN.read_text())
    monkeypatch.syspath_prepend(tmp_path)
    own, folder = {"_target_": "loud.Exclamations"}, tmp_path / "model"
    folder.mkdir()
    write_sources({"own": own, "violence": {"_target_": f"{HERE}.word_list.WordList", "path": "violence"}}, folder)
    held = yaml.safe_load((folder / "sources.yaml").read_text())
    assert held["own"] == own | {"_sha256_": sha256(tmp_path / "loud.py")}
    assert "_sha256_" not in held["violence"]
    with pytest.raises(FairlabError, match="own is not a source of fairlab"):
        read_sources(folder, {})
    assert read_sources(folder, {"own": own})["own"] == own
    with (tmp_path / "loud.py").open("a") as file:
        file.write("# changed\n")
    with pytest.raises(FairlabError, match=r"the code of own, .*loud.py, is not the code that .* was exported with"):
        read_sources(folder, {"own": own})
