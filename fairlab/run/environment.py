"""Environment of a run: revision of fairlab, versions of its dependencies, and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from fairlab.checks.cores import cores
from fairlab.text.pipeline import SPACY

VERSIONS = [
    "fairlab",
    "torch",
    "transformers",
    "lightning",
    "torchmetrics",
    "hydra-core",
    "peft",
    "sentence-transformers",
    "scikit-learn",
    "scipy",
    "numpy",
]


def environment() -> dict[str, Any]:
    """Return the revision of fairlab, the versions of its dependencies, and the machine."""
    import torch

    return {
        "revision": _git_revision(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in VERSIONS},
        **({"spacy": os.environ[SPACY]} if SPACY in os.environ else {}),
        "hardware": {
            "processor": _processor(),
            "cores": cores(),
            "threads": torch.get_num_threads(),
            "gpus": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
            "system": platform.platform(),
        },
    }


@cache
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


@cache
def _git_revision() -> str:
    """Return the commit of fairlab's checkout, marked if files were changed since.

    The result is empty if there is no checkout.
    """
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        return ""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
