"""Running the entry point as a user does."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import make_groups, row, write_rows

TRAIN = [sys.executable, "-m", "fairlab.train"]


class Warm:
    """Runs entry points by ``warm.py``, which is started again after a command that took too long."""

    def __init__(self) -> None:
        self.server: subprocess.Popen[str] | None = None

    def run(self, entry: str, arguments: list[str], folder: Path, environment: dict[str, str], timeout: float) -> tuple:
        """Exit status, standard output and standard error of ``python -m fairlab.ENTRY``."""
        self.server = self.server or self.start()
        with tempfile.TemporaryDirectory() as printed:
            out, err = Path(printed) / "out", Path(printed) / "err"
            place = {"folder": str(folder), "environment": environment, "out": str(out), "err": str(err)}
            print(json.dumps({"entry": entry, "arguments": arguments} | place), file=self.server.stdin, flush=True)
            ready, _, _ = select.select([self.server.stdout], [], [], timeout)
            if not ready:
                self.stop()
                raise TimeoutError(f"{entry} {arguments} took over {timeout} s: {err.read_text()}")
            return int(self.server.stdout.readline()), out.read_text(), err.read_text()

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, str(Path(__file__).with_name("warm.py"))]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)

    def stop(self) -> None:
        if self.server:
            os.killpg(self.server.pid, signal.SIGKILL)  # with the command it runs
            self.server = None


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    server = Warm()
    yield server
    server.stop()


@pytest.fixture
def run(tmp_path, warm):
    """Run ``python -m fairlab.train``, or another entry, in an empty folder; returns the finished process.

    With variables of the environment, which libraries may read as they are imported, by a process from scratch.
    """

    def command(*arguments: str, entry: str = "train", **environment: str) -> subprocess.CompletedProcess[str]:
        env = os.environ | {"COLUMNS": "200"} | environment
        called = [sys.executable, "-m", f"fairlab.{entry}", *arguments]
        if not environment:
            return subprocess.CompletedProcess(called, *warm.run(entry, [*arguments], tmp_path, env, timeout=300))
        return subprocess.run(called, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)

    return command


@pytest.fixture
def small(tmp_path, tiny_folders) -> list[str]:
    """Overrides of a run that takes a moment: a tiny random masked LM on a dozen groups, measured on them alone."""
    path = write_rows(tmp_path / "groups.jsonl", [row(group) for group in make_groups(40)])
    return [
        "+experiment=ccd_bert",
        *tiny_backbone(tiny_folders["bert_mlm"]),
        f"data.path={path}",
        "benchmark=[cced]",
        f"benchmark.cced.sets=[{path}]",
        "trainer.checkpoint_every=1",
    ]


def tiny_backbone(folder: Path) -> list[str]:
    return ["backbone=bert_base", f"backbone.name={folder}", "backbone.max_length=32"]


def only_run(folder: Path, experiment: str = "ccd_bert") -> Path:
    """The folder of the single run below ``outputs``."""
    (found,) = (folder / "outputs" / experiment).iterdir()
    return found


# Validations and checkpoints fall on the same steps, the harder case.
LONG = ["method.epochs=24", "method.validate_every=10", "method.dropout=true", "trainer.checkpoint_every=10"]


def start(arguments: list[str], folder: Path) -> subprocess.Popen[str]:
    """A run in the background, in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [*TRAIN, *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        # A shell hands its background jobs an ignored SIGINT, which a test run there would inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(path: Callable[[], Any], process: subprocess.Popen[str], seconds: float = 120) -> None:
    deadline = time.time() + seconds
    while not path():
        assert process.poll() is None, process.stderr.read()
        assert time.time() < deadline
        time.sleep(0.02)


def last_checkpoint(folder: Path) -> Callable[[], list[Path]]:
    return lambda: list((folder / "outputs").glob("ccd_bert/*/checkpoints/last.ckpt"))
