"""Annotation sheet for a person who judges perturbed rows.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", appendix J, table 9.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from fairlab.augmentation.perturbation import CHOICE
from fairlab.checks.escapes import as_csv
from fairlab.data.stream.manifest import Manifest
from fairlab.files import write_whole
from fairlab.text.fields import join_fields

SHEET = "reading_sheet.csv"
FORMER = "audit.csv"  # name of the sheet before version 0.2
EXAMPLES = 25  # rows per task, as in appendix J
TAGS = ("factuality change", "incomplete or incorrect", "wrong selection", "typos and naturalness", "unperturbed")
LABEL, JUDGED = "label", "label of the perturbed text"


def write_sheet(manifest: Manifest, folder: Path) -> Path | None:
    """Write ``reading_sheet.csv`` with 25 perturbed rows, selected by hash, unless the folder already has a sheet.

    For each row, a person fills in the label that the perturbed text seems to have, and marks each tag of table 9 that
    applies with an x: a fact changed; the rewrite is incomplete or wrong; the selected word does not belong to the
    axis; there is a typo or an unnatural phrase; a word that should have been perturbed was not. The result is the path
    of the sheet, or None if no row was perturbed.
    """
    names = manifest.made_by["field"]
    names = [names] if isinstance(names, str) else names
    chosen = sorted(_selected_rows(folder, manifest), key=lambda row: row[0])[:EXAMPLES]
    if not chosen:
        return None
    if there := [folder / name for name in (SHEET, FORMER) if (folder / name).exists()]:
        return there[0]
    path = folder / SHEET
    rows = [["id", "axis", "word", "target", "original", "perturbed", LABEL, JUDGED, *TAGS]]
    for _, row in chosen:
        choice = row[CHOICE]
        made = join_fields([row[name] for name in names])
        about = [row["id"], choice["axis"], choice["word"], choice["target"], row["source_text"], made]
        rows.append([*about, row.get(LABEL, ""), "", *[""] * len(TAGS)])
    write_whole(path, as_csv(rows))
    return path


def _selected_rows(folder: Path, manifest: Manifest) -> Iterator[tuple[str, dict]]:  # type: ignore[type-arg]
    """Yield the selected rows with their hashes, in bounded memory."""
    best: list[tuple[str, dict]] = []  # type: ignore[type-arg]
    for name in manifest.files("data"):
        with (folder / name).open(encoding="utf-8") as lines:
            found = [row for row in map(json.loads, lines) if row["perturbed"]]
        keyed = [
            (hashlib.sha256(f"{row['source_place']} {row['source_text']}".encode()).hexdigest(), row) for row in found
        ]
        best = sorted([*best, *keyed], key=lambda pair: pair[0])[:EXAMPLES]
    yield from best
