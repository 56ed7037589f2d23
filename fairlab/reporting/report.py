"""Report of a run: one HTML file that can be opened offline, made from the record and the stored items."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from fairlab.benchmarks.kept_items import kept_arrays
from fairlab.benchmarks.stages import Stage, stages_of
from fairlab.checks.redaction import without_secrets
from fairlab.files import write_whole
from fairlab.record import DATA, TRAINING, Reading, Record
from fairlab.reporting.changes import hover, in_words, what_changed
from fairlab.reporting.collapse import collapse_verdicts
from fairlab.reporting.curves import training_curves
from fairlab.reporting.db_index import data_bias
from fairlab.reporting.headlines import benchmark_title, description, key, meaning, represents, title
from fairlab.reporting.ideal_forest import from_the_ideal
from fairlab.reporting.page import (
    Block,
    Code,
    Fold,
    Heading,
    Heed,
    Label,
    PageCell,
    PageTable,
    Row,
    Section,
    Terms,
    Text,
    Verdict,
    json_code,
    page,
)
from fairlab.reporting.projections import embedding_sections
from fairlab.reporting.questions import by_question, shifts, verdict
from fairlab.reporting.safety import safety_sections
from fairlab.reporting.shortcuts import shortcuts
from fairlab.reporting.summary import by_phase
from fairlab.reporting.tables.marks import failed_models, is_untrained, marks_beside, said_of_training, training_notes
from fairlab.reporting.verdicts import NOTE, TOO_FEW, corrected_interval, reading_verdicts, summed_up, verdict_lines

PUBLISHED = Path(__file__).parent / "papers"
MANY = 12  # maximum number of rows in a table that is not collapsed


def write_report(record: Record) -> Path:
    """Write ``report.html`` into the run's folder atomically."""
    trained = "method" in record.config
    ensemble = "sources" in record.provenance
    no_step: Block = Text("No training step.")
    drawn = [training_curves(record.history)] if record.history else [no_step]
    with kept_arrays(record.folder):
        of_arrays = [*(embedding_sections(record) if not ensemble else ()), *data_bias(record), *shortcuts(record)]
    sections: list[Section | None] = [
        what_changed(record) or from_the_ideal(record),
        _readings(record),
        Section("Training", drawn) if trained and not ensemble else None,
        *of_arrays,
        *(safety_sections(record) if ensemble else ()),
        Section("Published numbers", _published(record)) if trained and not ensemble else None,
        _notes(record),
        Section("Not run", [_not_run(record)]),
        stage_section(record),
        Section("Provenance", provenance(record)),
    ]
    path = record.folder / "report.html"
    write_whole(path, without_secrets(page(f"fairlab: {name_of(record)}", name_of(record), _lead(record), sections)))
    return path


def name_of(record: Record) -> str:
    """Return the name of a run, or of its folder if it has no name.

    If the folder's name starts with a digit, such as a date, return the name of the parent folder.
    """
    return record.name or (record.folder.parent.name if record.folder.name[:1].isdigit() else record.folder.name)


def _lead(record: Record) -> list[Block]:
    """Return the first blocks of the page: an audit's answer, a description of the run, the verdict and warnings."""
    about = _about_training(record) if "method" in record.config else _about_evaluation(record)
    lead = [_verdict(record), *about] if record.provenance.get("answers") else [*about, _verdict(record)]
    return [*lead, *_heed(record)]


def _about_training(record: Record) -> list[Block]:
    config = record.config
    scale = config["scale"]["name"]
    label = (
        "quickstart scale: small substitutes, not the published setting" if scale == "quickstart" else f"{scale} scale"
    )
    if not config.get("backbone"):
        sources = ", ".join(record.provenance.get("sources", {}).get("sources", {}))
        return [Text(f"An ensemble of {sources}; seed {config['seed']}; {record.status}.")]
    backbone = config["backbone"]
    adapters = f" with the adapters {backbone['adapters']}" if backbone.get("adapters") else ""
    stands_for = f"{adapters} (standing in for {backbone['stands_for']})" if backbone["stands_for"] else adapters
    method = record.provenance.get("method", {}).get("title")
    return [
        Label(label),
        Text(
            f"{method + ' on' if method else 'Backbone'} {backbone['name']}{stands_for}; seed {config['seed']}; "
            f"{record.status}."
        ),
    ]


def _about_evaluation(record: Record) -> list[Block]:
    dataset, models = record.config.get("dataset"), record.config.get("model")
    on = f" on {dataset}" if dataset and models else ""
    models = models or dataset or "a model that the record does not name"
    names = ", ".join(map(str, models)) if isinstance(models, list) else models
    if isinstance(models, dict):
        names = ", ".join(f"{label} ({name})" for label, name in models.items())
    return [Text(f"Measured without training: {names}{on}; {record.status}.")]


def _verdict(record: Record) -> Verdict:
    """Return the overall result, based on changes if there are any and otherwise on single readings."""
    told = [f"About the training: {text}." for text in said_of_training(record)]
    if failed := failed_models(record):
        whose = "These numbers" if set(failed) >= set(record.phases) else f"The numbers of {', '.join(failed)}"
        models: dict[str, list[str]] = {}
        for phase, texts in failed.items():
            for text in texts:
                models.setdefault(text, []).append(phase)
        several = len(record.phases) > 1
        reasons = [f"{', '.join(phases)}: {text}" if several else text for text, phases in models.items()]
        answers = record.provenance.get("answers", {})
        of_failed = {f"Cannot tell: {'; '.join(texts)}." for texts in failed.values()}  # says the reasons again
        given = [said for one in answers.values() if (said := one["sentence"]) not in of_failed]
        sound = [one for one in reading_verdicts(record) if one.reading.phase not in failed]
        others = [f"Of the other models: {summed_up(sound)}", *verdict_lines(sound)] if sound else []
        return Verdict(f"{whose} say nothing about bias.", [*reasons, *given, *told, *others])
    if answers := record.provenance.get("answers"):
        return _answer(answers)
    found = shifts(record)
    if any(one.headline for one in found):
        marks = [note.mark for note in [*training_notes(record), *record.notes] if note.benchmark == TRAINING]
        sentence, lines = verdict(found, list(dict.fromkeys(filter(is_untrained, marks))))
        return Verdict(sentence, [*told, *lines, *collapse_verdicts(record)])
    judged = reading_verdicts(record)
    if not judged:
        return Verdict("No reading of bias has an ideal value.", [*told, *collapse_verdicts(record)])
    alone = " There is no other model to compare with." if len(record.phases) == 1 else ""
    return Verdict(f"{summed_up(judged)}{alone}", [*told, *verdict_lines(judged)])


def _answer(answers: Mapping[str, Any]) -> Verdict:
    """Return the answers of an audit, one for each model."""
    of = {label: f"{label}: " if label else "" for label in answers}
    first, *others = [f"{of[label]}{one['sentence']}" for label, one in answers.items()]
    lines = [f"{of[label]}{line}" for label, one in answers.items() for line in one["lines"]]
    return Verdict(first, [line for line in dict.fromkeys([*others, *lines]) if line != first])


def _heed(record: Record) -> list[Block]:
    """Return warnings on the run and on whole benchmarks, and the number of readings that could not be measured."""
    lines = [f"The run is {record.status}: {record.reason or 'some of its numbers are missing'}."]
    lines = [] if record.status == "finished" else lines
    notes = [(note.phase, (note.benchmark, note.text)) for note in record.notes if not note.item]
    lines += [f"{about}{f' ({phase})' if phase else ''}: {text}" for phase, (about, text) in by_phase(record, notes)]
    missing = {(entry.benchmark, entry.subset) for entry in record.not_run}
    lines += [f"{len(missing)} of the requested readings could not be measured; see Not run."] if missing else []
    return [Heed("Before reading the numbers", lines)] if lines else []


def _readings(record: Record) -> Section:
    """Return the section with all readings by question. Long lists of readings other than headlines are collapsed."""
    rows = [row for row in record.table() if DATA not in row]
    of_data = [row for row in record.table() if DATA in row]
    headline = [row for row in rows if represents(next(iter(row.values())))]
    others = [row for row in rows if row not in headline]
    blocks: list[Block] = [_table(record, headline, record.phases)] if headline else []
    if others:
        table = _table(record, others, record.phases)
        blocks.append(table if not headline and len(others) <= MANY else Fold(f"{len(others)} more readings", [table]))
    blocks += [Fold(f"{len(of_data)} readings of the data", [_table(record, of_data, [DATA])])] if of_data else []
    terms = {benchmark_title(r): of.question for r in record.readings if (of := description(r)) is not None}
    terms |= {title(r): f"{meaning(r)}  [{key(r)}]" for r in record.readings if meaning(r)}
    note = (
        "95 % intervals in brackets, widened for few items (Student's t) and corrected if absolute values are "
        "averaged. p: the benchmark's own test of the value; in parentheses, adjusted for its other "
        "tests of this kind (Holm). Point to a name to see its meaning."
    )
    found: list[Block] = [
        *blocks,
        Text(note, "note"),
        Text(NOTE, "note"),
        *([Terms(list(terms.items()))] if terms else []),
    ]
    return Section("Before and after" if "before" in record.phases else "Readings", found)


def _table(record: Record, rows: Sequence[Mapping[str, Reading]], phases: Sequence[str]) -> PageTable:
    """Return a table of readings by question, with the ideal value and one column per phase or model."""
    present = [phase for phase in phases if any(phase in row for row in rows)]
    lines: list[Row | Heading] = []
    for question, some in by_question(rows, lambda row: next(iter(row.values()))).items():
        lines.append(Heading(question))
        for row in some:
            one = next(iter(row.values()))
            values = [_value(row[phase], record) if phase in row else "" for phase in present]
            ideal = "" if one.ideal is None else f"{one.ideal:.4g}"
            lines.append([PageCell(title(one), hover=hover(one)), *values, ideal, PageCell(one.unit), f"{one.n}"])
    return PageTable(["what was measured", *(phase or "value" for phase in present), "ideal", "unit", "n"], lines)


def _value(reading: Reading, record: Record) -> PageCell:
    low, high = corrected_interval(record, reading)
    interval = TOO_FEW if math.isnan(low) else f"[{low:.4g}, {high:.4g}]"
    interval += "".join(f"\n({mark})" for mark in marks_beside(record, reading))
    if reading.p is not None:
        interval += f"\np {reading.p:.2g}" + (f" ({reading.p_holm:.2g})" if reading.p_holm is not None else "")
    return PageCell(f"{reading.value:.4g}", interval)


def _notes(record: Record) -> Section | None:
    """Return the section with notes on single items. Notes on whole benchmarks are at the top of the page."""
    rows: list[Row] = [
        [note.benchmark, note.phase, PageCell(note.item), note.text] for note in record.notes if note.item
    ]
    if not rows:
        return None
    table = PageTable(["benchmark", "model", PageCell("item"), "note"], rows)
    return Section("Notes on items", [table if len(rows) <= MANY else Fold(f"{len(rows)} notes", [table])])


def _published(record: Record) -> list[Block]:
    """Return the table from the method's paper and the corresponding table of this run, each with its setting."""
    if any(reading.benchmark == "mb_index" for reading in record.readings):
        return _published_language_models(record)
    module = record.config["method"]["_target_"].rpartition(".")[0].rpartition(".")[2]
    file = PUBLISHED / f"{module}.yaml"
    if not module.isidentifier() or not file.is_file():
        return [Text("No published numbers are available for this method.")]
    table_6 = yaml.safe_load(file.read_text(encoding="utf-8"))["table_6"]
    published = [[name, *(f"{value:.3f}" for value in values)] for name, values in table_6["rows"].items()]
    gaps = [row for row in record.table() if {"before", "after"} <= set(row) and _is_cced_gap(row["after"])]
    ours: list[Row] = [
        [f"{title(row['after'])}, n {row['after'].n}", _value(row["before"], record), _value(row["after"], record)]
        for row in gaps
    ]
    backbone = record.config["backbone"]["name"]
    return [
        Heading("Published"),
        Text(f"{table_6['where']}: {table_6['title']} {table_6['setting']}.", "note"),
        PageTable(["method", *table_6["columns"]], published),
        Heading("Ours"),
        Text(
            f"{backbone}, {record.config['scale']['name']} scale, held-out groups. Distances depend on the model's "
            "embedding scale, so compare relative decreases, not values.",
            "note",
        ),
        PageTable(["what was measured", "before", "after"], ours),
    ]


def _published_language_models(record: Record) -> list[Block]:
    """Return table 2 of the biasers paper (Mondal and Lipizzi 2024), with a row for the readings of this run."""
    table_2 = yaml.safe_load((PUBLISHED / "biasers.yaml").read_text(encoding="utf-8"))["table_2"]
    published = [[name, *(f"{value:g}" for value in values)] for name, values in table_2["rows"].items()]
    found = {key(reading): reading for reading in record.readings if reading.phase == "after"}
    columns = table_2["columns"]
    ours = ["ours", *(_value(found[column], record) if column in found else "" for column in columns)]
    named = [PageCell(title(found[c]), hover=hover(found[c])) if c in found else in_words(c) for c in columns]
    said = (
        f"Published ({table_2['where']}): {table_2['setting']}. According to the authors, a stereotype score is "
        "better the nearer it is to 0. The mb-index falls as the number of entries rises; normalised values compare "
        "several models."
    )
    return [Text(said), PageTable(["model", *named], [*published, ours])]


def _is_cced_gap(reading: Reading) -> bool:
    return reading.benchmark == "cced" and reading.quantity in ("gap", "gap_all_pairs")


def _not_run(record: Record) -> Block:
    if not record.not_run:
        return Text("All requested benchmarks were run.")
    rows = [[entry.phase, f"{entry.benchmark} {entry.subset}", entry.reason] for entry in record.not_run]
    return PageTable(["model", "benchmark", "reason"], rows)


def stage_section(record: Record) -> Section | None:
    """Return the section on the duration of a run's stages, or None for older records, which have no stages."""
    stages = stages_of(record)
    if not stages:
        return None
    on_gpu = any(taken.gpu_peak_bytes is not None for taken in stages.values())
    rows = [[name, *_stage_row(taken, on_gpu)] for name, taken in stages.items()]
    table = PageTable(["stage", "seconds", "most memory, MB", *(["of the GPU, MB"] if on_gpu else [])], rows)
    total = sum(taken.seconds for taken in stages.values())
    peak = max(taken.peak_bytes for taken in stages.values())
    note = f"{total:,.1f} s until this page was written; peak memory of the process: {peak / 1e6:,.0f} MB."
    return Section("Time and memory", [Text(note), Fold("stages", [table])])


def _stage_row(taken: Stage, on_gpu: bool) -> list[str]:
    gpu = "" if taken.gpu_peak_bytes is None else f"{taken.gpu_peak_bytes / 1e6:.0f}"
    return [f"{taken.seconds:.1f}", f"{taken.peak_bytes / 1e6:.0f}", *([gpu] if on_gpu else [])]


def provenance(record: Record) -> list[Block]:
    """Return the command of the run, and its provenance and configuration in collapsed blocks."""
    return [
        Text("Made by"),
        Code(record.command),
        Fold("revision, versions, hardware, data and weights", [json_code(record.provenance)]),
        Fold("configuration", [json_code(record.config)]),
    ]
