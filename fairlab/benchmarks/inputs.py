"""Inputs that determine a benchmark's results: hashes of the files that it reads, and the version of its definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fairlab.data.published.download import locate
from fairlab.data.reads import PACKAGE, portable_name
from fairlab.files import sha256
from fairlab.record import Record
from fairlab.types import DataUnavailable, FairlabError

READ_BY = "benchmarks"  # key of a record's provenance: files and versions by the name of the benchmark
FEW = 100  # maximum number of values of a list that may be paths


def changed_file(kept: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return the name of a file of a model or dataset that has changed.

    Args:
        kept: Facts in a record: ``sha256`` and, for a model, ``files`` by name.
        now: Current values of the same facts.

    Returns:
        Name of the file, an empty string if the content itself (``sha256``) has changed, or None if nothing has changed
        or the record contains no hashes of the files.
    """
    if kept["sha256"] != now["sha256"]:
        return ""
    before, after = kept.get("files"), now.get("files")
    if before is None or after is None:  # the record predates these hashes
        return None
    differing = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return differing[0] if differing else None


def facts_of(benchmark: Any, read: Mapping[str, Path], config: Any) -> dict[str, Any]:
    """Return the version of a benchmark, and the SHA-256 of its data: of its files, and of items from elsewhere.

    Args:
        benchmark: Benchmark, whose settings may name files.
        read: Files that the benchmark read with fairlab's readers, by name.
        config: Configuration of the benchmark.
    """
    named = {portable_name(place): place for place in (*files_in_settings(vars(benchmark)), *files_in_settings(config))}
    files = {name: sha256(place) for name, place in sorted({**named, **read}.items()) if place.is_file()}
    items = getattr(benchmark, "items_sha256", None)
    return {"version": benchmark.version, "files": files} | ({"items": items} if items else {})


def other_input(first: Record, second: Record, name: str, subset: str) -> str:
    """Return what differs between the inputs of a benchmark in two records, or an empty string.

    Files of fairlab itself are not compared, because a change in them raises the version of the definition if it
    affects results. Anything that only one of the records has is not compared either.
    """
    mine, theirs = ((record.provenance.get(READ_BY) or {}).get(name, {}) for record in (first, second))
    files = _differing(mine.get("files", {}), theirs.get("files", {}))
    if own := [file for file in files if not (PACKAGE.parent / file).is_relative_to(PACKAGE)]:
        return f"{own[0]} changed between them"
    parts = _differing(mine.get("items", {}), theirs.get("items", {}))
    differ = any(part in ("", subset) or subset.startswith(f"{part}_") for part in parts)
    return "their texts, labels or groups differ" if differ else ""


def _differing(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return the keys that both mappings have, with different values."""
    return [key for key in first if key in second and first[key] != second[key]]


def files_in_settings(value: Any) -> Iterator[Path]:
    """Yield the files that are named in settings, at any depth."""
    if isinstance(value, Mapping) and len(value) <= FEW:
        yield from (path for one in value.values() for path in files_in_settings(one))
    elif isinstance(value, list | tuple) and len(value) <= FEW:
        yield from (path for one in value for path in files_in_settings(one))
    elif isinstance(value, Path | str) and _is_file(str(value)):
        yield Path(value)


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a file name, or contains a NUL byte
        return False


def refuse_changed_files(record: Record, names: Iterable[str], instead: str) -> None:
    """Check that the data read by a record's benchmarks exists and is unchanged.

    ``instead`` is the remedy that the message suggests.

    Raises:
        FairlabError: A file is missing or has changed.
    """
    kept = record.provenance.get(READ_BY, {})
    for name in names:
        for file, digest in kept.get(name, {}).get("files", {}).items():
            try:
                places = (place for place in (Path(file), PACKAGE.parent / file) if place.is_file())
                place = next(places, None) or locate(file)
            except DataUnavailable as error:
                raise FairlabError(f"{file}, which {name} of {record.folder} read, is gone; {instead}") from error
            if sha256(place) != digest:
                raise FairlabError(f"{file} changed since {name} of {record.folder} read it; {instead}")
