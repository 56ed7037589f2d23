"""Execution of an augmentation, which writes rows to shards, a manifest, a data card and a report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from fairlab import __version__
from fairlab.benchmarks.inputs import files_in_settings
from fairlab.checks.escapes import print_escaped
from fairlab.checks.values import target_of
from fairlab.files import check_folder, gather, holds_run, remove_unfinished, sha256, write_whole
from fairlab.protocols import Plan, Planned
from fairlab.record import Note, Record
from fairlab.run.augmenting.building import build_llm, plan_of
from fairlab.run.augmenting.kept_columns import PROVENANCE, keeping_columns
from fairlab.run.command_line import cli
from fairlab.run.config.build import build
from fairlab.run.config.composing import composed, composing
from fairlab.run.environment import environment
from fairlab.run.folders import AUGMENTED, compared
from fairlab.run.job import refuse_changed_inputs
from fairlab.run.pushing import push, refuse_push
from fairlab.types import FairlabError, Row

QUARANTINE, REJECTED = "quarantine.jsonl", "rejected-*.jsonl"  # files of rows that were not used, in the output

if TYPE_CHECKING:  # imported lazily so that --help is fast
    from fairlab.data.stream.features import Described
    from fairlab.data.stream.manifest import Manifest


def augment_rows(values: dict[str, Any], name: str, record: Record) -> None:
    """Stream the input through the augmentation into the record's folder.

    Shards of earlier attempts are reused. The record receives provenance, readings, notes and finally the status
    ``finished``.

    Raises:
        FairlabError: A value is wrong, the input cannot be read or has changed since an earlier attempt, there is no
            row to write, or the hub rejects the push.
    """
    read, about = reader_of(values)

    from fairlab.data.stream.manifest import Manifest, dataset_facts
    from fairlab.data.stream.rows import row_progress
    from fairlab.data.stream.shards import make_shards
    from fairlab.data.stream.subsample import WHOLE, subsample
    from fairlab.reporting.augmentation import write_quality_report

    source = dataset_facts(values["input"])
    inputs = {"input": source} | _own_files(values)
    refuse_changed_inputs(record, inputs)
    record.provenance |= environment() | inputs | {"rewriter": values["rewriter"]}
    record.save()
    if values.get("biaser_set"):
        asked = build(values["biaser_set"], llm=build_llm(values), seed=values["seed"])
        values["axis"] = str(asked(values["axis"], record.folder))
    plan: Plan = plan_of(values)(values, read, record)
    made_by = {"augmentation": name, **plan.made_by(), "field": values["field"], "seed": values["seed"]}
    manifest = Manifest(__version__, source, made_by)
    prepared = plan.prepare()
    if prepared is None:
        return
    rows, builder = prepared
    shards = make_shards(
        row_progress(rows, read),
        partial(keeping_columns, builder, values),
        record.folder if values["limit"] is None else record.folder / WHOLE,
        **{name: values[name] for name in ("shard_rows", "num_proc", "engine")},
    )
    for summary in shards:
        manifest.add(summary)
    made = manifest.made
    if values["limit"] is not None:
        subsample(manifest, record.folder, values["limit"], values["seed"])
    gather_quarantine(manifest, record.folder)
    gather_review(manifest, record.folder)
    refuse_nothing(manifest, values["input"], record.folder)
    if values["rewriter"]:
        record.provenance["rewriter"] |= plan.provenance()
    record.provenance |= ledger_totals(values)
    record.provenance["rows"] = manifest.rows() | {f"rejected: {name}": n for name, n in manifest.reasons.items()}
    record.readings, own = plan.report(manifest, made)
    record.notes = [*own, *_row_notes(manifest), *_rate_notes(manifest, values["rewriter"])]
    record.status = "finished"
    write_quality_report(record, manifest)
    finish(manifest, record.folder, about, values)


def reader_of(values: dict[str, Any]) -> tuple[Callable[[], Iterator[Any]], Described]:
    """Check the settings that concern rows, and return a function that reads the input and the input's description.

    The value of ``field`` is replaced by the columns of a task.

    Raises:
        FairlabError: A value is wrong, or no row of the input can be read.
    """
    refuse_push(values.get("push"))

    from fairlab.data.stream.features import description_of
    from fairlab.data.stream.manifest import dataset_rows
    from fairlab.data.stream.rows import fields_of

    values["field"] = fields_of(values["input"], values["field"])
    about = description_of(values["input"])
    read = partial(dataset_rows, values["input"], values["field"], every_split=True)
    first = first_readable(read(), values["input"])  # before anything that takes seconds
    refuse_provenance(first, values["input"])
    return read, about


def _own_files(values: Mapping[str, Any]) -> dict[str, dict[str, object]]:
    """Return the hash of each lexicon or prompt file given by the user.

    The keys are the names that messages use for the files.
    """
    named = files_in_settings([values["axis"], values["rewriter"]])
    return {f"file {path}": {"sha256": sha256(path)} for path in named}


def finish(manifest: Manifest, folder: Path, about: Described, values: Mapping[str, Any]) -> None:
    """Write the data card, the Croissant metadata and finally the manifest, and push all files if configured.

    The types of the columns are added to the manifest.
    """
    from fairlab.data.stream.features import features_written
    from fairlab.data.stream.manifest import NAME
    from fairlab.reporting.croissant import NAME as CROISSANT
    from fairlab.reporting.croissant import croissant
    from fairlab.reporting.data_card import data_card

    files = [folder / name for name in manifest.files("data")]
    features = features_written(files, about.features)
    manifest.columns = features.to_dict()
    parts = [target_of(values[name]) for name in ("augmentation", "rewriter") if values.get(name)]
    licence = values.get("license") or about.licence
    card = data_card(manifest, features, licence, parts)
    write_whole(folder / "README.md", card)
    write_whole(folder / CROISSANT, croissant(manifest, features, licence, parts))
    manifest.write(folder)
    if values.get("push"):
        print_escaped(
            f"pushed to {push(folder, [*files, folder / NAME, folder / CROISSANT], values['push'], 'dataset', card)}"
        )


def refuse_unplanned(values: Mapping[str, Any], name: str | None) -> None:
    """Raise an error if ``fairlab.augment`` cannot run the chosen augmentation.

    Raises:
        FairlabError: No augmentation was chosen, it works only during training, or it lacks its rewriter.
    """
    if not _is_planned(values):
        what = f"{name} works only during training" if values["augmentation"] else "no augmentation was chosen"
        raise FairlabError(f"{what}; give augmentation=NAME with: {', '.join(planned_choices())}")
    if not values["rewriter"] and target_of(values["augmentation"]).needs_rewriter:
        raise FairlabError(
            f"rewriter=none only selects words, which works only with perturbation; choose another rewriter for {name}"
        )


def planned_choices() -> list[str]:
    """Return the names of the augmentations that ``fairlab.augment`` can run."""
    with composing():
        found = {name: composed("augment", [f"+augmentation={name}"], {}) for name in cli.choices("augmentation")}
    return [name for name, values in found.items() if _is_planned(values)]


def _is_planned(values: Mapping[str, Any]) -> bool:
    """Return whether a configuration has an augmentation that ``fairlab.augment`` can run."""
    return bool(values["augmentation"]) and issubclass(target_of(values["augmentation"]), Planned)


def made_folder(values: dict[str, Any]) -> Path:
    """Run an augmentation if its output does not exist yet, and return the folder of the output.

    The folder is named by a hash of the input, the settings of the augmentation and the version of fairlab, so that
    runs with the same data share it. If another process is writing to the folder, this function waits for it.
    Unfinished output is continued.

    Raises:
        FairlabError: The augmentation failed; finished shards are kept.
    """
    from fairlab.data.stream.manifest import NAME, dataset_facts

    target = target_of(values["augmentation"])
    about = {
        "input": dataset_facts(values["input"])["sha256"],
        "made_by": target.made_by(values),
        "values": compared(values),
        "version": __version__,
        **_own_files(values),
    }
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
    folder = AUGMENTED / f"{target.name}-{digest[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    check_folder(folder)
    with FileLock(folder / ".lock"):
        if (folder / NAME).is_file():
            print_escaped(f"training data reused from {folder}")
            return folder
        remove_unfinished(folder)
        print_escaped(f"training data will be written to {folder}")
        record = Record(folder, config=values, command="")
        if holds_run(folder):
            record = Record.load(folder)
        augment_rows(dict(values), target.name, record)
        record.save()
        print_escaped("; ".join(note.text for note in record.notes))
    return folder


def gather_quarantine(manifest: Manifest, folder: Path) -> None:
    """Collect all unreadable rows in ``quarantine.jsonl``."""
    path = folder / QUARANTINE
    names = manifest.files("quarantine")
    if not names:
        path.unlink(missing_ok=True)
        return
    gather(path, [folder / name for name in names])


def gather_review(manifest: Manifest, folder: Path) -> None:
    """Collect all versions flagged for human review in ``review.jsonl``, if there are any."""
    from fairlab.augmentation.identity import FLAGGED, review_lines

    if FLAGGED not in manifest.reasons:
        return
    lines = []
    for name in manifest.files("rejected"):
        with (folder / name).open(encoding="utf-8") as rows:
            for row in filter(lambda one: one["reason"] == FLAGGED, map(json.loads, rows)):
                lines += [json.dumps(line, ensure_ascii=False) + "\n" for line in review_lines(row)]
    write_whole(folder / "review.jsonl", "".join(lines))


def first_readable(rows: Iterable[Any], source: str) -> Row:
    """Return the first row that can be read.

    Raises:
        FairlabError: There is none. The message has the reason for the first row.
    """
    first, count = None, 0
    for row in rows:
        if isinstance(row, Row):
            return row
        first, count = first or row, count + 1
    if first is None:
        raise FairlabError(f"{source} holds no rows; give a file with texts")
    remedy = "" if first.reason.startswith("not UTF-8") else "; if the text is in another field, give field=NAME"
    raise FairlabError(
        f"none of the {count} rows of {source} can be read; the first, {first.place}: {first.reason}{remedy}"
    )


def refuse_provenance(row: Row, source: str) -> None:
    """Raise an error if a row of the input has a column in which the origin of new rows is written.

    Rows of an earlier output of ``fairlab.augment`` have all of these columns or none.
    """
    columns = [name for name in PROVENANCE if name in {*row.extra, *row.names}]
    if len(columns) == 1:
        raise FairlabError(
            f"{source} has the column '{columns[0]}', in which the origin of new rows is written; rename the column"
        )


def refuse_nothing(manifest: Manifest, source: str, folder: Path) -> None:
    """Raise an error with the number of rows by outcome if there are no rows to write."""
    if manifest.made:
        return
    what = ", ".join(_counted(count, name) for name, count in manifest.rows().items() if count)
    files = " and ".join([REJECTED] * bool(manifest.reasons) + [QUARANTINE] * bool(manifest.files("quarantine")))
    raise FairlabError(
        f"{source} yields no rows to write: {what}" + (f"; see {files} in {folder} for the reasons" if files else "")
    )


def _row_notes(manifest: Manifest) -> list[Note]:
    """Return notes on the numbers of written, rejected and unreadable rows, and on the files that contain the rows."""
    from fairlab.data.stream.shards import BAD

    counts = manifest.rows()
    read, written, bad = counts.pop("read"), counts.pop("written"), counts.pop(BAD, 0)
    texts = [f"{_counted(written, 'rows')} written of {read:,} read"]
    texts += [f"{_counted(bad, BAD)}; see {QUARANTINE} in the output folder"] if bad else []
    texts += [_counted(count, name) for name, count in counts.items() if count and name not in ("groups", "rejected")]
    texts += [f"{count:,} rejected: {reason}" for reason, count in manifest.reasons.items()]
    texts += [f"rejected rows are in {REJECTED} in the output folder"] if manifest.reasons else []
    return [Note("augmentation", text) for text in texts]


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name.replace('rows', 'row', 1) if count == 1 else name}"


def _rate_notes(manifest: Manifest, rewriter: dict[str, Any] | None) -> list[Note]:
    """Return a note per axis on the measured error rate of rule-based rewriting, if rules rewrote the texts."""
    from fairlab.rewriting.group_rewriters import RuleGroups

    by_rules = rewriter and issubclass(target_of(rewriter), RuleGroups)
    rates = manifest.made_by.get("rewrites_by_rules", {}) if by_rules else {}
    return [
        Note("augmentation", f"errors of rule-based rewriting on the axis {axis}: {rate}")
        for axis, rate in rates.items()
    ]


def ledger_totals(values: dict[str, Any]) -> dict[str, Any]:
    """Return the totals in the ledger of the language model, per stage and over all runs.

    The result is empty without a language model.
    """
    llm = build_llm(values)
    if llm is None:
        return {}
    return {"ledger": {stage: vars(sums) for stage, sums in llm.ledger.stages().items()}}
