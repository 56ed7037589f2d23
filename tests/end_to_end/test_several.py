"""Whole runs in two processes against one, in one folder, and in a sweep."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairlab.record import Record
from tests.end_to_end.conftest import LONG, last_checkpoint, only_run, start_as_a_shell_does, wait_for

SHARED = ["trainer=ddp_cpu", "trainer.devices=2", "trainer.checkpoint_every=1"]


@pytest.mark.slow
@pytest.mark.long
def test_two_processes_leave_the_run_of_one(run, small, tmp_path):
    command = [*small, "benchmark=[cced,seat]", "data.validation=5", "data.batch_size=8", "method.validate_every=2"]
    alone = run(*command, "hydra.run.dir=alone", "trainer=cpu")
    assert alone.returncode == 0, alone.stderr
    both = run("-m", *command, *SHARED, "seed=42", "hydra.sweep.dir=both", "logger=csv")
    assert both.returncode == 0, both.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["alone", "both", "measured"]
    folder = tmp_path / "both" / "0"
    assert {path.name for path in folder.parent.iterdir() if path.is_dir()} == {"0", "logs"}, "one run, not two"
    one, two = Record.load(tmp_path / "alone"), Record.load(folder)
    assert two.status == "finished"
    assert len(one.history) == len(two.history) >= 5
    for row, other in zip(one.history, two.history, strict=True):
        assert other == pytest.approx(
            row, abs=1e-4
        )  # in single precision; tests/run/launch/test_processes.py is stricter
    first = [name for name in one.history[0] if name.startswith("train/")]
    assert [two.history[0][name] for name in first] == pytest.approx([one.history[0][name] for name in first], rel=1e-5)
    assert two.metrics() == pytest.approx(one.metrics(), rel=1e-3, abs=1e-4)
    before = [reading.value for reading in one.readings if reading.phase == "before"]
    assert [reading.value for reading in two.readings if reading.phase == "before"] == pytest.approx(before, rel=1e-5)
    assert {path.name for path in folder.iterdir()} == {
        *(path.name for path in (tmp_path / "alone").iterdir()),
        "csv",
    }
    printed = (tmp_path / "both" / "logs" / "0.txt").read_text()
    assert printed.count("scale: the backbone is") == 1, "rank 0 alone prints"
    assert (folder / "csv" / "version_0" / "metrics.csv").is_file()

    # What two processes left half done, one finishes.
    two.status, two.readings, two.comparisons = "running", [], []
    two.save()
    for path in (folder / "items").rglob("*.safetensors"):
        path.unlink()
    on = [*SHARED, "trainer.devices=1", "logger=csv", f"ckpt={folder}", "seed=42"]
    done = run(*command, *on)
    assert done.returncode == 0, done.stderr
    assert Record.load(folder).metrics() == pytest.approx(one.metrics(), rel=1e-3, abs=1e-4)


@pytest.mark.slow
@pytest.mark.long
def test_torchrun_starts_the_processes_and_an_evaluation_is_shared(run, tmp_path, tiny_folders):
    command = [f"model={tiny_folders['bert_mlm']}", "benchmark=[seat,bias_ir]", "max_length=32"]
    started = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    started += ["-m", "fairlab.evaluate", *command, "processes=2", "hydra.run.dir=two"]
    done = subprocess.run(
        started,
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert run(*command, "hydra.run.dir=one", entry="evaluate").returncode == 0
    found = {name: json.loads((tmp_path / name / "metrics.json").read_text()) for name in ("one", "two")}
    assert found["two"] == pytest.approx(found["one"], rel=1e-5)
    assert found["one"]
    assert done.stdout.count("report:") == 1


def processes_in(folder):
    """Command lines of processes by their number, of those that work in a folder."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if place.joinpath("cwd").resolve() == folder.resolve():
                found[int(place.name)] = place.joinpath("cmdline").read_bytes().decode()
        except OSError:  # it has ended, or is another user's
            continue
    return found


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("told", ["SIGTERM", "Ctrl-C"])
def test_two_processes_told_to_end_take_a_checkpoint_and_go_on(run, small, tmp_path, told):
    command = [*small, *LONG, *SHARED, "trainer.checkpoint_every=1000"]
    process = start_as_a_shell_does(command, tmp_path)
    best = lambda: list((tmp_path / "outputs").glob("ccd_bert/*/checkpoints/best.ckpt"))  # noqa: E731
    wait_for(best, process)
    if told == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to every process
    else:
        process.terminate()
    _, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr) == (130, "fairlab: interrupted\n")
    folder = only_run(tmp_path)
    assert (Record.load(folder).status, Record.load(folder).reason) == ("interrupted", told)
    assert last_checkpoint(tmp_path)(), "it is not due, so it was taken when the processes were told to end"
    assert not processes_in(tmp_path)
    if told == "SIGTERM":
        done = run(*command, "ckpt=last")
        assert done.returncode == 0, done.stderr
        assert run(*command, "hydra.run.dir=whole").returncode == 0
        whole, resumed = Record.load(tmp_path / "whole"), Record.load(folder)
        assert resumed.history == whole.history
        assert resumed.metrics() == whole.metrics()


@pytest.mark.slow
@pytest.mark.long
def test_kill_9_of_any_process_leaves_none_behind(small, tmp_path):
    command = [*small, *LONG, *SHARED]
    process = start_as_a_shell_does(command, tmp_path)
    wait_for(last_checkpoint(tmp_path), process)
    process.kill()
    process.wait()
    deadline = time.time() + 10
    while processes_in(tmp_path):
        assert time.time() < deadline, processes_in(tmp_path)
        time.sleep(0.1)
    folder = only_run(tmp_path)
    assert Record.load(folder).status == "running"

    (folder / "checkpoints" / "last.ckpt").unlink()
    process = start_as_a_shell_does([*command, "ckpt=last"], tmp_path)
    wait_for(last_checkpoint(tmp_path), process)
    workers = [number for number, line in processes_in(tmp_path).items() if "spawn_main" in line]
    assert len(workers) == 2
    os.kill(max(workers), signal.SIGKILL)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1
    sentence = rf"process [01] of 2 ended before the run did: Signal 9 \(SIGKILL\) received by PID {max(workers)}"
    assert re.fullmatch(f"fairlab: {sentence}\n", stderr)
    assert Record.load(folder).status == "failed"
    assert re.fullmatch(sentence, Record.load(folder).reason)
    assert not processes_in(tmp_path)


@pytest.mark.slow
@pytest.mark.long
def test_a_run_in_shards_that_was_killed_is_continued_by_one_process(run, small, tmp_path):
    command = [*small, *LONG, *SHARED, "trainer.strategy=fsdp", "method.dropout=false"]
    process = start_as_a_shell_does(command, tmp_path)
    wait_for(
        lambda: [path for path in last_checkpoint(tmp_path)() if (path.parent / "previous.ckpt").exists()], process
    )
    process.kill()
    process.wait()
    folder = only_run(tmp_path)
    assert (folder / "checkpoints" / "last.ckpt").is_dir()
    done = run(*command, "trainer.devices=1", "ckpt=last")
    assert done.returncode == 0, done.stderr
    done = run(*command, "hydra.run.dir=whole")
    assert done.returncode == 0, done.stderr
    whole, resumed = Record.load(tmp_path / "whole"), Record.load(folder)
    assert not any("damaged" in note.text for note in resumed.notes)
    assert len(resumed.history) == len(whole.history)
    for row, other in zip(whole.history, resumed.history, strict=True):
        assert other == pytest.approx(row, abs=1e-3)  # in single precision
    assert resumed.metrics() == pytest.approx(whole.metrics(), rel=1e-2, abs=1e-3)
