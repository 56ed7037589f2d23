"""Running the entry point as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import make_groups, row, write_rows

TRAIN = [sys.executable, "-m", "fairlab.train"]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@pytest.fixture
def run(tmp_path):
    """Run ``python -m fairlab.train``, or another entry, in an empty folder; returns the finished process."""

    def command(*arguments: str, entry: str = "train", **environment: str) -> subprocess.CompletedProcess[str]:
        env = os.environ | {"COLUMNS": "200"} | environment
        return subprocess.run(
            [sys.executable, "-m", f"fairlab.{entry}", *arguments],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

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
