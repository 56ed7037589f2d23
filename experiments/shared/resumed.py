"""Trainings of experiments that resume where they were stopped."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fairlab.files import holds_run
from fairlab.record import Record


def trained(folder: Path, overrides: Sequence[str]) -> Record:
    """Train with ``fairlab.train`` unless the run is finished, and return its record.

    A training that was stopped continues from its checkpoint.

    Args:
        folder: Folder of the run.
        overrides: Options of ``fairlab.train`` other than the folder.

    Raises:
        subprocess.CalledProcessError: The training failed.
    """
    if not holds_run(folder) or Record.load(folder).status != "finished":
        place = "ckpt" if any(folder.glob("checkpoints/*")) else "hydra.run.dir"
        subprocess.run([sys.executable, "-m", "fairlab.train", *overrides, f"{place}={folder}"], check=True)
    return Record.load(folder)
