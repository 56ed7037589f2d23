"""Schema of results: readings, skipped measurements, and the record of a run."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.checks.record_form import record_fault
from fairlab.checks.redaction import redacted
from fairlab.files import COMPACT, PLAIN, check_folder, read_record, record_file, write_whole
from fairlab.types import Description, FairlabError, values_of

VERSION = 1  # of record.json; increased if older versions of fairlab cannot read it
TRAINING = "training"  # used instead of a benchmark's name in a note about training
SAYS_NOTHING = "says nothing of bias"  # mark of readings of a model that fails the check of its behaviour
DATA = "data"  # phase of readings about the data, not a model


@dataclass(frozen=True)
class Reading:
    """One measured number.

    Attributes:
        benchmark, subset, quantity: Names of the benchmark, of its part and of the measured quantity; together with the
            phase, they form the key in ``metrics.json``.
        value: Measured number, in ``unit``.
        unit: Unit of the value, as the benchmark's authors print it.
        ideal: Value of a perfectly fair or useful model, in ``unit``; None if there is no such value.
        n: Number of items that the value is computed from.
        low, high: Bounds of the 95 % interval, in ``unit``.
        headline: Whether the value represents its benchmark in summaries and bar charts.
        p: P-value of the benchmark's own test of the value, e.g. the permutation test of an effect size; None if there
            is no test.
        p_holm: ``p`` adjusted for the benchmark's other tests of the same kind, by Holm's method; None if there is no
            test.
        phase: Measured model or data: ``before``, ``after``, ``data``, or the label of a model.
        seed: Seed of the run.
        version: Version of the benchmark's definition under which the value was computed; 0 in records written before
            versions existed.
        description: Description of the benchmark; None in records written before descriptions existed.

    Raises:
        ValueError: The value or a bound is infinite or NaN; a result without an interval is a :class:`NotRun`.
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
    p: float | None = None
    p_holm: float | None = None
    phase: str = ""
    seed: int | None = None
    version: int = 0
    description: Description | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not all(math.isfinite(number) for number in (self.value, self.low, self.high)):
            raise ValueError(f"{self.key} has no value or no interval: {self.value} [{self.low}, {self.high}]")

    @property
    def key(self) -> str:
        """Return ``<phase>/<benchmark>/<subset>/<quantity>``."""
        return _key(self)


@dataclass(frozen=True)
class Comparison:
    """Difference in one reading between two models, paired item by item.

    Attributes:
        benchmark, subset, quantity, unit: Names and unit of the two compared readings.
        difference: The later model's value minus the earlier one's, in ``unit``.
        low, high: Bounds of the difference's 95 % interval; both models' items are resampled together.
        p: Two-sided p-value for the hypothesis of no difference; below 0.05 if the interval excludes 0.
        n: Number of items that both readings are computed from.
        headline: Whether the readings represent their benchmark in summaries and bar charts.
        p_holm: ``p`` adjusted for all headline comparisons of the same two models, by Holm's method; None for other
            comparisons.
        phase: ``change`` for after minus before, otherwise the labels of the two models.
        description: Description of the benchmark; None in records written before descriptions existed.
    """

    benchmark: str
    subset: str
    quantity: str
    difference: float
    unit: str
    low: float
    high: float
    p: float
    n: int
    headline: bool = False
    p_holm: float | None = None
    phase: str = ""
    description: Description | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> str:
        """Return ``<phase>/<benchmark>/<subset>/<quantity>``."""
        return _key(self)


@dataclass(frozen=True)
class NotRun:
    """Measurement that could not be taken, with the reason.

    No other measurement is reported in its place.
    """

    benchmark: str
    subset: str
    reason: str
    phase: str = ""


@dataclass(frozen=True)
class Note:
    """Information that is needed to interpret the numbers of a benchmark.

    Attributes:
        benchmark: Name of the benchmark that the note is about.
        text: One sentence for the reader of the numbers.
        item: Id of the data item that the note is about; empty if it is about the whole benchmark.
        phase: ``before`` or ``after``, or the label of a model; empty if the note is about the data.
        subset: Part of the benchmark that the note is about; empty for the whole benchmark.
        mark: Short warning shown next to every reading that the note is about; empty if the numbers are sound.
    """

    benchmark: str
    text: str
    item: str = ""
    phase: str = ""
    subset: str = ""
    mark: str = ""

    def marks(self, reading: Reading) -> bool:
        """Return whether the note's mark applies to a reading.

        A note on training applies to every benchmark.
        """
        about = self.benchmark in (reading.benchmark, TRAINING) and self.subset in ("", reading.subset)
        return bool(self.mark) and about and self.phase in ("", reading.phase)


@dataclass
class Outcome:
    """Result of one benchmark on one model, with the values needed for paired comparisons.

    Attributes:
        items: Per-item values, which the benchmark itself compares with those of another model.
        draws: Bootstrap draws (2,000) of each reading, by ``<subset>/<quantity>``. Draws of two models over the same
            items resample the same items, so that two runs can be compared afterwards.
    """

    readings: list[Reading] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    not_run: list[NotRun] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    items: dict[str, NDArray[np.floating]] = field(default_factory=dict)
    draws: dict[str, NDArray[np.floating]] = field(default_factory=dict)


def _key(entry: Reading | Comparison) -> str:
    return "/".join(part for part in (entry.phase, entry.benchmark, entry.subset, entry.quantity) if part)


@dataclass
class Record:
    """Complete result of a run, which people and sweeps read.

    The file is rewritten as a whole whenever an entry is added.

    Attributes:
        folder: Folder of the run.
        config: Resolved configuration of the run, as plain containers.
        command: Command line that started the run.
        status: ``running``, ``finished``, ``failed`` or ``interrupted``.
        reason: Reason why the run did not finish; empty otherwise.
        provenance: Revision, versions, hardware, hashes of data and weights, and running times.
        history: One row of named values per training step or validation.
    """

    folder: Path
    config: dict[str, Any]
    command: str
    status: str = "running"
    reason: str = ""
    readings: list[Reading] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    not_run: list[NotRun] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    provenance: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def state(self) -> str:
        """Return the status, with the reason if there is one.

        The record of a killed process still has the status ``running``.
        """
        status = "running, or killed" if self.status == "running" else self.status
        return f"{status}: {self.reason}" if self.reason else status

    def metrics(self) -> dict[str, float]:
        """Return the values of all readings, their p-values (``_p``) and all differences, by key."""
        values = {reading.key: reading.value for reading in self.readings}
        values |= {f"{reading.key}_p": reading.p for reading in self.readings if reading.p is not None}
        return values | {comparison.key: comparison.difference for comparison in self.comparisons}

    def add_notes(self, notes: Iterable[Note]) -> None:
        """Add the notes that are not yet in the record."""
        self.notes = list(dict.fromkeys([*self.notes, *notes]))

    def marks(self, reading: Reading) -> list[str]:
        """Return the warnings to show next to a reading, for example that the method did not train."""
        return list(dict.fromkeys(note.mark for note in self.notes if note.marks(reading)))

    def reading(self, key: str) -> Reading | None:
        """Return the reading with a key, or None if there is none."""
        return next((reading for reading in self.readings if reading.key == key), None)

    @property
    def phases(self) -> list[str]:
        """Return the phases in which models were measured, in order.

        The phase of the data is not included.
        """
        return list(dict.fromkeys(reading.phase for reading in self.readings if reading.phase != DATA))

    @property
    def name(self) -> str:
        """Return the name that the user gave to the run (``name=``).

        The result is empty if there is no such name.
        """
        given = self.config.get("name")
        return str(given) if isinstance(given, str | int) else ""

    def table(self) -> list[dict[str, Reading]]:
        """Return one row per measured quantity, with its readings by phase, in the order of measurement."""
        rows: dict[tuple[str, str, str], dict[str, Reading]] = {}
        for reading in self.readings:
            rows.setdefault((reading.benchmark, reading.subset, reading.quantity), {})[reading.phase] = reading
        return list(rows.values())

    def save(self) -> None:
        """Write ``record.json`` and ``metrics.json``, without secrets of the environment.

        A compressed record in the same folder is removed.
        """
        content = {"version": VERSION, "described": descriptions_in(self.readings)}
        content |= {one.name: getattr(self, one.name) for one in fields(self) if one.name != "folder"}
        content |= {name: [values_in(entry) for entry in getattr(self, name)] for name in ENTRIES}
        write_whole(self.folder / PLAIN, _json(content))
        (self.folder / COMPACT).unlink(missing_ok=True)
        write_whole(self.folder / "metrics.json", _json(self.metrics()))

    @classmethod
    def load(cls, folder: Path) -> Record:
        """Load the record of a run.

        Records of older versions lack newer fields.

        Raises:
            FairlabError: The record is damaged, was written by a newer version of fairlab, or its folder links to files
                outside.
        """
        if folder.is_dir():
            check_folder(folder)
        file = record_file(folder)
        try:
            content = json.loads(read_record(file))
            version = content.pop("version", 0) if isinstance(content, dict) else 0
            if not isinstance(version, int):
                raise ValueError(f"its version is {type(version).__name__}, not a number")
            if version > VERSION:
                raise FairlabError(
                    f"{file} was written by a newer fairlab (version {version} of the record; this one reads up to "
                    f"{VERSION}); update fairlab, or move {folder} away"
                )
            known = Description.read_all(content.pop("described", {}) if isinstance(content, dict) else {})
            for name, kind in ENTRIES.items():
                if isinstance(content, dict) and isinstance(content.get(name), list):
                    checked = [values_of(kind, entry, f"an entry of {name}", UNWRITTEN) for entry in content[name]]
                    own = [{"description": known.get(one["benchmark"])} if name in DESCRIBED else {} for one in checked]
                    content[name] = [kind(**entry, **more) for entry, more in zip(checked, own, strict=True)]
            values = values_of(cls, content, "the record", besides=("folder",))
            if fault := record_fault(values):
                raise ValueError(fault)
            return cls(folder, **values)
        except (ValueError, ArithmeticError, OSError, RecursionError) as error:
            said = " ".join(str(error).split())
            raise FairlabError(f"{file} is damaged ({said}); restore a copy, or move {folder} away") from error


ENTRIES = {"readings": Reading, "comparisons": Comparison, "not_run": NotRun, "notes": Note}
DESCRIBED = ("readings", "comparisons")  # entries that take the description of their benchmark
UNWRITTEN = ("description",)  # fields of an entry that a record stores once per benchmark instead


def values_in(entry: Any) -> dict[str, Any]:
    """Return the values of a record entry by name, without the description."""
    return {one.name: getattr(entry, one.name) for one in fields(entry) if one.name not in UNWRITTEN}


def descriptions_in(readings: Iterable[Reading]) -> dict[str, dict[str, Any]]:
    """Return the descriptions of the measured benchmarks as plain containers, by benchmark name."""
    measured: dict[str, tuple[Description, list[str]]] = {}
    for reading in readings:
        if reading.description is not None:
            measured.setdefault(reading.benchmark, (reading.description, []))[1].append(reading.quantity)
    return {name: description.values(quantities) for name, (description, quantities) in measured.items()}


def _json(content: Any) -> str:
    return json.dumps(redacted(without_nan(content)), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def without_nan(value: Any) -> Any:
    """Replace NaN and infinite values by None, because JSON cannot represent them."""
    match value:
        case dict():
            return {key: without_nan(item) for key, item in value.items()}
        case list() | tuple():
            return [without_nan(item) for item in value]
        case float() if not math.isfinite(value):
            return None
    return value
