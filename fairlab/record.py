"""The result schema: readings, what was not run, and the record a run leaves."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import subprocess
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.files import write_whole

VERSIONS = [
    "fairlab",
    "torch",
    "transformers",
    "lightning",
    "torchmetrics",
    "hydra-core",
    "sentence-transformers",
    "scikit-learn",
    "scipy",
    "numpy",
]
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """One measured number.

    Attributes:
        benchmark, subset, quantity: what was measured; with the phase they make the key in ``metrics.json``.
        value: in ``unit``.
        unit: as the benchmark's authors print it.
        ideal: the value of a perfectly fair or useful model, in ``unit``; None where there is no such value.
        n: items the value is over.
        low, high: 95 % bootstrap interval over the items; nan where n is too small.
        headline: whether the value stands for its benchmark in summaries and bars.
        phase: ``before``, ``after`` or ``data``.
        seed: of the run.
    """

    benchmark: str
    subset: str
    quantity: str
    value: float
    unit: str
    ideal: float | None
    n: int
    low: float
    high: float
    headline: bool = False
    phase: str = ""
    seed: int | None = None

    @property
    def key(self) -> str:
        """``<phase>/<benchmark>/<subset>/<quantity>``."""
        return "/".join(part for part in (self.phase, self.benchmark, self.subset, self.quantity) if part)


@dataclass(frozen=True)
class NotRun:
    """A measurement that could not be taken, and why; it is never replaced by another."""

    benchmark: str
    subset: str
    reason: str
    phase: str = ""


@dataclass
class Outcome:
    """What a benchmark gives for one model: readings, gaps in them, and per-item arrays for paired comparison."""

    readings: list[Reading] = field(default_factory=list)
    not_run: list[NotRun] = field(default_factory=list)
    items: dict[str, NDArray[np.float32]] = field(default_factory=dict)


@dataclass
class Record:
    """Everything a run leaves behind for people and sweeps to read; rewritten whole whenever something is added.

    Attributes:
        folder: the run's.
        config: resolved, as plain containers.
        command: that started the run.
        status: ``running``, ``finished``, ``failed`` or ``interrupted``.
        reason: why the run did not finish.
        provenance: revision, versions, hardware, data and weights by hash, times.
        history: one row of named values per training step or validation.
    """

    folder: Path
    config: dict[str, Any]
    command: str
    status: str = "running"
    reason: str = ""
    readings: list[Reading] = field(default_factory=list)
    not_run: list[NotRun] = field(default_factory=list)
    provenance: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)

    def metrics(self) -> dict[str, float]:
        """Flat values by key."""
        return {reading.key: reading.value for reading in self.readings}

    def pairs(self) -> list[tuple[Reading, Reading | None]]:
        """Every reading of before with its after, in order; then readings of one phase alone, without a partner."""
        before, after = (
            {reading.key.partition("/")[2]: reading for reading in self.readings if reading.phase == phase}
            for phase in ("before", "after")
        )
        pairs: list[tuple[Reading, Reading | None]] = [(reading, after.get(key)) for key, reading in before.items()]
        pairs += [(reading, None) for key, reading in after.items() if key not in before]
        return pairs + [(reading, None) for reading in self.readings if reading.phase == "data"]

    def save(self) -> None:
        """Write ``record.json`` and ``metrics.json``; secrets of the environment are blanked."""
        content = {name: value for name, value in asdict(self).items() if name != "folder"}
        write_whole(self.folder / "record.json", _json(content))
        write_whole(self.folder / "metrics.json", _json(self.metrics()))

    @classmethod
    def load(cls, folder: Path) -> Record:
        """Read a run's record back."""
        content = json.loads((folder / "record.json").read_text(encoding="utf-8"))
        readings = [Reading(**_with_nan(reading)) for reading in content.pop("readings")]
        not_run = [NotRun(**entry) for entry in content.pop("not_run")]
        return cls(folder, readings=readings, not_run=not_run, **content)


def _json(content: Any) -> str:
    return without_secrets(json.dumps(_without_nan(content), indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def _without_nan(value: Any) -> Any:
    """JSON knows no nan: it becomes null."""
    match value:
        case dict():
            return {key: _without_nan(item) for key, item in value.items()}
        case list() | tuple():
            return [_without_nan(item) for item in value]
        case float() if not math.isfinite(value):
            return None
    return value


def _with_nan(reading: dict[str, Any]) -> dict[str, Any]:
    return {
        key: math.nan if item is None and key in ("value", "low", "high") else item for key, item in reading.items()
    }


def without_secrets(text: str) -> str:
    """``text`` with the values of environment variables named like keys, tokens or passwords blanked."""
    for name, value in os.environ.items():
        if SECRET_NAME.search(name) and len(value) >= 6:
            text = text.replace(value, f"<{name}>")
    return text


def environment() -> dict[str, Any]:
    """Revision of fairlab, versions of what it stands on, and the machine."""
    import torch

    return {
        "revision": _git_revision(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in VERSIONS},
        "hardware": {
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "threads": torch.get_num_threads(),
            "gpus": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
            "system": platform.platform(),
        },
    }


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


def _git_revision() -> str:
    """Commit of the checkout fairlab runs from, marked when files differ from it; empty for an installed wheel."""
    checkout = Path(__file__).resolve().parents[1]
    if not (checkout / ".git").exists():
        return ""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
