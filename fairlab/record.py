"""The result schema: readings, what was not run, and the record a run leaves."""

from __future__ import annotations

import html
import json
import math
import os
import re
import shlex
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.files import COMPACT, PLAIN, read_record, record_file, write_whole
from fairlab.types import Description, FairlabError, values_of

VERSION = 1  # of record.json; raised when an older fairlab could not read it
TRAINING = "training"  # in place of a benchmark's name, in a note about how a model was trained
SAYS_NOTHING = "says nothing of bias"  # mark of readings of a model that fails the check of its behaviour
DATA = "data"  # the phase of readings that are of the data, not of a model
SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHR|CREDENTIAL|(?<![A-Z])(PAT|AUTH)(?![A-Z])|(PASS|(?<=_)PWD)(?![A-Z])",
    re.IGNORECASE,
)
SHORTEST, LONG = 6, 12  # characters of a secret; one that is not long is blanked as a whole word alone
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
# What stands before the host of an address, and where the name of a variable belongs.
IN_ADDRESS = re.compile(r"(://[^\s/:@'\"<>]*:)[^\s/'\"<>]+@")
MISPLACED = re.compile(r"(\w*_env\\?['\"]?\s*[=:]\s*\\?['\"]?)([^\s'\",}\]\\<$]+)")
HUB_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{20,}")  # however it came there
NOTHING = ("null", "None", "~")


@dataclass(frozen=True)
class Reading:
    """One measured number.

    Attributes:
        benchmark, subset, quantity: names of the benchmark, of the part of it and of what was measured; with the phase
            they make the key in ``metrics.json``.
        value: the measured number, in ``unit``.
        unit: unit of the value, as the benchmark's authors print it.
        ideal: the value of a perfectly fair or useful model, in ``unit``; None where there is no such value.
        n: number of items the value is over.
        low, high: bounds of the 95 % interval, in ``unit``.
        headline: whether the value stands for its benchmark in summaries and bars.
        p: p-value of the benchmark's own test of the value, e.g. the permutation test of an effect size; None where
            it has none.
        p_holm: ``p`` adjusted for the benchmark's other tests of the kind, by Holm's method; None where it has none.
        phase: model or data that was measured: ``before``, ``after``, ``data``, or the label of a model.
        seed: seed of the run.
        version: version of the benchmark's definition that gave the value; 0 in records older than versions.
        description: what the benchmark says of itself; None in records older than descriptions.

    Raises:
        ValueError: the value or a bound is infinite or no number; what has no interval is a :class:`NotRun`.
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
        """``<phase>/<benchmark>/<subset>/<quantity>``."""
        return _key(self)


@dataclass(frozen=True)
class Comparison:
    """The difference of one reading between two models, paired item by item.

    Attributes:
        benchmark, subset, quantity, unit: names and unit of the two readings that are compared.
        difference: the later model's value less the earlier one's, in ``unit``.
        low, high: bounds of the difference's 95 % interval; both models' items are resampled together.
        p: two-sided p-value of no difference; below 0.05 where the interval leaves 0 out.
        n: number of items that both readings are over.
        headline: whether the readings stand for their benchmark in summaries and bars.
        p_holm: ``p`` adjusted for all headline comparisons of the same two models, by Holm's method; None elsewhere.
        phase: ``change`` for after less before, else the labels of the two models.
        description: what the benchmark says of itself; None in records older than descriptions.
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
        """``<phase>/<benchmark>/<subset>/<quantity>``."""
        return _key(self)


@dataclass(frozen=True)
class NotRun:
    """A measurement that could not be taken, and why; it is never replaced by another."""

    benchmark: str
    subset: str
    reason: str
    phase: str = ""


@dataclass(frozen=True)
class Note:
    """Something about a benchmark's numbers that their reader must know.

    Attributes:
        benchmark: name of the benchmark whose numbers it is about.
        text: one sentence for the reader of the numbers.
        item: the item it is about, by its id in the data; empty for the benchmark as a whole.
        phase: ``before`` or ``after``, or the label of a model; empty where it is about the data.
        subset: the part of the benchmark that it is about; empty for all of it.
        mark: a few words that stand beside every reading the note is about; empty where the numbers are sound.
    """

    benchmark: str
    text: str
    item: str = ""
    phase: str = ""
    subset: str = ""
    mark: str = ""

    def marks(self, reading: Reading) -> bool:
        """Whether its mark stands beside a reading; that of a run's training stands beside all that came after."""
        about = self.benchmark in (reading.benchmark, TRAINING) and self.subset in ("", reading.subset)
        return bool(self.mark) and about and self.phase in ("", reading.phase)


@dataclass
class Outcome:
    """What a benchmark gives for one model, with what paired comparisons need.

    Attributes:
        items: values of each item, which the benchmark itself compares with those of another model.
        draws: bootstrap draws (2,000,) of readings by ``<subset>/<quantity>``; those of two models over the same items
            resample the same ones, so that what two runs measured can be compared afterwards.
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
    """Everything a run leaves behind for people and sweeps to read; rewritten whole whenever something is added.

    Attributes:
        folder: folder of the run.
        config: resolved configuration of the run, as plain containers.
        command: command line that started the run.
        status: ``running``, ``finished``, ``failed`` or ``interrupted``.
        reason: why the run did not finish; empty otherwise.
        provenance: revision, versions, hardware, data and weights by hash, times.
        history: one row of named values per training step or validation.
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

    def metrics(self) -> dict[str, float]:
        """Flat values by key: readings with their p-values (``_p``), and differences."""
        values = {reading.key: reading.value for reading in self.readings}
        values |= {f"{reading.key}_p": reading.p for reading in self.readings if reading.p is not None}
        return values | {comparison.key: comparison.difference for comparison in self.comparisons}

    def add_notes(self, notes: Iterable[Note]) -> None:
        """Add the notes that are not there yet."""
        self.notes = list(dict.fromkeys([*self.notes, *notes]))

    def marks(self, reading: Reading) -> list[str]:
        """What must be said beside a reading, such as that the method did not train."""
        return list(dict.fromkeys(note.mark for note in self.notes if note.marks(reading)))

    @property
    def phases(self) -> list[str]:
        """Phases of models in the order measured; readings of the data have none of these."""
        return list(dict.fromkeys(reading.phase for reading in self.readings if reading.phase != DATA))

    def table(self) -> list[dict[str, Reading]]:
        """Rows of the same reading by phase, in the order measured."""
        rows: dict[tuple[str, str, str], dict[str, Reading]] = {}
        for reading in self.readings:
            rows.setdefault((reading.benchmark, reading.subset, reading.quantity), {})[reading.phase] = reading
        return list(rows.values())

    def save(self) -> None:
        """Write ``record.json`` and ``metrics.json``; secrets of the environment are blanked.

        A compressed record of the same folder is removed.
        """
        content = {"version": VERSION, "described": descriptions_in(self.readings)}
        content |= {one.name: getattr(self, one.name) for one in fields(self) if one.name != "folder"}
        content |= {name: [values_in(entry) for entry in getattr(self, name)] for name in ENTRIES}
        write_whole(self.folder / PLAIN, _json(content))
        (self.folder / COMPACT).unlink(missing_ok=True)
        write_whole(self.folder / "metrics.json", _json(self.metrics()))

    @classmethod
    def load(cls, folder: Path) -> Record:
        """Read a run's record back; older ones lack what came later.

        Raises:
            FairlabError: it is damaged, or a newer fairlab wrote it.
        """
        file = record_file(folder)
        try:
            content = json.loads(read_record(file))
            version = content.pop("version", 0) if isinstance(content, dict) else 0
            if isinstance(version, int) and version > VERSION:
                raise FairlabError(
                    f"{file} was written by a newer fairlab (version {version} of the record; this one reads up to "
                    f"{VERSION}); update fairlab, or move {folder} away"
                )
            known = Description.read_all(content.pop("described", {}) if isinstance(content, dict) else {})
            for name, kind in ENTRIES.items():
                if isinstance(content, dict) and isinstance(content.get(name), list):
                    content[name] = [
                        kind(**values_of(kind, entry, f"an entry of {name}", UNWRITTEN)) for entry in content[name]
                    ]
            found = cls(folder, **values_of(cls, content, "the record", besides=("folder",)))
            found.readings = [replace(entry, description=known.get(entry.benchmark)) for entry in found.readings]
            found.comparisons = [replace(entry, description=known.get(entry.benchmark)) for entry in found.comparisons]
            return found
        except (ValueError, OSError, RecursionError) as error:
            said = " ".join(str(error).split())
            raise FairlabError(f"{file} is damaged ({said}); put a copy back, or move {folder} away") from error


ENTRIES = {"readings": Reading, "comparisons": Comparison, "not_run": NotRun, "notes": Note}
UNWRITTEN = ("description",)  # of an entry: a record holds it once for each benchmark


def values_in(entry: Any) -> dict[str, Any]:
    """Return the values of an entry of a record by name, without its description."""
    return {one.name: getattr(entry, one.name) for one in fields(entry) if one.name not in UNWRITTEN}


def descriptions_in(readings: Iterable[Reading]) -> dict[str, dict[str, Any]]:
    """Return what the benchmarks of readings say of themselves, by name, as plain containers."""
    measured: dict[str, tuple[Description, list[str]]] = {}
    for reading in readings:
        if reading.description is not None:
            measured.setdefault(reading.benchmark, (reading.description, []))[1].append(reading.quantity)
    return {name: description.values(quantities) for name, (description, quantities) in measured.items()}


def _json(content: Any) -> str:
    return json.dumps(redacted(without_nan(content)), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def without_nan(value: Any) -> Any:
    """JSON knows no nan: it becomes null."""
    match value:
        case dict():
            return {key: without_nan(item) for key, item in value.items()}
        case list() | tuple():
            return [without_nan(item) for item in value]
        case float() if not math.isfinite(value):
            return None
    return value


def redacted(content: Any) -> Any:
    """Plain containers with secrets blanked, in their strings alone, so that numbers stay numbers."""
    return _redacted(content, _secrets())


def _redacted(content: Any, secrets: dict[str, str]) -> Any:
    match content:
        case dict():
            return {_redacted(key, secrets): _of_key(key, _redacted(value, secrets)) for key, value in content.items()}
        case list() | tuple():
            return [_redacted(item, secrets) for item in content]
        case str():
            return secrets.get(content) or _blanked(content, secrets)
    return content


def _of_key(key: Any, value: Any) -> Any:
    """A setting's value; blanked where a key was given in place of the name of its variable."""
    misplaced = str(key).endswith("_env") and isinstance(value, str) and not is_variable_name(value)
    return f"<{key}>" if misplaced else value


def without_secrets(text: str) -> str:
    """``text`` with secrets blanked, however they are written in it.

    Secrets are the values of environment variables named like keys, tokens or passwords, passwords in addresses, and
    keys that were given where the name of their variable belongs. Values of fewer than :data:`SHORTEST` characters are
    left, and so are shorter numbers: they stand in every text by chance.
    """
    return _blanked(text, _secrets())


def _blanked(text: str, secrets: dict[str, str]) -> str:
    pattern, spelled = _finder(tuple(secrets.items()))
    text = pattern.sub(lambda found: spelled[found[0]], text) if spelled else text
    text = HUB_TOKEN.sub("<token>", IN_ADDRESS.sub(r"\1<password>@", text))
    return MISPLACED.sub(_misplaced, text)


def _misplaced(found: re.Match[str]) -> str:
    named = found[2] in NOTHING or is_variable_name(found[2])
    return found[0] if named else f"{found[1]}<key>"


def is_variable_name(name: str) -> bool:
    """Whether a text names an environment variable that could hold a key, rather than being a key itself."""
    return name in os.environ or (VARIABLE.fullmatch(name) is not None and SECRET_NAME.search(name) is not None)


def _secrets() -> dict[str, str]:
    """What stands in the place of each secret of the environment."""
    found: dict[str, str] = {}
    for name, value in os.environ.items():
        if SECRET_NAME.search(name):
            parts = [value, *(line for line in value.splitlines() if len(line) >= LONG)]
            found |= {part.strip(): f"<{name}>" for part in parts if len(part.strip()) >= SHORTEST}
    return found


def _spellings(value: str) -> set[str]:
    """The ways in which JSON, YAML, HTML, addresses, shells and sentences write a text."""
    plain = {value, " ".join(value.split())}
    escaped = {json.dumps(way, ensure_ascii=ascii)[1:-1] for way in plain for ascii in (True, False)}
    quoted = {way.replace("'", "''") for way in plain} | {shlex.quote(way)[1:-1] for way in plain if "'" in way}
    written = plain | escaped | quoted | {repr(way)[1:-1] for way in plain}
    shown = {html.escape(way) for way in written}
    shown |= {way.replace("&#x27;", "&#39;").replace("&quot;", "&#34;") for way in shown}  # as templates escape
    return (
        written
        | shown
        | {html.escape(way, quote=False) for way in written}
        | {urllib.parse.quote(way, safe="") for way in plain}
    )


@cache
def _finder(secrets: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """Any way of writing a secret, longest first and short ones as whole words alone; and what stands in its place."""
    long = {value: name for value, name in secrets if len(value) >= LONG or not value.isdecimal()}
    spelled = {way: name for value, name in long.items() for way in _spellings(value)}
    ordered = sorted(spelled, key=len, reverse=True)
    ways = [re.escape(way) if len(way) >= LONG else rf"(?<!\w){re.escape(way)}(?!\w)" for way in ordered]
    return re.compile("|".join(ways)), spelled
