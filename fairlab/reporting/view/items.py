"""Items of a run's benchmarks, with their texts and their scores in each phase.

A run folder stores only scores, except for benchmarks defined outside fairlab, for which it also stores the texts. The
texts of fairlab's benchmarks are read again from their original location: the user's files, or the data shipped with
fairlab. Only texts whose licence allows redistribution may be written to a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.benchmarks.finding import find_class
from fairlab.benchmarks.inputs import READ_BY, files_in_settings
from fairlab.benchmarks.kept_items import UNFIT, items_file, kept_texts
from fairlab.checks.foreign import read_tensors
from fairlab.data.reads import portable_name
from fairlab.files import sha256
from fairlab.protocols import Measurement
from fairlab.record import Record
from fairlab.types import FairlabError, ItemTexts

Array = NDArray[np.floating]
MOST_VALUES = 4  # maximum number of values per item without texts; wider arrays are embeddings
FREE = ("CC0-1.0", "MIT")  # licences of texts that a page may contain
DIFFERENT = "the current files do not contain the items that were measured"


@dataclass(frozen=True)
class ScoredItems:
    """Items of one benchmark, or of one part of a benchmark, in a run.

    Attributes:
        name: Name of the benchmark, and of the part if there are several.
        values: Name of each score.
        ids: Identifiers of the N items.
        texts: Texts of each item; empty if they are unavailable.
        scores: Scores (N, number of score names) by phase.
        free: Whether the texts may be written to a page.
        missing: Reason why the texts are unavailable; empty if they are available.
        groups: Group of each item, such as its bias type; empty if there are no groups.
    """

    name: str
    values: Sequence[str]
    ids: Sequence[str]
    texts: Sequence[Sequence[str]]
    scores: Mapping[str, Array]
    free: bool
    missing: str = ""
    groups: Sequence[str] = ()

    @property
    def changed(self) -> list[int]:
        """Return the indices of the items, sorted by decreasing change in scores from the first to the last phase."""
        phases = list(self.scores.values())
        moved = (
            np.nan_to_num(np.abs(phases[-1] - phases[0]).max(axis=1)) if len(phases) > 1 else np.zeros(len(self.ids))
        )
        return np.argsort(-moved, kind="stable").tolist()


def items_of(record: Record) -> list[ScoredItems]:
    """Return the items of all benchmarks whose scores are stored in the folder of a record."""
    folder = record.folder / "items"
    stems = [file.stem for file in sorted(folder.rglob("*.safetensors"))] if folder.is_dir() else []
    names = dict.fromkeys(stem for stem in stems if not stem.endswith(".draws"))  # draws belong to readings
    return [found for name in names for found in _benchmark_items(name, record)]


def _benchmark_items(name: str, record: Record) -> list[ScoredItems]:
    arrays: dict[str, dict[str, Array]] = {}
    for phase in record.phases:
        file = items_file(record.folder, phase, name)
        try:
            arrays |= {phase: read_tensors(file)} if file.is_file() else {}
        except FairlabError:
            continue
    own = _fairlab_benchmark(name, record)
    try:
        parts, why = (kept_texts(record.folder, name) if own is None else own.texts()), ""
    except (FairlabError, OSError, *UNFIT) as error:
        parts, why = [], str(error)
    found = [scored for part in parts if (scored := _scored(name, part, own, arrays)) is not None]
    return found or _without_texts(name, arrays, why)


def _fairlab_benchmark(name: str, record: Record) -> Measurement | None:
    """Return the fairlab benchmark with a name and the settings in a record.

    The class is found by name instead of being taken from the record, so that a record from another source cannot run
    code. The result is None if the benchmark is defined outside fairlab, has no texts, or its settings or files do not
    fit.
    """
    kind = find_class(name)
    if kind is None or kind.texts is Measurement.texts:
        return None
    of_all = record.config.get("benchmark") or {}
    settings = of_all.get(name) or of_all.get(name.partition("@")[0]) or {}
    given = {key: value for key, value in settings.items() if key not in ("_target_", "limit")}
    if not _are_as_measured(record, name, given):
        return None
    try:
        bounds = [bound for bound in (settings.get("limit"), record.config.get("limit")) if bound is not None]
        found: Measurement = kind(**given, limit=min(bounds, default=None))
    except (FairlabError, *UNFIT):  # the settings are from another version of fairlab
        return None
    return found


def _are_as_measured(record: Record, name: str, settings: Mapping[str, Any]) -> bool:
    """Return whether the files named in settings have the hashes that the record states.

    Without this check, a record from elsewhere could make this page read and show any file on this machine.
    """
    read: Any = record.provenance.get(READ_BY)
    for key in (name, "files"):
        read = read.get(key) if isinstance(read, dict) else None
    kept = read if isinstance(read, dict) else {}
    return all(kept.get(portable_name(file)) == sha256(file) for file in files_in_settings(settings))


def _scored(
    name: str, part: ItemTexts, own: Measurement | None, arrays: Mapping[str, Mapping[str, Array]]
) -> ScoredItems | None:
    """Return the items of a part with their scores, or None if scores are missing or do not match the items."""
    try:
        scores = {
            phase: _columns(found[part.key] if own is None else own.scores(found[part.key]))
            for phase, found in arrays.items()
            if part.key in found
        }
    except UNFIT:
        return None
    sizes = {values.shape for values in scores.values()}
    if sizes != {(len(part.ids), len(part.values))}:
        return None
    whole = f"{name}/{part.part}" if part.part else name
    return ScoredItems(whole, part.values, part.ids, part.texts, scores, part.licence in FREE, groups=part.groups)


def _columns(values: Array) -> Array:
    return values.astype(np.float64).reshape(len(values), -1)


def _without_texts(name: str, arrays: Mapping[str, Mapping[str, Array]], why: str) -> list[ScoredItems]:
    """Return items without texts, for arrays with few values per item, which can be shown as numbers."""
    found = []
    for key in dict.fromkeys(key for of_phase in arrays.values() for key in of_phase):
        scores = {phase: of_phase[key] for phase, of_phase in arrays.items() if key in of_phase}
        shapes = {values.shape for values in scores.values()}
        shape = next(iter(shapes))
        if len(shapes) > 1 or 0 in shape or not 1 <= len(shape) <= 2 or (len(shape) == 2 and shape[1] > MOST_VALUES):
            continue
        columns = {phase: _columns(values) for phase, values in scores.items()}
        width = next(iter(columns.values())).shape[1]
        values = [key] if width == 1 else [f"{key} {k + 1}" for k in range(width)]
        ids = [str(k + 1) for k in range(shape[0])]
        missing = why or DIFFERENT
        found.append(ScoredItems(f"{name}/{key}", values, ids, [], columns, free=True, missing=missing))
    return found
