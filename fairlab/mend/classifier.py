"""Debiasing of a classifier: one third of the rows each for fitting, selecting and confirming methods.

Training methods train a copy of the classifier, which must be a transformers model. Methods that only change decisions
work for any classifier.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from fairlab.audit.any_classifier import AnyClassifier
from fairlab.audit.classifiers import as_classifier
from fairlab.audit.data import read_source
from fairlab.audit.mending import FILE, Way, mended, read_rule
from fairlab.audit.rates_by_group import refuse_small_groups
from fairlab.audit.running import Settings, audit_models, label_rows, read_labelled
from fairlab.checks.escapes import print_escaped
from fairlab.mend.judging import KeptUtility, MendJudgement, best_of, judge_change
from fairlab.mend.outcome import CHOSEN, PROVEN, TRIED, MendOutcome, concluded, publish
from fairlab.mend.parts import begun, export_trained, join_methods, kept_part, remove_weights
from fairlab.mend.retraining import TRAININGS, train_classifier
from fairlab.record import Record
from fairlab.reporting.report import write_report
from fairlab.run.config.backbone_nodes import backbone_node, model_facts
from fairlab.run.config.composing import composing
from fairlab.run.environment import environment
from fairlab.types import FairlabError, Row

RULES = ("threshold", "odds")
WAYS = (*TRAININGS, *RULES)
TRAINED = "trained"  # folder of the training runs
PLAIN, FIXED = "plain", "mended"
PARTS = 3  # rows to fit on, to choose by, and to confirm on
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class ClassifierWish:
    """Request to debias a classifier.

    Attributes:
        model: Classifier, in any form that :func:`fairlab.audit.classifiers.as_classifier` accepts.
        data: Labelled rows, in any form that :func:`fairlab.audit.data.read_source` accepts.
        settings: Settings of the audits.
        price: Limit on the loss of accuracy, in points.
        ways: Names of the methods to try.
        scale: ``quickstart`` or ``paper``, which selects the default settings of training.
        name: Name of the result in its report and in tables; empty to name it after the model.
    """

    model: Any
    data: Any
    settings: Settings
    price: KeptUtility
    ways: Sequence[str] = WAYS
    scale: str = "quickstart"
    name: str = ""


def mend_classifier(wish: ClassifierWish, folder: Path) -> MendOutcome:
    """Try methods on a classifier, and export the best one that keeps its accuracy, as a model or as a decision rule.

    Steps that an earlier run finished in the folder are not repeated.

    Raises:
        FairlabError: The data, the model or a setting is unsuitable, no method fits, or the folder contains a run with
            other settings.
    """
    name, rows = read_source(wish.data, wish.settings.field)
    parts = thirds(name, rows)
    model = as_classifier(wish.model)
    every = label_rows(name, rows, wish.settings, model)  # a message about a third would name places in that third
    # a rare label may be missing from a third, whose labels would then differ
    wish = replace(wish, settings=replace(wish.settings, labels=every.labels))
    _refuse_small_parts(parts, wish.settings, model)
    with composing():
        facts = _facts(wish, model, parts)
    with begun(folder, facts):
        return _mend(wish, model, parts, folder)


def _refuse_small_parts(parts: Sequence[Rows], settings: Settings, model: AnyClassifier) -> None:
    """Raise before anything is trained or written if the rows for selecting or confirming have too small groups."""
    for part in parts[1:]:
        try:
            refuse_small_groups(read_labelled(part, settings, model))
        except FairlabError as error:
            raise FairlabError(f"a third of the rows of data cannot be audited: {error}") from None


def _facts(wish: ClassifierWish, model: AnyClassifier, parts: Sequence[Rows]) -> dict[str, Any]:
    """Return the settings, and what identifies the model and the rows, which identify the run.

    Of the models, only those of transformers have weights that can be hashed.
    """
    digest = hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()
    weights = model_facts(backbone_node(model.weights, {})) if model.weights else {}
    facts = {"model": [model.name, weights, model.thresholds], "data": digest, "price": str(wish.price)}
    return {**facts, "methods": wish.ways, "scale": wish.scale, **asdict(wish.settings)}


def _mend(wish: ClassifierWish, model: AnyClassifier, parts: Sequence[Rows], folder: Path) -> MendOutcome:
    fit, choosing, proving = parts
    tried: list[MendJudgement] = []
    skipped: dict[str, str] = {}
    for k, way in enumerate(wish.ways, start=1):
        print_escaped(f"trying {way} ({k} of {len(wish.ways)})")
        try:
            record = _try_method(way, model, fit, choosing, wish, folder)
        except FairlabError as error:
            skipped[way] = str(error)
            continue
        tried.append(replace(judge_change(record, FIXED, PLAIN, wish.price), label=way))
    if not tried:
        raise FairlabError(f"no way of mending fits {model.name}: {next(iter(skipped.values()), 'none was given')}")
    best = best_of(tried)
    remove_weights([folder / TRAINED / way for way in TRAININGS if best is None or way != best.label])
    judged: MendJudgement | None = None
    trained: list[Record] = []
    if best is None:
        records = {one.label: Record.load(folder / TRIED / one.label) for one in tried}
        proof = join_methods(records, PLAIN, FIXED, folder / CHOSEN)
    else:
        print_escaped(f"{best.label} is best; measuring it on rows that were not used for the choice")
        both = {PLAIN: model, best.label: _load_fixed(best.label, model, folder)}
        proof = _audited(both, proving, wish.settings, folder / PROVEN)
        judged = judge_change(proof, best.label, PLAIN, wish.price)
        trained = [Record.load(folder / TRAINED / best.label)] if best.label in TRAININGS else []
    outcome = concluded(folder, model.name, wish.price, tried, skipped, judged)
    publish(outcome, proof, trained, wish.name or model.name)
    if best is not None and outcome.is_mended:
        if trained:
            export_trained(folder / TRAINED / best.label, proof, {PLAIN: "before", best.label: "after"}, folder)
        else:
            shutil.copyfile(folder / TRIED / best.label / FILE, folder / FILE)
    outcome.save()
    return outcome


def _try_method(
    way: str, model: AnyClassifier, fit: Rows, choosing: Rows, wish: ClassifierWish, folder: Path
) -> Record:
    """Apply one method, audit the model before and after it on the selection rows, and return the record.

    A finished audit is reused first, because the weights of methods that were not selected are removed.
    """
    if kept := kept_part(folder / TRIED / way):
        return kept
    if way in RULES:
        settings = replace(wish.settings, mend=cast(Way, way), fit=fit)
        return _audited({"": model}, choosing, settings, folder / TRIED / way)
    rows = read_labelled(fit, wish.settings, model)
    train_classifier(way, model, rows, wish.settings, wish.scale, folder / TRAINED / way)
    both = {PLAIN: model, FIXED: _load_fixed(way, model, folder)}
    return _audited(both, choosing, wish.settings, folder / TRIED / way)


def _load_fixed(way: str, model: AnyClassifier, folder: Path) -> AnyClassifier:
    """Load the classifier that a method produced."""
    if way in TRAININGS:
        return as_classifier(str(folder / TRAINED / way))
    return mended(model, read_rule(folder / TRIED / way / FILE))


def thirds(name: str, rows: Sequence[Row]) -> list[Rows]:
    """Split rows into three parts by a hash of their text, so that equal texts are in the same part.

    Raises:
        FairlabError: A part is empty.
    """
    parts: list[Rows] = [[] for _ in range(PARTS)]
    for row in rows:
        parts[hashlib.sha256(row.text.encode()).digest()[0] % PARTS].append({**row.extra, **row.named})
    if not all(parts):
        raise FairlabError(f"{name} has {len(rows)} rows, too few for three parts; give at least a few hundred")
    return parts


def _audited(models: dict[str, AnyClassifier], rows: Rows, settings: Settings, folder: Path) -> Record:
    """Audit models, write the report to a folder, and return the record.

    A finished audit is reused.
    """
    if kept := kept_part(folder):
        return kept
    shown = {name: value for name, value in vars(settings).items() if name != "fit"}
    names: Any = {label: model.name for label, model in models.items()}
    record = Record(folder, {**shown, "axis": list(settings.axis), "model": names.get("", names)}, "fairlab mend")
    folder.mkdir(parents=True)
    record.provenance |= environment()
    audit_models(dict(models), rows, settings, record)
    record.status = "finished"
    write_report(record)
    record.save()
    return record
