"""View of one model of a record, for writers of other formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairlab import __version__
from fairlab.metrics.bootstrap import Z
from fairlab.record import Reading, Record
from fairlab.reporting.headlines import judging_rules

OWNED = re.compile(r"[\w.-]+/[\w.-]+")  # name of a model on the hub, with its owner


@dataclass(frozen=True)
class MeasuredModel:
    """One model of a record with its readings.

    Attributes:
        record: Record of the run.
        phase: Phase of the model in the record; empty if it is the only model.
        readings: Readings of the model.
    """

    record: Record
    phase: str
    readings: tuple[Reading, ...]

    @property
    def label(self) -> str:
        """Return the name of the model's subfolder if there are several models."""
        return name_of_file(self.phase) or "model"

    @property
    def name(self) -> str:
        """Return the name of the run or model; for a trained model, the name of its folder is added."""
        if self.record.name and self.phase in ("", "after"):
            return self.record.name
        given = model_given(self.record)
        if isinstance(given, Mapping):
            given = given.get(self.phase)
        name = str(given) if isinstance(given, str) else self.record.folder.name
        return f"{name}-{self.record.folder.name}" if self.phase == "after" else name

    @property
    def version(self) -> str:
        """Return the version of fairlab that measured the model."""
        return str(self.record.provenance.get("versions", {}).get("fairlab", __version__))

    @property
    def weights(self) -> str:
        """Return the hash of the model's weights; empty if it is not in the record."""
        provenance = self.record.provenance
        facts: Any = provenance.get("weights")
        own = facts.get("sha256") if isinstance(facts, dict) else ""
        return str((provenance.get("model_sha256") if self.phase == "after" else own) or "")

    def by_benchmark(self) -> dict[str, list[Reading]]:
        """Return the readings by the name of their benchmark."""
        found: dict[str, list[Reading]] = {}
        for reading in self.readings:
            found.setdefault(reading.benchmark, []).append(reading)
        return found


def model_given(record: Record) -> Any:
    """Return the name of the model given to a run, names by label if there are several models, or None."""
    backbone = record.config.get("backbone")
    return (backbone.get("name") if isinstance(backbone, dict) else backbone) or record.config.get("model")


def name_of_file(text: str) -> str:
    """Return a text in a form that file names allow, with ``_`` instead of unsuitable characters."""
    return re.sub(r"[^\w.-]+", "_", text)


def standard_error(reading: Reading) -> float:
    """Return the standard error implied by a reading's 95 % interval under a normal distribution."""
    return (reading.high - reading.low) / (2 * Z)


def lower_is_better(reading: Reading) -> bool | None:
    """Return whether the ideal value is the reading's lower bound (True) or upper bound (False); None if neither."""
    info = judging_rules(reading)
    if reading.ideal is None or info is None or reading.ideal not in (info.low, info.high):
        return None
    return reading.ideal == info.low
