"""What a run says of the seconds and the memory of its stages."""

import re
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from fairlab.benchmarks import stages
from fairlab.benchmarks.runner import measure
from fairlab.benchmarks.stages import Stage, keep_stage, stage, stages_of
from fairlab.record import Outcome, Record
from fairlab.reporting.report import stage_section
from fairlab.types import Description

MB = 2**20


@pytest.fixture
def record(tmp_path):
    return Record(tmp_path, {"seed": 0, "benchmark": {}}, "")


def test_a_stage_says_how_long_it_took_and_how_much_memory_it_held(record):
    block = bytearray(400 * MB)
    block[::4096] = b"x" * len(block[::4096])
    del block  # an earlier peak is not the stage's
    with stage(record, "loading"):
        time.sleep(0.1)
        small = bytearray(50 * MB)
        small[::4096] = b"x" * len(small[::4096])
    with stage(record, "training"):
        large = bytearray(200 * MB)
        large[::4096] = b"x" * len(large[::4096])
    found = stages_of(record)
    assert list(found) == ["loading", "training"]
    assert 0.1 <= found["loading"].seconds < 5
    assert 140 * MB < found["training"].peak_bytes - found["loading"].peak_bytes < 260 * MB
    assert found["loading"].gpu_peak_bytes is None


OWN = """
from fairlab.benchmarks.stages import Stage, timed
with timed(taken := Stage()):
    pass
print(taken.peak_bytes)
"""


@pytest.mark.slow
def test_the_peak_is_not_that_of_the_process_that_started_this_one():
    block = bytearray(1500 * MB)
    block[::4096] = b"x" * len(block[::4096])
    said = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, check=True).stdout
    assert 5 * MB < int(said) < 1000 * MB


def test_a_stage_that_fails_is_kept_and_one_that_is_done_again_adds_up(record):
    with pytest.raises(ZeroDivisionError), stage(record, "training"):
        _ = 1 / 0
    assert stages_of(record)["training"].seconds >= 0
    keep_stage(record, "nothing", Stage())
    assert record.provenance["stages"].pop("nothing") == {"seconds": 0, "peak_bytes": 0, "gpu_peak_bytes": None}
    keep_stage(record, "export", Stage(1.5001, 300, 10))
    keep_stage(record, "export", Stage(2.0, 200, None))
    assert stages_of(record)["export"] == Stage(3.5, 300, 10)
    record.save()
    assert stages_of(Record.load(record.folder))["export"] == Stage(3.5, 300, 10)


@pytest.mark.parametrize(("platform", "peak"), [("darwin", 7), ("linux", 7 * 1024)])
def test_the_peak_of_other_systems_is_in_bytes(monkeypatch, tmp_path, platform, peak):
    monkeypatch.setattr(stages, "PROC_STATUS", tmp_path / "none")
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("resource.getrusage", lambda _: SimpleNamespace(ru_maxrss=7))
    assert stages._peak() == peak


@pytest.mark.parametrize(("used", "peak"), [(True, 9), (False, None), (None, None)])
def test_a_gpu_counts_once_it_is_in_use(monkeypatch, used, peak):
    cuda = SimpleNamespace(is_initialized=lambda: used, max_memory_allocated=lambda: 9)
    monkeypatch.setitem(sys.modules, "torch", None if used is None else SimpleNamespace(cuda=cuda))
    assert stages._gpu_peak() == peak


def test_every_benchmark_of_every_phase_is_a_stage(record, tiny):
    class Slow:
        name, version = "slow", 1
        description = Description("slow", "Slow", "?", {})

        def measure(self, backbone, before):
            time.sleep(0.05)
            return Outcome()

    for phase in ("before", "", "before"):  # the last already exists
        measure([Slow()], tiny, phase, record)
    found = stages_of(record)
    assert list(found) == ["before/slow", "slow"]
    assert all(0.05 <= taken.seconds < 5 for taken in found.values())


def test_the_report_lists_them(record):
    assert stage_section(record) is None  # of a record that was written before there were stages
    for name, seconds in (("loading", 1), ("before/seat", 2), ("before/cced", 3), ("training", 4)):
        keep_stage(record, name, Stage(seconds, 500_000_000))
    note, fold = stage_section(record).blocks
    assert re.match(r"10\.0 s .* 500 MB", note.text)
    assert fold.blocks[0].rows[1] == ["before/seat", "2.0", "500"]
