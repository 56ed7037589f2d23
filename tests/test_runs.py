import pytest
from omegaconf import OmegaConf

from fairlab.record import Record
from fairlab.runs import run_folder
from fairlab.types import FairlabError


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def leave(folder, status, **config):
    folder.mkdir(parents=True)
    Record(folder, config={"seed": 1, "ckpt": None, **config}, command="", status=status).save()


def root(**config):
    return OmegaConf.create({"seed": 1, "ckpt": "last", "hydra": {"x": 1}, **config})


def test_a_new_run_gets_a_folder_of_its_own():
    assert run_folder("ccd_bert", "now", None, _root_=root()) == "outputs/ccd_bert/now"


def test_last_is_the_newest_unfinished_run_of_the_experiment(tmp_path):
    outputs = tmp_path / "outputs" / "ccd_bert"
    for name, status in (("1", "failed"), ("2", "running"), ("3", "finished")):
        leave(outputs / name, status)
    leave(tmp_path / "outputs" / "other" / "9", "running")
    assert run_folder("ccd_bert", "now", "last", _root_=root()) == "outputs/ccd_bert/2"


def test_there_may_be_none(tmp_path):
    with pytest.raises(FairlabError, match="no unfinished run in outputs/ccd_bert; leave ckpt out"):
        run_folder("ccd_bert", "now", "last", _root_=root())
    with pytest.raises(FairlabError, match="holds no run to continue"):
        run_folder("ccd_bert", "now", str(tmp_path), _root_=root())


def test_a_finished_run_and_a_changed_configuration_are_refused(tmp_path):
    leave(tmp_path / "done", "finished")
    with pytest.raises(FairlabError, match="is finished"):
        run_folder("x", "now", str(tmp_path / "done"), _root_=root())
    leave(tmp_path / "half", "interrupted", method={"beta": 1.0, "gone": 2})
    with pytest.raises(FairlabError, match=r"has method\.beta=1\.0, not 0\.5"):
        run_folder("x", "now", str(tmp_path / "half"), _root_=root(method={"beta": 0.5, "gone": 2}))
    with pytest.raises(FairlabError, match=r"has method\.gone=2, not None"):
        run_folder("x", "now", str(tmp_path / "half"), _root_=root(method={"beta": 1.0}))
    same = root(method={"beta": 1.0, "gone": 2})
    assert run_folder("x", "now", str(tmp_path / "half"), _root_=same) == str(tmp_path / "half")
