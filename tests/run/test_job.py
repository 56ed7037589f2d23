"""Which runs may be overwritten, and how the end of a run is recorded."""

from types import SimpleNamespace

import pytest
from hydra.types import RunMode
from omegaconf import OmegaConf

from fairlab.benchmarks.stages import LOADING, STAGES
from fairlab.record import Record
from fairlab.run import job
from fairlab.run.job import accounted, has_results, open_record, process_count, refuse_changed_inputs
from fairlab.types import FairlabError, NotPushed, ReviewNeeded


@pytest.mark.parametrize(
    ("status", "stages", "history", "expected"),
    [
        ("failed", {}, [], False),
        ("failed", {LOADING: {}}, [], False),
        ("failed", {LOADING: {}, "training": {}}, [], True),
        ("failed", {}, [{"step": 1}], True),
        ("interrupted", {}, [], True),
        ("finished", {}, [], True),
    ],
)
def test_a_run_that_failed_while_loading_alone_has_no_results(tmp_path, status, stages, history, expected):
    record = Record(tmp_path, {}, "", status=status, provenance={STAGES: stages}, history=history)
    assert has_results(record) is expected


@pytest.mark.parametrize(
    ("error", "status", "reason", "raised"),
    [
        (None, "running", "", None),
        (KeyboardInterrupt(), "interrupted", "Ctrl-C", KeyboardInterrupt),
        (SystemExit(), "interrupted", "Ctrl-C", KeyboardInterrupt),
        (type("Told", (KeyboardInterrupt,), {})(), "interrupted", "SIGTERM", KeyboardInterrupt),
        (ReviewNeeded("fill it in"), "interrupted", "fill it in", ReviewNeeded),
        (NotPushed("no hub"), "running", "", NotPushed),
        (FairlabError("wrong"), "failed", "wrong", FairlabError),
        (ValueError("bug"), "failed", "ValueError: bug", ValueError),
    ],
)
def test_the_end_and_the_times_of_a_run_are_saved(tmp_path, monkeypatch, error, status, reason, raised):
    clocks = {"wall": iter([10.0, 13.24]), "processor": iter([1.0, 1.5])}
    monkeypatch.setattr("sys.argv", ["fairlab"])
    monkeypatch.setattr(job.time, "perf_counter", lambda: next(clocks["wall"]))
    monkeypatch.setattr(job, "processor_seconds", lambda: next(clocks["processor"]))
    record = Record(tmp_path, {}, "", status="running", provenance={"wall_seconds": 2.0})
    if error is None:
        with accounted(record):
            pass
    else:
        with pytest.raises(raised), accounted(record):
            raise error
    found = Record.load(tmp_path)
    assert (found.status, found.reason) == (status, reason)
    assert (found.provenance["wall_seconds"], found.provenance["processor_seconds"]) == (5.2, 0.5)


def test_processor_time_is_that_of_children_too(monkeypatch):
    monkeypatch.setattr(job.os, "times", lambda: (1.0, 2.0, 3.0, 4.0, 100.0))
    assert job.processor_seconds() == 10.0


@pytest.mark.parametrize(
    ("config", "count"),
    [
        ({"trainer": {"devices": 2}, "backbone": {"name": "x"}, "processes": 3}, 2),
        ({"trainer": {"devices": 2}, "backbone": None}, 1),
        ({"processes": 3, "dataset": None}, 3),
        ({"processes": 3, "dataset": "d"}, 1),
    ],
)
def test_processes_of_trainings_and_of_measurements(config, count):
    assert process_count(OmegaConf.create(config)) == count


@pytest.mark.parametrize(
    ("status", "history", "ckpt", "result"),
    [
        (None, [], None, "new"),
        ("failed", [], None, "new"),
        ("failed", [{"step": 1}], None, "refused"),
        ("interrupted", [{"step": 1}], None, "refused"),
        ("interrupted", [{"step": 1}], "last", "resumed"),
        ("failed", [], "last", "resumed"),
        ("finished", [], "last", "refused"),
        (None, [], "last", "refused"),
        # augmentations, which have no ckpt
        (None, [], "", "new"),
        ("failed", [], "", "new"),
        ("interrupted", [{"step": 1}], "", "resumed"),
        ("interrupted", [{"step": 1}], "other", "refused"),
    ],
)
def test_a_record_is_new_or_that_of_the_run_to_resume(tmp_path, monkeypatch, status, history, ckpt, result):
    monkeypatch.setattr(job, "command_line", lambda entry: f"python -m fairlab.{entry}")
    monkeypatch.setenv("SOME_API_KEY", "0123456789abcdef")
    config = {"seed": 1} | ({} if ckpt in ("", "other") else {"ckpt": ckpt})
    if "ckpt" in config:  # Hydra does not copy the configuration of an augmentation
        (tmp_path / ".hydra").mkdir()
        (tmp_path / ".hydra" / "config.yaml").write_text("api_key: 0123456789abcdef\n")
    if status is not None:
        Record(
            tmp_path,
            config | {"ckpt": None, "seed": 2 if ckpt == "other" else 1},
            "old",
            status=status,
            reason="x",
            history=history,
        ).save()
    if result == "refused":
        with pytest.raises(FairlabError):
            open_record("train", OmegaConf.create(config), tmp_path)
        return
    found = open_record("train", OmegaConf.create(config), tmp_path)
    assert (found.status, found.reason) == ("running", "")
    assert (found.command, found.history) == (
        ("old", history) if result == "resumed" else ("python -m fairlab.train", [])
    )
    assert not any("0123456789abcdef" in file.read_text() for file in tmp_path.glob(".hydra/*"))


def test_inputs_that_changed_since_a_run_started_are_named(tmp_path):
    record = Record(tmp_path, {}, "", provenance={"weights": {"sha256": "a"}})
    refuse_changed_inputs(record, {"weights": {"sha256": "a"}, "data": {"sha256": "b"}})
    with pytest.raises(FairlabError, match="the weights of the run in"):
        refuse_changed_inputs(record, {"weights": {"sha256": "b"}})


@pytest.mark.parametrize(
    ("mode", "command"),
    [(RunMode.RUN, "python -m fairlab.train name='a b'"), (RunMode.MULTIRUN, "python -m fairlab.train seed=2")],
)
def test_the_command_of_a_job_of_a_sweep_is_made_of_its_own_overrides(monkeypatch, mode, command):
    monkeypatch.setattr("sys.argv", ["launcher", "name=a b"])
    hydra = SimpleNamespace(mode=mode, overrides=SimpleNamespace(task=["seed=2"]))
    monkeypatch.setattr(job.HydraConfig, "get", lambda: hydra)
    assert job.command_line("train").replace("'name=a b'", "name='a b'") == command


@pytest.mark.parametrize(("count", "where"), [(1, "here"), (3, "in processes")])
def test_work_is_shared_if_there_are_several_processes(tmp_path, monkeypatch, count, where):
    done = []
    monkeypatch.setattr(job, "work_of", lambda entry: lambda config, record: done.append("here"))

    def in_processes(number, share, entry, config, folder):
        assert (number, share, entry, config, folder) == (count, job.do_share, "train", {"processes": count}, tmp_path)
        Record(folder, config, "", status="finished").save()
        done.append("in processes")

    monkeypatch.setattr(job, "run_in_processes", in_processes)
    record = Record(tmp_path, {"processes": count}, "", status="running")
    job.do_work("train", OmegaConf.create(record.config), record)
    assert (done, record.status) == ([where], "running" if count == 1 else "finished")
