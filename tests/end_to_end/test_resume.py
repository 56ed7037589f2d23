"""Runs that are killed or interrupted go on to the same result."""

import shutil
import signal

import pytest
import torch
from safetensors.torch import load_file

from fairlab.record import Record
from tests.end_to_end.conftest import LONG, kill, last_checkpoint, only_run, wait_for


@pytest.fixture
def uninterrupted(run, small, tmp_path):
    """Final weights of a run that was never stopped."""
    assert run(*small, *LONG, f"hydra.run.dir={tmp_path}/whole").returncode == 0
    return tmp_path / "whole"


@pytest.mark.slow
def test_kill_9_in_mid_training_and_ckpt_last_give_the_same_weights(run, start, small, tmp_path, uninterrupted):
    process = start(*small, *LONG)
    wait_for(last_checkpoint(tmp_path), process)
    kill(process)
    folder = only_run(tmp_path)
    assert Record.load(folder).status == "running"
    assert not (folder / "model").exists()

    changed = run(*small, *LONG, "method.beta=0.5", "ckpt=last")
    assert changed.returncode == 1
    assert "has method.beta=1.0, not 0.5" in changed.stderr

    done = run(*small, *LONG, "ckpt=last")
    assert done.returncode == 0, done.stderr
    assert only_run(tmp_path) == folder
    whole, resumed = Record.load(uninterrupted), Record.load(folder)
    assert resumed.status == "finished"
    assert resumed.history == whole.history
    assert resumed.metrics() == whole.metrics()
    expected = load_file(uninterrupted / "model" / "model.safetensors")
    found = load_file(folder / "model" / "model.safetensors")
    assert expected.keys() == found.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)

    again = run(*small, *LONG, f"ckpt={folder}")
    assert again.returncode == 1
    assert "is finished" in again.stderr


@pytest.mark.slow
@pytest.mark.long
def test_ctrl_c_keeps_the_checkpoint_and_says_interrupted(run, start, small, tmp_path, uninterrupted):
    process = start(*small, *LONG)
    wait_for(last_checkpoint(tmp_path), process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    folder = only_run(tmp_path)
    assert (folder / "checkpoints" / "last.ckpt").is_file()
    assert Record.load(folder).status == "interrupted"
    assert run(*small, *LONG, f"ckpt={folder}").returncode == 0
    expected = load_file(uninterrupted / "model" / "model.safetensors")
    found = load_file(folder / "model" / "model.safetensors")
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.slow
def test_sigterm_takes_a_checkpoint_and_a_damaged_one_is_passed_over(run, start, small, tmp_path, uninterrupted):
    process = start(*small, *LONG)
    wait_for(lambda: list((tmp_path / "outputs").glob("ccd_bert/*/checkpoints/previous.ckpt")), process)
    process.terminate()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    folder = only_run(tmp_path)
    record = Record.load(folder)
    assert (record.status, record.reason) == ("interrupted", "SIGTERM")
    last, previous = (folder / "checkpoints" / f"{name}.ckpt" for name in ("last", "previous"))
    steps = [torch.load(path, weights_only=True)["global_step"] for path in (previous, last)]
    assert steps[0] < steps[1] < Record.load(uninterrupted).history[-1]["step"]
    last.write_bytes(last.read_bytes()[:-1000])

    done = run(*small, *LONG, "ckpt=last")
    assert done.returncode == 0, done.stderr
    assert "checkpoints/last.ckpt is damaged; training resumed from previous.ckpt" in done.stdout
    expected = load_file(uninterrupted / "model" / "model.safetensors")
    found = load_file(folder / "model" / "model.safetensors")
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert Record.load(folder).history == Record.load(uninterrupted).history


@pytest.mark.slow
def test_a_run_killed_after_its_last_step_only_measures_and_exports(run, small, tmp_path):
    arguments = [*small, "method.epochs=4", "method.validate_every=5", "trainer.checkpoint_every=4"]
    assert run(*arguments).returncode == 0
    folder = only_run(tmp_path)
    whole = Record.load(folder)
    expected = load_file(folder / "model" / "model.safetensors")
    shutil.rmtree(folder / "model")
    shutil.rmtree(folder / "items" / "after")
    Record(folder, whole.config, whole.command, readings=[r for r in whole.readings if r.phase != "after"]).save()
    done = run(*arguments, "ckpt=last")
    assert done.returncode == 0, done.stderr
    resumed = Record.load(folder)
    assert resumed.metrics() == whole.metrics()
    assert resumed.history == whole.history
    found = load_file(folder / "model" / "model.safetensors")
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.slow
def test_data_that_changed_since_the_start_is_refused(run, start, small, tmp_path):
    process = start(*small, *LONG)
    wait_for(last_checkpoint(tmp_path), process)
    other = run(*small, *LONG, "ckpt=last")
    assert other.returncode == 1
    assert "another process is running in" in other.stderr
    kill(process)
    rows = (tmp_path / "groups.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "groups.jsonl").write_text("".join(rows[1:]))
    done = run(*small, *LONG, "ckpt=last")
    assert done.returncode == 1
    assert "the data of the run in" in done.stderr
    assert "changed since it started" in done.stderr


def test_ckpt_cannot_be_swept(run, small):
    done = run("-m", *small, "ckpt=last", "seed=1,2")
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("fairlab: ckpt continues one run and cannot be used with -m")


def test_nothing_to_continue(run, small):
    done = run(*small, "ckpt=last")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "fairlab: there is no unfinished run in outputs/ccd_bert; leave ckpt out to start a new one"
    ]
