"""Whole runs in two processes against one, in one folder, and in a sweep."""

import json
import os
import subprocess
import sys

import pytest

from fairlab.record import Record

SHARED = ["trainer=ddp_cpu", "trainer.devices=2", "trainer.checkpoint_every=1"]


def test_two_processes_leave_the_run_of_one(run, small, tmp_path):
    command = [*small, "benchmark=[cced,seat]", "data.validation=5", "data.batch_size=8", "method.validate_every=2"]
    alone = run(*command, "hydra.run.dir=alone", "trainer=cpu")
    assert alone.returncode == 0, alone.stderr
    both = run("-m", *command, *SHARED, "seed=42", "hydra.sweep.dir=both", "logger=csv")
    assert both.returncode == 0, both.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["alone", "both"]
    folder = tmp_path / "both" / "0"
    assert {path.name for path in folder.parent.iterdir() if path.is_dir()} == {"0", "logs"}, "one run, not two"
    one, two = Record.load(tmp_path / "alone"), Record.load(folder)
    assert two.status == "finished"
    assert len(one.history) == len(two.history) >= 5
    for row, other in zip(one.history, two.history, strict=True):
        assert other == pytest.approx(row, abs=1e-4)  # in single precision; tests/test_ranks.py is stricter
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
