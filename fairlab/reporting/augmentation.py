"""What an augmentation leaves for people to read: the quality report and the data card."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from fairlab.augmentation.biasers import TO
from fairlab.augmentation.identity import FLAGGED
from fairlab.augmentation.perturbation import CHOICE
from fairlab.data.stream.manifest import Manifest
from fairlab.data.stream.subsample import LEFT_OUT, WHOLE
from fairlab.files import write_whole
from fairlab.record import Record, without_secrets
from fairlab.reporting.curves import objective, rounds
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
    measured,
    page,
)
from fairlab.rewriting.group_rewriters import NO_WORD
from fairlab.text.difference import pieces, stretches
from fairlab.text.fields import join_fields

EXAMPLES = 30  # rows shown
REJECTS = 5  # shown of every reason
LONGEST = 2000  # characters of a text shown
COLUMNS = {
    "id": "number of the row in the input, or its own id",
    "axis": "what the versions differ in",
    "versions": "the counterfactual group: neutral, and one text per attribute",
    "source_id, source_place, source_text": "the row of the input it was made of",
    "augmentation, rewriter": "what made it, with seed, or model and hash of the prompt",
    "lexicon_sha256": "hash of the word lists",
    "perturbed": "whether the row's text really changed; if not, it is as it was",
    "choice": "of a perturbed row: the word, where it starts, its axis and attribute, and the target",
    "rewritten, gamma": "whether a document was rewritten; of one that was, its shortcut score before and after",
    "changed": "by version, words that changed: what stood there, what stands there now",
    "kind": "of an expansion by biasers: entry, copy, upshift or downshift",
    "biaser, replaced": "the member a copy was made for, and what it stands in place of",
    "inject, corrected": "what made a version, rules or llm, and whether the first pass over it changed it",
    "upshift, summary": "what made the morphs of copies",
    "check": "what the verifiers found",
    "confidence": "the language model's own",
    "fallback_from": "why the first rewriter's versions were not taken",
}


def write_quality_report(record: Record, manifest: Manifest) -> Path:
    """Write ``report.html``: polarity accuracy, what was left out and why, examples with their changes coloured."""
    folder = record.folder
    rows = [[name, f"{count:,}"] for name, count in manifest.rows().items()]
    examples = [_example(row, manifest.made_by["field"]) for row in _spread(folder, manifest)]
    sections: list[Section | None] = [
        Section("Rows", [PageTable(["what became of them", "rows"], rows)]),
        _sizes(record, manifest) or _quality(record, manifest),
        Section("Rejected", [_reasons(manifest), *_rejects(folder, manifest)]),
        _searched(record) if record.history and not _in_rounds(manifest) else None,
        Section("Examples", examples),
        Section("Provenance", [Code(record.command), Fold("what made the data", [_block(record.provenance)])]),
    ]
    path = folder / "report.html"
    title = _title(manifest)
    write_whole(path, without_secrets(page(f"fairlab: {title}", title, _lead(record, manifest), sections)))
    return path


def _lead(record: Record, manifest: Manifest) -> list[Block]:
    """Where the texts come from, how many rows came of them, and what a reader must know first."""
    counts = manifest.rows()
    sentence = f"{counts['written']:,} rows were made of {counts['read']:,}; {counts['rejected']:,} were rejected."
    lines = [
        f"{headline(reading)}: {reading.value:.1f} {reading.unit} [{reading.low:.1f}, {reading.high:.1f}]"
        for reading in record.readings
        if reading.headline
    ]
    notes = list(dict.fromkeys(note.text for note in record.notes if not note.item))
    heed: list[Block] = [Heed("Before using the data", notes)] if notes else []
    return [Text(f"Made from {manifest.source['name']}."), Verdict(sentence, lines), *heed]


def data_card(manifest: Manifest) -> str:
    """``README.md`` of the data: what it is, how it was made, what its columns mean; the hub reads its head."""
    source = manifest.source
    rows = [f"| {name} | {count:,} |" for name, count in manifest.rows().items()]
    made = {name: value for name, value in manifest.made_by.items() if value is not None}
    lines = [
        "---",
        "configs:",
        "- config_name: default",
        '  data_files: "data-*.jsonl"',
        "language: en",
        "tags: [fairness, counterfactual]",
        "---",
        f"# {_title(manifest)}",
        "",
        f"Made by fairlab {manifest.fairlab} from `{source['name']}` (SHA-256 `{source['sha256']}`): "
        + ", ".join(f"{name} `{_plain(value)}`" for name, value in made.items())
        + ".",
        "",
        "| | rows |",
        "|---|---|",
        *rows,
        "",
        "## Columns",
        "",
        "| column | |",
        "|---|---|",
        *(f"| {name} | {meaning} |" for name, meaning in COLUMNS.items()),
        "",
        "All other columns are the input's.",
        "",
        "## Files",
        "",
        "`data-*.jsonl` is the data, `manifest.json` lists its files with their SHA-256. `rejected-*.jsonl` holds "
        "rewrites that were turned down, with the reason; `quarantine.jsonl` rows that could not be read, with their "
        "line."
        + (" Rows without a word of the axis are only counted." if NO_WORD in manifest.counts else "")
        + (f" The data is a fair subsample of what lies in `{WHOLE}/`." if LEFT_OUT in manifest.counts else "")
        + (
            " Every row is there, perturbed or as it was; with `choices.jsonl` the same data is made again."
            if _perturbs(manifest)
            else ""
        ),
        "",
        "## Limits",
        "",
        "The texts keep the licence of their source. Rewrites were made by machine"
        + (
            ": the report beside this file says how many have the polarity they should, by word lists; nobody"
            if manifest.counts.get("judged")
            else "; nobody"
        )
        + " has read them all. Lists of words and names cover English and the listed attributes only.",
        "",
    ]
    return "\n".join(lines)


def _title(manifest: Manifest) -> str:
    made = manifest.made_by
    return f"{made['augmentation']}, {made['axis']}" if "axis" in made else str(made["augmentation"])


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _sizes(record: Record, manifest: Manifest) -> Section | None:
    """Of an expansion by biasers, rows made for every member, and what its size says; nothing of others."""
    if "inject" in manifest.made_by:
        return Section("Versions", _versions(manifest))
    members = {name.removeprefix(TO): count for name, count in manifest.counts.items() if name.startswith(TO)}
    if not members:
        return None
    rows = [[name, f"{count:,}"] for name, count in members.items()]
    note: list[Block] = [Text(f"{record.notes[-1].text}.", "note")] if record.notes else []
    return Section("Rows by biaser", [PageTable(["biaser", "copies and their morphs"], rows), *note])


def _versions(manifest: Manifest) -> list[Block]:
    """Of an injection of identities, versions made for every subgroup."""
    rows = [[name.removeprefix(TO), f"{n:,}"] for name, n in manifest.counts.items() if name.startswith(TO)]
    found: list[Block] = [PageTable(["subgroup", "versions"], rows)]
    if FLAGGED in manifest.reasons:
        found.append(Text("Flagged versions are left out; review.jsonl lists them."))
    return found


def _quality(record: Record, manifest: Manifest) -> Section:
    if _perturbs(manifest):
        return Section("Perturbed", _perturbed(record, manifest))
    if _in_rounds(manifest):
        return Section("Shortcuts", _shortcuts(record))
    return Section("Polarity", _polarity(record))


def _perturbs(manifest: Manifest) -> bool:
    return "sampling" in manifest.made_by


def _in_rounds(manifest: Manifest) -> bool:
    return "compat" in manifest.made_by


def _searched(record: Record) -> Section:
    return Section("Prompt search", [rounds(record.history), _rounds(record.folder)])


def _shortcuts(record: Record) -> list[Block]:
    """Objective and negations by round, and how negations go with the label before and after."""
    of_rounds: list[Row] = [
        [str(row["round"]), f"{row['objective']:.6f}", f"{row['negations']:,}"]
        + [f"{row[name]:,}" if name in row else "" for name in ("selected", "rewritten")]
        for row in record.history
    ]
    readings: list[Row] = [
        [f"{headline(r)}, {r.phase}", measured(r.value, r.low, r.high, ".3g"), r.unit] for r in record.readings
    ]
    return [
        *(Text(f"{one.text}.") for one in record.notes if one.benchmark == "razor"),
        *([objective(record.history)] if record.history else []),
        PageTable(["round", "objective", "negations in all texts", "selected", "rewritten"], of_rounds),
        PageTable(["negations and labels", "value", "unit"], readings),
        Text(
            "Objective: mean similarity of documents of different labels in shortcut space, which rewriting raises. "
            "Association: Cramer's V of whether a text holds a negation with its label; 0 is none.",
            "note",
        ),
    ]


def _perturbed(record: Record, manifest: Manifest) -> list[Block]:
    """Shares by axis (table 13 of Qian et al. 2022) and texts by attribute before and after (figure 2)."""
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
        "Per cent of groups as the rewriter made them, before the filter, with 95 % intervals; union: every version "
        "has its own polarity (CCD, equations 6 and 7).",
        "note",
    )
    found: list[Block] = [PageTable(["what was measured", "value", "n"], rows), note]
    return found if rows else [Text("No groups were made, so there is none.")]


def _reasons(manifest: Manifest) -> Block:
    if not manifest.reasons:
        return Text("Nothing was rejected.")
    return PageTable(["reason", "rows"], [[reason, f"{count:,}"] for reason, count in manifest.reasons.items()])


def _rejects(folder: Path, manifest: Manifest) -> Iterator[Change]:
    """A few rejected rows of every reason, among the first of each file."""
    left = dict.fromkeys(manifest.reasons, REJECTS)
    for name in manifest.files("rejected"):
        for row in islice(_rows(folder / name), 1000):
            if left[row["reason"]]:
                left[row["reason"]] -= 1
                yield _shown(f"{row['reason']}: {row['detail']}", row["text"], row["versions"])
        if not any(left.values()):
            return


def _spread(folder: Path, manifest: Manifest) -> Iterator[dict[str, Any]]:
    """Rows that were made, from the beginnings of files all over the data."""
    names = manifest.files("data")
    names = names[:: max(1, len(names) // EXAMPLES)][:EXAMPLES]
    each = -(-EXAMPLES // max(1, len(names)))
    for name in names:
        yield from islice((row for row in _rows(folder / name) if "changed" in row), each)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _example(row: dict[str, Any], field: str | list[str]) -> Change:
    if CHOICE in row:
        title = f"{row['source_place']}: {row[CHOICE]['word']} to {row[CHOICE]['target']}"
        return _shown(title, row["source_text"], {"perturbed": _text(row, field)})
    if "rewritten" in row:
        return _shown(row["source_place"], row["source_text"], {"rewritten": _text(row, field)})
    return _shown(row["source_place"], row["source_text"], row.get("versions") or {"swapped": _text(row, field)})


def _text(row: dict[str, Any], field: str | list[str]) -> str:
    return join_fields([row[name] for name in ([field] if isinstance(field, str) else field)])


def _shown(title: str, source: str, versions: dict[str, str]) -> Change:
    """A source and its versions, what left a version struck out, what came marked."""
    source = source[:LONGEST]
    return Change(title, source, [(name, _pieces(source, text[:LONGEST])) for name, text in versions.items()])


def _pieces(old: str, new: str) -> list[tuple[str, str]]:
    return [("".join(left), "".join(came)) for left, came in stretches(pieces(old), pieces(new))]


def _rounds(folder: Path) -> PageTable:
    rows = []
    for file in sorted((folder / "search").glob("round-*.json")):
        one = json.loads(file.read_text(encoding="utf-8"))
        corrected = one["correction"]["text"] if one["correction"] else ""
        counts = [str(one[key]) for key in ("round", "texts", "rewritten", "right")]
        rows.append([*counts, one["corrector"] if corrected else "", corrected])
    return PageTable(["round", "texts", "rewritten", "right", "corrector", "text that became an example"], rows)


def _block(content: Any) -> Code:
    return Code(json.dumps(content, indent=1, ensure_ascii=False))
