"""One model of a record, as writers of other formats need it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairlab import __version__
from fairlab.metrics.bootstrap import Z
from fairlab.record import Reading, Record
from fairlab.reporting.headlines import judging_rules

OWNED = re.compile(r"[\w.-]+/[\w.-]+")  # name of a hub's model with its owner


@dataclass(frozen=True)
class MeasuredModel:
    """One model of a record with its readings.

    Attributes:
        record: Record of the run.
        phase: Phase of the model in the record; empty for the only one.
        readings: Readings of the model.
    """

    record: Record
    phase: str
    readings: tuple[Reading, ...]

    @property
    def label(self) -> str:
        """Name of the model's folder among several."""
        return name_of_file(self.phase) or "model"

    @property
    def name(self) -> str:
        """Name of the model: the run's own, or the model's, to which a trained one adds the name of its folder."""
        if self.record.name and self.phase in ("", "after"):
            return self.record.name
        given = model_given(self.record)
        if isinstance(given, Mapping):
            given = given.get(self.phase)
        name = str(given) if isinstance(given, str) else self.record.folder.name
        return f"{name}-{self.record.folder.name}" if self.phase == "after" else name

    @property
    def version(self) -> str:
        """Version of fairlab that measured the model."""
        return str(self.record.provenance.get("versions", {}).get("fairlab", __version__))

    @property
    def weights(self) -> str:
        """Hash of the model's weights; empty if the record has none."""
        provenance = self.record.provenance
        facts: Any = provenance.get("weights")
        own = facts.get("sha256") if isinstance(facts, dict) else ""
        return str((provenance.get("model_sha256") if self.phase == "after" else own) or "")

    def by_benchmark(self) -> dict[str, list[Reading]]:
        """Return the readings by name of their benchmark."""
        found: dict[str, list[Reading]] = {}
        for reading in self.readings:
            found.setdefault(reading.benchmark, []).append(reading)
        return found


def model_given(record: Record) -> Any:
    """Return the model that a run was given: its name, names by label of several models, or None."""
    backbone = record.config.get("backbone")
    return (backbone.get("name") if isinstance(backbone, dict) else backbone) or record.config.get("model")


def name_of_file(text: str) -> str:
    """Return a text as a part of a file's name, with ``_`` instead of unsuitable characters."""
    return re.sub(r"[^\w.-]+", "_", text)


def standard_error(reading: Reading) -> float:
    """Return the standard error that a reading's 95 % interval has if it is normal."""
    return (reading.high - reading.low) / (2 * Z)


def lower_is_better(reading: Reading) -> bool | None:
    """Return the direction of a reading: its ideal value is its lower bound or its upper one; None for neither."""
    info = judging_rules(reading)
    if reading.ideal is None or info is None or reading.ideal not in (info.low, info.high):
        return None
    return reading.ideal == info.low
