import json

import pytest
from omegaconf import OmegaConf

from fairlab.record import Record
from fairlab.run.folders import (
    compared,
    flatten,
    is_finished,
    output_folder,
    plain_config,
    refuse_changed_config,
    refuse_other_run_of_sweep,
    run_folder,
    sweep_folder,
    sweep_of,
    write_sweep_state,
)
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


@pytest.mark.parametrize("stopped", ["running", "interrupted"])
def test_a_newer_run_that_failed_or_cannot_be_read_does_not_hide_a_stopped_one(tmp_path, capsys, stopped):
    outputs = tmp_path / "outputs" / "ccd_bert"
    for name, status in (("1", "failed"), ("2", stopped), ("3", "failed"), ("4", "running")):
        leave(outputs / name, status)
    (outputs / "4" / "record.json").write_text("[]")
    assert run_folder("ccd_bert", "now", "last", _root_=root()) == "outputs/ccd_bert/2"
    assert "skipped: outputs/ccd_bert/4/record.json is damaged" in capsys.readouterr().err


def test_where_all_failed_the_newest_is_tried_again(tmp_path):
    outputs = tmp_path / "outputs" / "ccd_bert"
    for name, status in (("1", "failed"), ("2", "failed"), ("3", "finished")):
        leave(outputs / name, status)
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


def sweep_root(*task, hydra=()):
    return OmegaConf.create({"hydra": {"overrides": {"task": list(task), "hydra": ["hydra.mode=MULTIRUN", *hydra]}}})


def leave_sweep(folder, status, *overrides):
    folder.mkdir(parents=True)
    (folder / "sweep.json").write_text(json.dumps({"overrides": list(overrides), "status": status}))


def test_a_sweep_goes_on_in_its_own_folder_whatever_launches_it(tmp_path):
    sweeps = tmp_path / "multirun" / "ccd_bert"
    for name, status, overrides in (
        ("1", "running", ["a=1,2"]),
        ("2", "running", ["a=1,3"]),
        ("0", "running", ["a=1"]),
    ):
        leave_sweep(sweeps / name, status, *overrides)
    assert sweep_folder("ccd_bert", "t1", _root_=sweep_root("a=1,2", "launcher=ray")) == "multirun/ccd_bert/1"
    assert sweep_folder("ccd_bert", "t1", _root_=sweep_root("a=1,4")) == "multirun/ccd_bert/t1"
    extra = sweep_root("a=1,2", hydra=["hydra.launcher.n_jobs=2"])
    assert sweep_folder("ccd_bert", "t2", _root_=extra) == "multirun/ccd_bert/1"
    leave_sweep(sweeps / "3", "finished", "a=1,2")
    assert sweep_folder("ccd_bert", "t3", _root_=sweep_root("a=1,2")) == "multirun/ccd_bert/t3"


def test_a_sweep_that_has_just_finished_stays_where_it_is(tmp_path):
    folder = tmp_path / "multirun" / "ccd_bert" / "t4"
    assert sweep_folder("ccd_bert", "t4", _root_=sweep_root("b=1,2")) == "multirun/ccd_bert/t4"
    leave_sweep(folder, "finished", "b=1,2")
    assert sweep_folder("ccd_bert", "t4", _root_=sweep_root("b=1,2")) == "multirun/ccd_bert/t4"


def test_a_damaged_record_is_named(tmp_path):
    leave(tmp_path / "run", "running")
    file = tmp_path / "run" / "record.json"
    file.write_text(file.read_text()[:40])
    with pytest.raises(FairlabError, match=r"run/record.json is damaged .*move run away"):
        run_folder("ccd_bert", "now", "run", _root_=root())


def test_the_backbone_that_model_replaces_is_compared_when_the_run_starts(tmp_path):
    given = {"model": "mine", "backbone": {"name": "mine", "adapters": None}}
    leave(tmp_path / "half", "interrupted", **given)
    composed = {"model": "mine", "backbone": {"name": "default", "adapters": "of_default"}}
    assert run_folder("x", "now", str(tmp_path / "half"), _root_=root(**composed)) == str(tmp_path / "half")
    refuse_other_run_of_sweep(tmp_path / "half", {"seed": 1, "ckpt": None, **composed})
    with pytest.raises(FairlabError, match="has model=mine, not other"):
        run_folder("x", "now", str(tmp_path / "half"), _root_=root(**composed | {"model": "other"}))
    with pytest.raises(FairlabError, match=r"holds another run \(seed=1, not 2\)"):
        refuse_other_run_of_sweep(tmp_path / "half", {"seed": 2, "ckpt": None, **composed})
    with pytest.raises(FairlabError, match=r"has backbone\.adapters=None, not of_default"):
        refuse_changed_config(tmp_path / "half", {"seed": 1, "ckpt": None, **composed})
    with pytest.raises(FairlabError, match=r"has backbone\.adapters=None, not of_default"):
        run_folder("x", "now", str(tmp_path / "half"), _root_=root(**composed | {"model": None}))


def test_a_sweep_file_holds_what_identifies_it_and_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "0123456789abcdef")
    folder = tmp_path / "multirun" / "x" / "now"
    (folder / "0").mkdir(parents=True)
    assert sweep_of(folder / "0") is None
    (folder / "multirun.yaml").write_text("api_key: 0123456789abcdef\n")
    write_sweep_state(folder, ["a=1,2", "launcher=ray", "launcher_of=b"], "running")
    assert json.loads((folder / "sweep.json").read_text()) == {
        "overrides": ["a=1,2", "launcher_of=b"],
        "status": "running",
    }
    assert "0123456789abcdef" not in (folder / "multirun.yaml").read_text()
    assert sweep_of(folder / "0") == "x/now"
    write_sweep_state(folder, [], "finished", [{"a": 1}])
    assert json.loads((folder / "sweep.json").read_text())["best_by_validation"] == [{"a": 1}]


def test_what_is_finished_and_what_a_sweep_may_not_continue(tmp_path):
    for status in ("finished", "running"):
        leave(tmp_path / status, status)
    assert [is_finished(tmp_path / name) for name in ("finished", "running", "none")] == [True, False, False]
    with pytest.raises(FairlabError, match="cannot be used with -m"):
        refuse_other_run_of_sweep(tmp_path / "none", {"ckpt": "last"})
    refuse_other_run_of_sweep(tmp_path / "none", {"ckpt": None})


def test_plain_settings_have_no_launcher_and_no_hydra():
    config = {"a": "${c}", "b": "???", "c": {"d": 1}, "launcher": {"n": 2}, "hydra": {"x": "${nowhere}"}}
    assert plain_config(OmegaConf.create(config)) == {"a": {"d": 1}, "b": "???", "c": {"d": 1}}
    assert plain_config(OmegaConf.create({"a": 1})) == {"a": 1}


def test_settings_that_change_results_are_compared_by_dotted_key():
    assert flatten({"a": {"b": 1, "c": {}}, "d": [{"e": 1}]}) == {"a.b": 1, "a.c": {}, "d": [{"e": 1}]}
    settings = {
        **{"name": "n", "names": "m", "llm": {"port": 1, "model": "m"}, "rewriter": {"unanswered": 1, "mode": "x"}},
        **{"trainer": {"devices": 2, "precision": 32}, "logger": {"csv": {"x": 1}}},
    }
    assert compared(settings) == {"names": "m", "llm.model": "m", "rewriter.mode": "x", "trainer.precision": 32}


@pytest.mark.parametrize(
    ("output", "taken"),
    [
        *[("new", True), ("new/below", True), (7, True), ("empty", True), ("hidden", True), ("same", True)],
        *[("failed", True), ("???", False), (None, False), ("full", False), ("file", False), ("file/below", False)],
        *[("other", False), ("failed_late", False)],
    ],
)
def test_the_folder_of_an_augmentation_is_new_or_its_own(tmp_path, output, taken):
    for name, seed, status in (
        *(("same", 1, "running"), ("other", 2, "running")),
        *(("failed", 2, "failed"), ("failed_late", 2, "failed")),
    ):
        leave(tmp_path / name, status, output=name, seed_of_data=seed)
    for name in ("empty", "hidden/.hydra", "full", "failed/choices"):
        (tmp_path / name).mkdir(parents=True)
    for name in (
        "file",
        "full/x.txt",
        "hidden/.hydra/x",
        "failed_late/data.jsonl",
        "failed/metrics.json",
        "failed/.lock",
    ):
        (tmp_path / name).write_text("{}")
    given = root(ckpt=None, output=output, seed_of_data=1)
    if taken:
        assert output_folder(_root_=given) == str(output)
    else:
        with pytest.raises(FairlabError):
            output_folder(_root_=given)
