"""Access to a single model of a record, for export to other formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlab import __version__
from fairlab.metrics.bootstrap import Z
from fairlab.record import Reading, Record
from fairlab.reporting.headlines import judging_rules

OF = "weights of "  # prefix of a model's label in the provenance of an evaluation
OWNED = re.compile(r"[\w.-]+/[\w.-]+")  # name of a model on the hub, with its owner


@dataclass(frozen=True)
class MeasuredModel:
    """Model of a record, with its readings.

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
        """Return the name of the subfolder that is used for the model if there are several models."""
        return name_of_file(self.phase) or "model"

    @property
    def name(self) -> str:
        """Return the name under which the model is exported.

        This is the user-given name of the run if there is one, and otherwise the name of the model on the hub, or its
        name in the configuration. A model in a local folder is named by its label if there are several. The name of the
        run's folder is appended to the name of a trained model.
        """
        if self.record.name and self.phase in ("", "after"):
            return self.record.name
        published = str(self._facts.get("name", ""))
        if self.phase != "after" and OWNED.fullmatch(published):
            return published
        given = model_given(self.record)
        if isinstance(given, Mapping):
            given = self.phase if Path(str(given.get(self.phase))).is_absolute() else given.get(self.phase)
        name = str(given) if isinstance(given, str) else self.record.folder.name
        return f"{name}-{self.record.folder.name}" if self.phase == "after" else name

    @property
    def _facts(self) -> Mapping[str, Any]:
        """Return the name and hash of the weights from which the model was loaded, if the record has them."""
        found = weights_of(self.record)
        return found.get(self.phase) or (next(iter(found.values())) if len(found) == 1 else {})

    @property
    def version(self) -> str:
        """Return the version of fairlab with which the model was measured."""
        return str(self.record.provenance.get("versions", {}).get("fairlab", __version__))

    @property
    def weights(self) -> str:
        """Return the hash of the model's weights, or an empty string if the record has none."""
        trained = self.record.provenance.get("model_sha256")
        return str((trained if self.phase == "after" else self._facts.get("sha256")) or "")

    def by_benchmark(self) -> dict[str, list[Reading]]:
        """Return the readings, by name of the benchmark."""
        found: dict[str, list[Reading]] = {}
        for reading in self.readings:
            found.setdefault(reading.benchmark, []).append(reading)
        return found


def weights_of(record: Record) -> dict[str, Mapping[str, Any]]:
    """Return the names and hashes of the weights that a run loaded, by the model's label or name."""
    facts_of = {"": record.provenance.get("weights")}
    facts_of |= {key.removeprefix(OF): facts for key, facts in record.provenance.items() if key.startswith(OF)}
    return {label: facts for label, facts in facts_of.items() if isinstance(facts, Mapping) and facts.get("name")}


def model_given(record: Record) -> Any:
    """Return the name of the model that a run was given, names by label for several models, or None for none."""
    backbone = record.config.get("backbone")
    return (backbone.get("name") if isinstance(backbone, dict) else backbone) or record.config.get("model")


def name_of_file(text: str) -> str:
    """Replace the characters of a text that are not allowed in file names by ``_``."""
    return re.sub(r"[^\w.-]+", "_", text)


def standard_error(reading: Reading) -> float:
    """Return the standard error that a reading's 95 % interval implies under a normal distribution."""
    return (reading.high - reading.low) / (2 * Z)


def lower_is_better(reading: Reading) -> bool | None:
    """Return True if the ideal value is the lower bound of a reading, False if it is the upper bound, else None."""
    info = judging_rules(reading)
    if reading.ideal is None or info is None or reading.ideal not in (info.low, info.high):
        return None
    return reading.ideal == info.low
