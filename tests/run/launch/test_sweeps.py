"""Sweeps: each run in a process of its own, here a few lines of Python in its place."""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from fairlab.record import Record
from fairlab.run.launch import sweeps as launching
from fairlab.run.launch.jobs import Job, run_jobs
from fairlab.run.launch.sweeps import SweepRun, launch
from fairlab.types import FairlabError
from hydra_plugins.fairlab_launcher import outcome

# What it does: finish; fail once; be killed once; or wait to be told to stop, once.
RUN = """
import json, os, pathlib, sys, time
folder, act, *more = sys.argv[1:]
folder = pathlib.Path(folder)
tried = folder / "tried"
again = tried.exists()
tried.write_text(tried.read_text() + " ".join(more) + ";" if again else ";")
print("on the way", os.environ.get("OMP_NUM_THREADS"), os.environ.get("CUDA_VISIBLE_DEVICES"), flush=True)
reading = {"benchmark": "b", "subset": "s", "quantity": "q", "value": 2.0, "unit": "u", "ideal": 0, "n": 1,
           "low": 1.0, "high": 3.0, "headline": True, "phase": "after", "seed": 1}
record = {"config": {"ckpt": None, "beta": 1}, "command": "python -m x beta=1", "status": "running", "readings": []}
(folder / "record.json").write_text(json.dumps(record))
if not again:
    if act == "fail":
        sys.exit("fairlab: beta is not a number")
    if act == "die":
        os.kill(os.getpid(), 9)
    if act == "wait":
        (folder / "waiting").write_text(str(os.getppid()))
        time.sleep(60)
(folder / "record.json").write_text(json.dumps(record | {"status": "finished", "readings": [reading]}))
"""
SETTINGS = {
    "basic": {"n_jobs": 1, "gpus": None, "threads": None},
    "joblib": {"n_jobs": 2, "gpus": None, "threads": 1},
    "submitit": {"cluster": "local", "n_jobs": 2, "parameters": {"timeout_min": 5}, "threads": 1},
    "ray": {
        "init": {"include_dashboard": False, "log_to_driver": False},
        "task": {"num_cpus": 1, "num_gpus": 0, "max_retries": 3},
        "threads": 1,
    },
}


@pytest.fixture
def jobs(tmp_path):
    def make(*acts):
        config = {"ckpt": None, "beta": 1}
        folders = [Path("sweep") / str(number) for number in range(len(acts))]
        return [
            SweepRun(
                (f"act={act}", "same=1"),
                config,
                Job(folder, [sys.executable, "-c", RUN, str(folder), act], True, tmp_path),
            )
            for folder, act in zip(folders, acts, strict=True)
        ]

    return make


@pytest.fixture
def start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def launched(jobs, over="basic", objective=None, **changes):
        runner = over if over in ("submitit", "ray") else "here"
        failed = launch(jobs, Path("sweep"), ["a=1,2", "launcher=x"], over=runner, **SETTINGS[over] | changes)
        return [outcome(run.job, failed, objective, len(jobs)) for run in jobs]

    return launched


def tries(run):
    return (run.job.place / "tried").read_text()


@pytest.mark.parametrize("over", ["basic", "joblib", pytest.param("submitit", marks=pytest.mark.slow), "ray"])
def test_what_fails_stops_no_other_and_only_that_is_done_again(jobs, start, over, capsys):
    pytest.importorskip(over) if over in ("submitit", "ray") else None
    made = jobs("finish", "fail", "die", "finish")
    results = start(made, over)
    assert [isinstance(result, FairlabError) for result in results] == [False, True, True, False]
    assert "2 of 4 runs failed (" in str(results[1])
    assert "1: beta is not a number" in str(results[1])
    assert "2: killed by SIGKILL" in str(results[1])
    assert "give the same command again to do only these" in str(results[1])
    assert json.loads(Path("sweep/sweep.json").read_text()) == {"overrides": ["a=1,2"], "status": "running"}
    assert Path("sweep/report.html").is_file()
    assert "run 1 act=fail: failed: beta is not a number" in capsys.readouterr().out

    assert start(made, over) == [None] * 4
    assert [tries(run) for run in made] == [";", ";ckpt=sweep/1;", ";ckpt=sweep/2;", ";"]
    assert json.loads(Path("sweep/sweep.json").read_text())["status"] == "finished"
    assert "sweep: 4 runs, 2 of them already finished" in capsys.readouterr().out
    threads = SETTINGS[over]["threads"]
    assert f"on the way {threads or os.environ.get('OMP_NUM_THREADS')} " in made[0].job.log.read_text()


def test_the_objective_is_what_the_record_says(jobs, start):
    made = jobs("finish", "fail")
    first, second = start(made, objective="after/b/s/q")
    assert first == 2.0
    assert isinstance(second, FairlabError)
    (unknown,) = start(made[:1], objective="after/c")
    assert "sweep/0 has no after/c; hydra.launcher.objective takes one of ['after/b/s/q']" in str(unknown)


def test_each_run_has_a_gpu_of_its_own(jobs, start):
    made = jobs("finish", "finish", "finish")
    start(made, "joblib", gpus=[3, 5])
    used = [run.job.log.read_text().split()[-1] for run in made]
    assert set(used) <= {"3", "5"}
    assert used[:2] in (["3", "5"], ["5", "3"])


def test_sigterm_is_handed_on_and_nothing_more_begins(jobs, start):
    made = jobs("wait", "finish")

    def terminate():
        while not (made[0].job.place / "waiting").exists():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=terminate)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        start(made)
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before
    assert not made[1].job.place.exists()
    assert start(made) == [None, None]
    assert [tries(run) for run in made] == [";ckpt=sweep/0;", ";"]


@pytest.mark.slow
def test_a_job_that_is_preempted_is_queued_again_and_goes_on(jobs, start):
    pytest.importorskip("submitit")
    (made,) = jobs("wait")

    def preempt():
        while not (made.job.place / "waiting").exists() or not (made.job.place / "waiting").read_text():
            time.sleep(0.02)
        os.kill(int((made.job.place / "waiting").read_text()), signal.SIGUSR2)  # as Slurm warns a job

    thread = threading.Thread(target=preempt)
    thread.start()
    assert start([made], "submitit") == [None]
    thread.join()
    assert tries(made) == ";ckpt=sweep/0;"


def test_a_run_whose_ray_worker_dies_is_done_again(jobs, start):
    ray = pytest.importorskip("ray")
    (made,) = jobs("wait")

    def kill():
        while not (made.job.place / "waiting").exists() or not (made.job.place / "waiting").read_text():
            time.sleep(0.02)
        os.kill(int((made.job.place / "waiting").read_text()), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        assert start([made], "ray") == [None]
    finally:
        ray.shutdown()
    thread.join()
    assert tries(made) == ";ckpt=sweep/0;"


def test_what_cannot_be_swept(jobs, start, tmp_path, monkeypatch):
    made = jobs("finish", "finish")
    (tmp_path / "sweep" / "1").mkdir(parents=True)
    Record(tmp_path / "sweep" / "1", {"ckpt": None, "beta": 2}, "").save()
    with pytest.raises(FairlabError, match=r"sweep/1 holds another run \(beta=2, not 1\); choose another hydra.sweep"):
        start(made)
    made[0].config["ckpt"] = "last"
    with pytest.raises(FairlabError, match="ckpt continues one run and cannot be used with -m"):
        start(made)


def test_two_of_one_sweep_are_refused(jobs, start):
    made = jobs("wait", "finish")
    said = []

    def second():
        while not (made[0].job.place / "waiting").exists():
            time.sleep(0.02)
        try:
            launching.lock_folder(Path("sweep"))
        except FairlabError as error:
            said.append(str(error))
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=second)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        start(made)
    thread.join()
    assert said == ["another process is running in sweep; wait for it or choose another hydra.run.dir"]


@pytest.mark.parametrize(("over", "package", "name"), [("submitit", "submitit", "slurm"), ("ray", "ray", "ray")])
def test_without_the_extra_one_sentence_names_it(jobs, start, monkeypatch, over, package, name):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(FairlabError, match=rf"needs the extra {name}: pip install 'fairlab\[{name}\]'"):
        start(jobs("finish"), over)


def test_no_slurm_here(jobs, start, monkeypatch):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", "/none")
    with pytest.raises(FairlabError, match=r"launcher=submitit_slurm: .*srun"):
        start(jobs("finish"), "submitit", cluster="slurm")


def test_what_a_run_prints_holds_no_secret(jobs, start, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "on the way")
    (made,) = jobs("finish")
    start([made])
    assert made.job.log.read_text().startswith("<SOME_API_KEY>")


@pytest.mark.parametrize(("over", "extra"), [("submitit", "slurm"), ("ray", "ray")])
def test_a_launcher_without_its_package_is_one_sentence_before_anything_runs(tmp_path, monkeypatch, over, extra):
    monkeypatch.setitem(sys.modules, over, None)
    settings = {key: value for key, value in SETTINGS[over].items() if key != "threads"}
    with pytest.raises(FairlabError, match=rf"^this launcher needs the extra {extra}: pip install"):
        run_jobs({"one": []}, pytest.fail, over=over, logs=tmp_path / "logs", **settings)
    assert list(tmp_path.iterdir()) == []
