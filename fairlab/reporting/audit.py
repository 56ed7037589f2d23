"""Audits of perturbed data by people: a sheet to fill in, and what the filled sheets say.

Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", appendices E and J, tables 8 and 9.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairlab.augmentation.perturbation import CHOICE
from fairlab.data.stream.manifest import Manifest
from fairlab.files import write_whole
from fairlab.metrics.significance import wilson_interval
from fairlab.text.fields import join_fields
from fairlab.text.reading import read_table_rows
from fairlab.types import DataUnavailable, FairlabError

SHEET = "audit.csv"
EXAMPLES = 25  # appendix J: of each task
TAGS = ("factuality change", "incomplete or incorrect", "wrong selection", "typos and naturalness", "unperturbed")
LABEL, JUDGED = "label", "label of the perturbed text"
TRUE, FALSE = ("1", "x", "yes", "true"), ("", "0", "no", "false")


def write_sheet(manifest: Manifest, folder: Path) -> Path | None:
    """Write ``audit.csv`` with 25 perturbed rows, chosen evenly by a hash, unless a person has one there already.

    A person fills in the label they find the perturbed text to have, and puts an x under each tag of table 9 that
    holds: a fact changed, the rewrite is incomplete or wrong, the selected word is none of the axis, there is a typo or
    an unnatural phrase, what should have been perturbed was not.

    Returns:
        Path of the sheet; None where no row was perturbed.
    """
    names = manifest.made_by["field"]
    names = [names] if isinstance(names, str) else names
    chosen = sorted(_perturbed(folder, manifest), key=lambda row: row[0])[:EXAMPLES]
    path = folder / SHEET
    if path.exists() or not chosen:
        return path if chosen else None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "axis", "word", "target", "original", "perturbed", LABEL, JUDGED, *TAGS])
    for _, row in chosen:
        choice = row[CHOICE]
        made = join_fields([row[name] for name in names])
        about = [row["id"], choice["axis"], choice["word"], choice["target"], row["source_text"], made]
        writer.writerow([*about, row.get(LABEL, ""), "", *[""] * len(TAGS)])
    write_whole(path, text.getvalue())
    return path


def _perturbed(folder: Path, manifest: Manifest) -> Iterator[tuple[str, dict]]:  # type: ignore[type-arg]
    """Perturbed rows under the hash that chooses them; a part of it is kept at a time."""
    best: list[tuple[str, dict]] = []  # type: ignore[type-arg]
    for name in manifest.files("data"):
        with (folder / name).open(encoding="utf-8") as lines:
            found = [row for row in map(json.loads, lines) if row["perturbed"]]
        keyed = [
            (hashlib.sha256(f"{row['source_place']} {row['source_text']}".encode()).hexdigest(), row) for row in found
        ]
        best = sorted([*best, *keyed], key=lambda pair: pair[0])[:EXAMPLES]
    yield from best


def read_sheet(path: Path) -> list[dict[str, str]]:
    """Rows of a filled sheet.

    Raises:
        DataUnavailable: there is none.
        FairlabError: it lacks a column, or a tag holds something else than x or nothing.
    """
    if not path.is_file():
        raise DataUnavailable(
            f"{path} is not a file; give an {SHEET} that fairlab.augment wrote and a person filled in"
        )
    found = list(read_table_rows(path))
    for number, row in found:
        if missing := [name for name in ("id", LABEL, JUDGED, *TAGS) if row.get(name) is None]:
            raise FairlabError(f"{path} line {number} has no column '{missing[0]}'; keep those of {SHEET}")
        for tag in TAGS:
            if row[tag].strip().lower() not in TRUE + FALSE:
                raise FairlabError(f"{path} line {number} has '{row[tag]}' under '{tag}'; put x, or leave it empty")
    return [row for _, row in found]


def label_agreement(rows: Sequence[dict[str, str]]) -> tuple[int, int, float, float]:
    """How many labels a person finds kept, of how many judged, and the 95 % Wilson interval of the share.

    Source: appendix J.
    """
    judged = [row for row in rows if row[JUDGED].strip()]
    kept = sum(row[JUDGED].strip().lower() == row[LABEL].strip().lower() for row in judged)
    return kept, len(judged), *wilson_interval(kept, len(judged))


def tag_rates(first: Sequence[dict[str, str]], second: Sequence[dict[str, str]]) -> dict[str, tuple[float, float]]:
    """Of each tag, the share of rows under which either of two people put it, and the share on which they agree.

    Raises:
        FairlabError: the two sheets are of other rows.

    Source: table 9.
    """
    if not first or [row["id"] for row in first] != [row["id"] for row in second]:
        raise FairlabError("the two sheets must hold the same rows in the same order, and at least one")
    rates = {}
    for tag in TAGS:
        pairs = [
            (one[tag].strip().lower() in TRUE, two[tag].strip().lower() in TRUE)
            for one, two in zip(first, second, strict=True)
        ]
        rates[tag] = (sum(map(any, pairs)) / len(pairs), sum(one == two for one, two in pairs) / len(pairs))
    return rates
