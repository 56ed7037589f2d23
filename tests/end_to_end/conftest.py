"""Running the entry point as a user does."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from transformers import BartConfig, BartForConditionalGeneration

from tests.conftest import make_groups, row, write_rows

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def warm_python(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> str:
    """Path of what runs ``-m fairlab...`` as the interpreter does, by a fork of a process with all libraries.

    All workers of a test run share that process, which ends with the test run.
    """
    alone = worker_id == "master"
    folder = tmp_path_factory.getbasetemp()
    folder = (folder if alone else folder.parent) / "warm"
    owner = os.getpid() if alone else os.getppid()
    python, place = folder / "python", folder / "socket"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            start_warm(python, place, owner)
    return str(python)


def start_warm(python: Path, place: Path, owner: int) -> None:
    """Write what stands where the interpreter would, and start the process that it asks."""
    python.parent.mkdir()
    called = [sys.executable, "-IS", str(HERE / "warm_python.py"), sys.executable, str(place)]
    python.write_text(f'#!/bin/sh\nexec {shlex.join(called)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, str(HERE / "warm.py"), str(place), str(python), str(owner)],
        start_new_session=True,
        # A shell hands its background jobs an ignored SIGINT, which a test run there would inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not place.exists():
        assert server.poll() is None
        time.sleep(0.01)


@pytest.fixture
def run(tmp_path, warm_python):
    """Run ``python -m fairlab.train``, or another entry, in an empty folder; returns the finished process.

    With variables of the environment, which libraries may read as they are imported, by a process from scratch; the
    places of modules are read later.
    """

    def command(*arguments: str, entry: str = "train", **environment: str) -> subprocess.CompletedProcess[str]:
        env = os.environ | {"COLUMNS": "200"} | environment
        called = [
            warm_python if environment.keys() <= {"PYTHONPATH"} else sys.executable,
            "-m",
            f"fairlab.{entry}",
            *arguments,
        ]
        return subprocess.run(called, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600, check=False)

    return command


@pytest.fixture
def start(tmp_path, warm_python):
    """Start ``python -m fairlab.train``, or another entry, in an empty folder; to be stopped by ``kill``."""

    def command(*arguments: str, entry: str = "train") -> subprocess.Popen[str]:
        called = [warm_python, "-m", f"fairlab.{entry}", *arguments]
        return subprocess.Popen(called, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    return command


def kill(process: subprocess.Popen[str]) -> None:
    """End a process at once, as a machine does that loses its power; what it had open is closed."""
    process.kill()
    process.communicate(timeout=60)


def wait_for(happened: Callable[[], object], process: subprocess.Popen[str], seconds: float = 120) -> None:
    """Wait until something has happened while a process is at work."""
    deadline = time.time() + seconds
    while not happened():
        assert process.poll() is None, process.stderr.read()
        assert time.time() < deadline
        time.sleep(0.02)


@pytest.fixture
def small(tmp_path, tiny_folders) -> list[str]:
    """Overrides of a run that takes a moment: a tiny random masked LM on forty groups, measured on a dozen."""
    rows = [row(group) for group in make_groups(40)]
    path = write_rows(tmp_path / "groups.jsonl", rows)
    (tmp_path / "measured").mkdir()
    measured = write_rows(tmp_path / "measured" / "groups.jsonl", rows[:12])
    return [
        "+experiment=ccd_bert",
        *tiny_backbone(tiny_folders["bert_mlm"]),
        f"data.path={path}",
        "benchmark=[cced]",
        f"benchmark.cced.sets=[{measured}]",
        "trainer.checkpoint_every=1",
    ]


@pytest.fixture
def tiny_bart(tmp_path, tokenizer) -> Path:
    """Folder of a random BART, with a WordPiece vocabulary."""
    torch.manual_seed(0)
    size = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    ids = {"pad_token_id": 0, "bos_token_id": 101, "eos_token_id": 102, "decoder_start_token_id": 102}
    config = BartConfig(vocab_size=30522, max_position_embeddings=64, **ids, **size, **heads)
    BartForConditionalGeneration(config).save_pretrained(tmp_path / "bart")
    tokenizer.save_pretrained(tmp_path / "bart")
    return tmp_path / "bart"


def tiny_backbone(folder: Path) -> list[str]:
    return ["backbone=bert_base", f"backbone.name={folder}", "backbone.max_length=32"]


def only_run(folder: Path, experiment: str = "ccd_bert") -> Path:
    """The folder of the single run below ``outputs``."""
    (found,) = (folder / "outputs" / experiment).iterdir()
    return found


# Validations and checkpoints fall on the same steps, the harder case.
LONG = ["method.epochs=24", "method.validate_every=10", "method.dropout=true", "trainer.checkpoint_every=10"]


def start_as_a_shell_does(arguments: list[str], folder: Path) -> subprocess.Popen[str]:
    """A run in the background, in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "fairlab.train", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        # A shell hands its background jobs an ignored SIGINT, which a test run there would inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def last_checkpoint(folder: Path) -> Callable[[], list[Path]]:
    return lambda: list((folder / "outputs").glob("ccd_bert/*/checkpoints/last.ckpt"))
