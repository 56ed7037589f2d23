"""Mending of a classifier's decisions: rules are fitted on a third of the rows, chosen on another, proven on the last.

Training is mended by ``fairlab.train +experiment=fairtune``.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fairlab.audit.any_classifier import AnyClassifier
from fairlab.audit.classifiers import as_classifier
from fairlab.audit.data import read_source
from fairlab.audit.mending import FILE, mended, read_rule
from fairlab.audit.running import Settings, audit_models
from fairlab.checks.escapes import print_escaped
from fairlab.mend.judging import KeptUtility, MendJudgement, best_of, judge_change
from fairlab.mend.outcome import PROVEN, TRIED, MendOutcome, concluded, publish
from fairlab.record import Record
from fairlab.reporting.report import write_report
from fairlab.run.environment import environment
from fairlab.types import FairlabError

WAYS: tuple[Literal["threshold", "odds"], ...] = ("threshold", "odds")
PARTS = 3  # rows that rules are fitted on, rows that choose, and rows that prove
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class ClassifierWish:
    """Request to mend a classifier.

    Attributes:
        model: Classifier, as :func:`fairlab.audit.classifiers.as_classifier` takes it.
        data: Labelled rows, as :func:`fairlab.audit.data.read_source` takes them.
        settings: Settings of the audits.
        price: Accuracy that may be lost, in points.
        ways: Ways of mending to try.
    """

    model: Any
    data: Any
    settings: Settings
    price: KeptUtility
    ways: Sequence[Literal["threshold", "odds"]] = WAYS


def mend_classifier(wish: ClassifierWish, folder: Path) -> MendOutcome:
    """Try rules after a classifier, and keep the best one that keeps its accuracy as a file of numbers.

    Raises:
        FairlabError: The data, the model or a setting does not fit, or no rule does.
    """
    fit, choosing, proving = thirds(wish.data, wish.settings.field)
    model = as_classifier(wish.model)
    tried: list[MendJudgement] = []
    skipped: dict[str, str] = {}
    for way in wish.ways:
        print_escaped(f"trying {way}")
        try:
            record = _audited({"": model}, choosing, replace(wish.settings, mend=way, fit=fit), folder / TRIED / way)
        except FairlabError as error:
            skipped[way] = str(error)
            continue
        tried.append(replace(judge_change(record, "mended", "plain", wish.price), label=way))
    if not tried:
        raise FairlabError(f"no way of mending fits {model.name}: {next(iter(skipped.values()), 'none was given')}")
    best = best_of(tried)
    if best is None:
        outcome = concluded(folder, model.name, wish.price, tried, skipped, None)
        publish(outcome, Record.load(folder / TRIED / tried[0].label), [])
    else:
        rule = folder / TRIED / best.label / FILE
        both = {"plain": model, best.label: mended(model, read_rule(rule))}
        proof = _audited(both, proving, wish.settings, folder / PROVEN)
        outcome = concluded(
            folder, model.name, wish.price, tried, skipped, judge_change(proof, best.label, "plain", wish.price)
        )
        publish(outcome, proof, [])
        if outcome.is_mended:
            shutil.copyfile(rule, folder / FILE)
    outcome.save()
    return outcome


def thirds(data: Any, field: str | Sequence[str]) -> list[Rows]:
    """Divide rows into three parts by a hash of their text, so that equal texts are in the same part.

    Raises:
        FairlabError: The data cannot be read, or a part is empty.
    """
    name, rows = read_source(data, field)
    parts: list[Rows] = [[] for _ in range(PARTS)]
    for row in rows:
        parts[hashlib.sha256(row.text.encode()).digest()[0] % PARTS].append({**row.extra, **row.named})
    if not all(parts):
        raise FairlabError(f"{name} has {len(rows)} rows, too few for three parts; give some hundreds")
    return parts


def _audited(models: dict[str, AnyClassifier], rows: Rows, settings: Settings, folder: Path) -> Record:
    """Return the record of an audit, with its report in a folder."""
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
