"""Balanced subsample of an expanded dataset, which favours no biaser, kind or entry by its position in the file."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fairlab.data.stream.manifest import Manifest
from fairlab.data.stream.shards import data_name, split_of
from fairlab.files import replaced_when_written, sha256

WHOLE = "whole"  # folder of the whole expansion
LEFT_OUT = "left out by the limit"


def fair_choice(groups: Sequence[str], limit: int, seed: int) -> list[int]:
    """Choose at most ``limit`` rows, spread over the groups as evenly as possible, and return their positions in order.

    Every group contributes one row in turn until the limit is reached. Hashes that depend on the seed determine which
    rows of a group are chosen and which groups contribute one more row.
    """

    def drawn(what: str) -> bytes:
        return hashlib.sha256(f"{seed}:{what}".encode()).digest()

    places: dict[str, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        places[group].append(place)
    turns = [
        (turn, drawn(f"{turn}:{group}"), place)
        for group, own in places.items()
        for turn, place in enumerate(sorted(own, key=lambda place: drawn(str(place))))
    ]
    return sorted(place for _, _, place in sorted(turns)[:limit])


def subsample(manifest: Manifest, folder: Path, limit: int, seed: int) -> None:
    """Write a balanced subsample of the data in ``folder / WHOLE`` to ``folder``, and list it in the manifest.

    Original entries form one group, and the rows made for each biaser form another. All rows are kept in ``WHOLE``.
    """
    names = manifest.files("data")
    groups = [row.get("biaser", "") for name in names for row in _rows(folder / WHOLE / name)]
    chosen = set(fair_choice(groups, limit, seed))
    for shard in manifest.shards:
        shard.pop("data", None)
        for entry in shard.values():
            entry["file"] = f"{WHOLE}/{entry['file']}"
    place = 0
    for split in dict.fromkeys(split_of(Path(name)) for name in names):
        file, written = folder / data_name(split, 0), 0
        with replaced_when_written(file) as temporary, temporary.open("w", encoding="utf-8") as kept:
            for line in _lines(folder / WHOLE / name for name in names if split_of(Path(name)) == split):
                if place in chosen:
                    kept.write(line)
                    written += 1
                place += 1
        if written:
            manifest.shards.append({"data": {"file": file.name, "rows": written, "sha256": sha256(file)}})
        else:
            file.unlink()
    manifest.counts[LEFT_OUT] = place - len(chosen)


def _lines(files: Iterable[Path]) -> Iterator[str]:
    for path in files:
        with path.open(encoding="utf-8") as file:
            yield from file


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
