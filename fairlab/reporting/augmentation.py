"""Quality report of an augmentation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from fairlab.augmentation.biasers import TO
from fairlab.augmentation.identity import FLAGGED
from fairlab.augmentation.perturbation import CHOICE
from fairlab.augmentation.rounds import read_corrected_round
from fairlab.checks.redaction import without_secrets
from fairlab.data.stream.manifest import Manifest
from fairlab.files import write_whole
from fairlab.record import Record
from fairlab.reporting.curves import objective, rounds
from fairlab.reporting.data_card import data_title, perturbs
from fairlab.reporting.headlines import title as headline
from fairlab.reporting.page import (
    Block,
    Change,
    Code,
    Fold,
    Heading,
    Heed,
    PageTable,
    Row,
    Section,
    Text,
    Verdict,
    json_code,
    measured,
    page,
)
from fairlab.text.difference import pieces, stretches
from fairlab.text.fields import join_fields

EXAMPLES = 30  # number of rows shown
REJECTS = 5  # number of rows shown for each reason
LONGEST = 2000  # maximum number of characters shown of a text


def write_quality_report(record: Record, manifest: Manifest) -> Path:
    """Write ``report.html`` with polarity accuracy, rejected rows and example rows with highlighted changes."""
    folder = record.folder
    rows = [[name, f"{count:,}"] for name, count in manifest.rows().items()]
    searched = record.history and not _in_rounds(manifest)
    examples = [_example(row, manifest.made_by["field"]) for row in _example_rows(folder, manifest)]
    sections: list[Section | None] = [
        Section("Rows", [PageTable(["outcome", "rows"], rows)]),
        _sizes(record, manifest) or _quality(record, manifest),
        Section("Rejected", [_reasons(manifest), *_rejects(folder, manifest)]),
        Section("Prompt search", [rounds(record.history), _rounds(folder)]) if searched else None,
        Section("Examples", examples),
        Section("Provenance", [Code(record.command), Fold("how the data was made", [json_code(record.provenance)])]),
    ]
    path = folder / "report.html"
    title = data_title(manifest)
    write_whole(path, without_secrets(page(f"fairlab: {title}", title, _lead(record, manifest), sections)))
    return path


def _lead(record: Record, manifest: Manifest) -> list[Block]:
    """Return the first blocks of the page: the source of the texts, the row counts and the warnings."""
    counts = manifest.rows()
    sentence = f"{counts['written']:,} rows were made from {counts['read']:,}; {counts['rejected']:,} were rejected."
    lines = [
        f"{headline(one)}{one.phase and f', {one.phase}'}: {one.value:.3g} {one.unit} [{one.low:.3g}, {one.high:.3g}]"
        for one in record.readings
        if one.headline
    ]
    notes = list(dict.fromkeys(note.text for note in record.notes if not note.item))
    heed: list[Block] = [Heed("Before using the data", notes)] if notes else []
    return [Text(f"Made from {manifest.source['name']}."), Verdict(sentence, lines), *heed]


def _sizes(record: Record, manifest: Manifest) -> Section | None:
    """Return the section with the number of rows per biaser or subgroup, or None if the augmentation has neither."""
    if "inject" in manifest.made_by:
        return Section("Versions", _versions(manifest))
    members = {name.removeprefix(TO): count for name, count in manifest.counts.items() if name.startswith(TO)}
    if not members:
        return None
    rows = [[name, f"{count:,}"] for name, count in members.items()]
    note: list[Block] = [Text(f"{record.notes[-1].text}.", "note")] if record.notes else []
    return Section("Rows by biaser", [PageTable(["biaser", "copies and their morphs"], rows), *note])


def _versions(manifest: Manifest) -> list[Block]:
    """Return the number of versions per subgroup, for texts into which identities were injected."""
    rows = [[name.removeprefix(TO), f"{n:,}"] for name, n in manifest.counts.items() if name.startswith(TO)]
    found: list[Block] = [PageTable(["subgroup", "versions"], rows)]
    if FLAGGED in manifest.reasons:
        found.append(Text("Flagged versions are left out; review.jsonl lists them."))
    return found


def _quality(record: Record, manifest: Manifest) -> Section:
    if perturbs(manifest):
        return Section("Perturbed", _perturbed(record, manifest))
    if _in_rounds(manifest):
        return Section("Shortcuts", _shortcuts(record))
    return Section("Polarity", _polarity(record))


def _in_rounds(manifest: Manifest) -> bool:
    return "compat" in manifest.made_by


def _shortcuts(record: Record) -> list[Block]:
    """Return the blocks on RAZOR: the values per round, and the association between negations and labels."""
    probed = any("gain" in row for row in record.history)
    of_rounds: list[Row] = [
        [str(row["round"]), f"{row['objective']:.6f}", f"{row['negations']:,}"]
        + [f"{row[name]:,}" if name in row else "" for name in ("selected", "rewritten")]
        + ([f"{row['gain']:.1f}"] if probed else [])
        for row in record.history
    ]
    readings: list[Row] = [
        [f"{headline(r)}, {r.phase}", measured(r.value, r.low, r.high, ".3g"), r.unit] for r in record.readings
    ]
    return [
        *(Text(f"{one.text}.") for one in record.notes if one.benchmark == "razor"),
        *([objective(record.history)] if record.history else []),
        PageTable(
            ["round", "objective", "negations in all texts", "selected", "rewritten"] + ["gain of a probe"] * probed,
            of_rounds,
        ),
        PageTable(["association with the labels", "value", "unit"], readings),
        Text(
            "Objective: mean similarity of documents of different labels in shortcut space, which rewriting raises. "
            "Gain: how much better a bag of words predicts the labels than always guessing the commonest label. "
            "Association: Cramer's V between the label and the presence of a negation; 0 means no association.",
            "note",
        ),
    ]


def _perturbed(record: Record, manifest: Manifest) -> list[Block]:
    """Return the share of perturbed rows per axis, and the number of texts per attribute before and after.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", table 13 and figure 2.
    """
    shares: list[Row] = [
        [reading.subset, measured(reading.value, reading.low, reading.high, ".1f"), f"{reading.n:,}"]
        for reading in record.readings
    ]
    counts = manifest.counts
    places = sorted({name.partition("/")[2] for name in counts if name.startswith(("before/", "after/"))})
    attributes: list[Row] = [
        [place, *(f"{counts.get(f'{side}/{place}', 0):,}" for side in ("before", "after"))] for place in places
    ]
    turned: list[Row] = [
        [*name.split("/")[1:], f"{count:,}"]
        for name, count in counts.items()
        if name.startswith("perturbed/") and name.count("/") == 3
    ]
    return [
        PageTable(["axis", "per cent of rows perturbed", "rows"], shares),
        Heading("Perturbed texts with a word of each attribute"),
        PageTable(["attribute", "before", "after"], attributes),
        Heading("From which attribute to which"),
        PageTable(["axis", "from", "to", "rows"], turned),
    ]


def _polarity(record: Record) -> list[Block]:
    rows: list[Row] = [
        [headline(reading), measured(reading.value, reading.low, reading.high, ".2f"), f"{reading.n:,}"]
        for reading in record.readings
    ]
    note = Text(
        "Per cent of the rewriter's groups, before the filter, with 95 % intervals; union: every version "
        "has its own polarity (CCD, equations 6 and 7).",
        "note",
    )
    found: list[Block] = [PageTable(["what was measured", "value", "n"], rows), note]
    return found if rows else [Text("No groups were made.")]


def _reasons(manifest: Manifest) -> Block:
    if not manifest.reasons:
        return Text("Nothing was rejected.")
    return PageTable(["reason", "rows"], [[reason, f"{count:,}"] for reason, count in manifest.reasons.items()])


def _rejects(folder: Path, manifest: Manifest) -> Iterator[Change]:
    """Yield up to :data:`REJECTS` rejected rows for each reason, from the beginning of each file."""
    left = dict.fromkeys(manifest.reasons, REJECTS)
    for name in manifest.files("rejected"):
        for row in islice(_rows(folder / name), 1000):
            if left[row["reason"]]:
                left[row["reason"]] -= 1
                yield _shown(f"{row['reason']}: {row['detail']}", row["text"], row["versions"])
        if not any(left.values()):
            return


def _example_rows(folder: Path, manifest: Manifest) -> Iterator[dict[str, Any]]:
    """Yield example rows from the beginning of several files, which are spread evenly over the dataset."""
    names = manifest.files("data")
    names = names[:: max(1, len(names) // EXAMPLES)][:EXAMPLES]
    each = -(-EXAMPLES // max(1, len(names)))
    for name in names:
        yield from islice((row for row in _rows(folder / name) if {"changed", "source_place"} <= {*row}), each)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _example(row: dict[str, Any], field: str | list[str]) -> Change:
    if CHOICE in row:
        title = f"{row['source_place']}: {row[CHOICE]['word']} to {row[CHOICE]['target']}"
        return _shown(title, row["source_text"], {"perturbed": _text(row, field)})
    if "rewritten" in row:
        return _shown(row["source_place"], row["source_text"], {"rewritten": _text(row, field)})
    versions = row.get("versions")  # of a group, or a column of labelled rows
    versions = versions if isinstance(versions, dict) else {"swapped": _text(row, field)}
    return _shown(row["source_place"], row["source_text"], versions)


def _text(row: dict[str, Any], field: str | list[str]) -> str:
    return join_fields([row[name] for name in ([field] if isinstance(field, str) else field)])


def _shown(title: str, source: str, versions: dict[str, str]) -> Change:
    """Return a source text with its versions, in which deleted words are struck out and inserted words are marked."""
    source = source[:LONGEST]
    changes = {name: stretches(pieces(source), pieces(text[:LONGEST])) for name, text in versions.items()}
    return Change(
        title, source, [(name, [("".join(old), "".join(new)) for old, new in one]) for name, one in changes.items()]
    )


def _rounds(folder: Path) -> PageTable:
    rows = []
    for file in sorted((folder / "search").glob("round-*.json")):
        one = read_corrected_round(file)
        corrected = one["correction"]["text"] if one["correction"] else ""
        counts = [str(one[key]) for key in ("round", "texts", "rewritten", "right")]
        rows.append([*counts, one["corrector"] if corrected else "", corrected])
    return PageTable(["round", "texts", "rewritten", "right", "corrector", "text that became an example"], rows)
