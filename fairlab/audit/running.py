"""Execution of an audit, from the data and models to the readings and answers in the record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fairlab.audit.answer import AuditAnswer, answer_of
from fairlab.audit.any_classifier import AnyClassifier
from fairlab.audit.beside import beside_first
from fairlab.audit.classifiers import as_classifier
from fairlab.audit.data import LabelledRows, labelled, read_source, source_name
from fairlab.audit.endpoints import refuse_other_servers
from fairlab.audit.failures import classify
from fairlab.audit.measuring import GUESSING, Audit
from fairlab.audit.mending import FILE as RULE
from fairlab.audit.mending import fit_rule, mended
from fairlab.audit.outputs import cuts_of, only_labels
from fairlab.audit.pairs import make_pairs, refuse_without_people
from fairlab.audit.people import groups_of_people
from fairlab.audit.prompted import prompted, read_questions
from fairlab.audit.sheet import FILE, drawn_for_sheet, read_rewrites, write_rewrites
from fairlab.benchmarks.readings import evenly
from fairlab.benchmarks.runner import measure_models
from fairlab.benchmarks.stages import stage
from fairlab.llm.urls import is_address
from fairlab.record import Note, Reading, Record
from fairlab.reporting.tables.marks import failed_models
from fairlab.reporting.verdicts import corrected_interval
from fairlab.text.labels import label_meant
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError, Row

OF_GROUPS = ("group", "groups", "sex", "ethnicity", "religion", "race", "age")  # usual names of group columns


@dataclass(frozen=True)
class Settings:
    """Settings of an audit, as in ``conf/audit.yaml``.

    Attributes:
        field: Column of the text, or two columns for pairs.
        label: Column of the label or score, or one column per label.
        group: Column of groups, or several columns; None uses the groups found by the lexicons.
        axis: Axes along which people are changed.
        labels: Names of the model's labels, in the order of its outputs; None uses the model's own names, and an empty
            list means that the model returns scores.
        threshold: Minimum probability for predicting a label.
        margin: Largest gap in points that counts as alike, or None.
        sheet: Number of rewrites to write to a sheet for a person to check, path of a filled sheet, or None.
        mode: Method of finding people: ``syntax`` or ``lexical``.
        limit: Maximum number of rows, spread evenly over the data, or None.
        seed: Seed for drawing people and target attributes.
        mend: Method that makes the model's decisions fairer, ``threshold`` or ``odds``, or None; the fairer model is
            also audited.
        fit: Labelled rows for fitting this method, which must be different from the audited rows.
        keep: Largest loss of accuracy, in points, that counts as keeping the accuracy of the first model.
        api_key_env: Name of the environment variable with the key for the endpoint of the models, or None.
        question: Question with which a chat model classifies a text, or a file that contains it, with ``{text}`` in
            place of the text; several questions by label; or None for a classifier.
        answers: Answers of the chat model, in the order of ``labels``; None if the labels are its answers.
        llm: Settings of the server of an endpoint or chat model, or None.
    """

    field: str | Sequence[str] = "text"
    label: str | Sequence[str] = "label"
    group: str | Sequence[str] | None = None
    axis: Sequence[str] = ("gender",)
    labels: Sequence[str] | None = None
    threshold: float = 0.5
    margin: float | None = None
    sheet: int | str | None = None
    mode: Literal["syntax", "lexical"] = "syntax"
    limit: int | None = None
    seed: int = 0
    mend: Literal["threshold", "odds"] | None = None
    fit: Any = None
    keep: float = 2.0
    api_key_env: str | None = None
    question: str | Mapping[str, str] | None = None
    answers: Sequence[str] | None = None
    llm: Mapping[str, Any] | None = None


def audit_models(models: dict[str, Any], data: Any, settings: Settings, record: Record) -> dict[str, AnyClassifier]:
    """Audit classifiers on the same rows, and compare each later one with the first.

    Args:
        models: Classifiers by label, in any form that :func:`fairlab.audit.classifiers.as_classifier` accepts; a single
            classifier has an empty label.
        data: Rows, in any form that :func:`fairlab.audit.data.read_source` accepts.
        settings: Settings of the audit.
        record: Record of the run, which receives readings, comparisons and the answers.

    Returns:
        Audited classifiers by label, with ``mended`` if ``mend`` is set.

    Raises:
        FairlabError: The data, a model or a setting does not fit.
    """
    if settings.fit is not None and settings.mend is None:
        raise FairlabError("fit= is used only by mend=; give mend=threshold or mend=odds, or leave fit out")
    found = _classifiers(models, settings, record)
    rows = read_labelled(data, settings, next(iter(found.values())))
    for model in found.values():
        if model.kind not in (None, rows.kind):
            raise FairlabError(
                f"{model.name} returns {model.kind}, but the data contains {rows.kind}; give data of the same kind"
            )
        cuts_of(model, rows.labels, settings.threshold)  # raises before the texts are classified
    if settings.mend:
        found = _with_rule(found, rows, settings, record)
    pairs = [make_pairs(rows.fields, axis, mode=settings.mode, seed=settings.seed) for axis in settings.axis]
    if not rows.groups:
        refuse_without_people(pairs, source_name(data))
        rows.groups.update(groups_of_people(rows.fields, settings.axis))
        record.add_notes(_unread_groups(rows.columns, settings.axis))
    every = [pair for one in pairs for pair in one.pairs]
    sheet = read_rewrites(Path(settings.sheet), every) if isinstance(settings.sheet, str) else []
    with stage(record, "classifying"):
        classified = classify(Audit(rows, pairs, settings.threshold, sheet), found)
    record.add_notes(Note("audit", text, phase=label) for label, text in classified.failures.items())
    callers: list[Any] = [(label, _Digested(model)) for label, model in classified.models.items()]
    measure_models([classified.audit], callers, record)
    if isinstance(settings.sheet, int):
        drawn = [pair for one in pairs for pair in drawn_for_sheet(one.pairs, rows.ids, settings.sheet)]
        write_rewrites(record.folder / FILE, drawn, rows.ids)
    failures = classified.failures
    record.provenance["answers"] = {label: vars(_answer(record, label, settings, rows, failures)) for label in found}
    first, *later = found
    failed = failed_models(record)
    for label in later:
        changes = [one for one in record.comparisons if one.phase == f"{label} less {first}"]
        said = beside_first(changes, first, settings.keep, [one for one in (first, label) if one in failed])
        record.provenance["answers"][label]["sentence"] += f" {said}"
    return found


def _answer(
    record: Record, label: str, settings: Settings, rows: LabelledRows, failures: Mapping[str, str]
) -> AuditAnswer:
    """Return the answer about one model.

    The answer is inconclusive if the model fails the behaviour check, and limited if the model may be guessing or
    failed on some texts.
    """
    readings = [with_printed_interval(record, one) for one in record.readings if one.phase == label]
    found = answer_of(readings, settings.margin, rows.labels, not failures)
    if label in failures:
        found = replace(found, sentence=f"{found.sentence} But {failures[label]}.")
    guesses = [note.text for note in record.notes if note.mark == GUESSING and note.phase in ("", label)]
    if guesses:
        found = replace(found, sentence=f"{found.sentence} But {guesses[0]}.")
    reasons = failed_models(record).get(label, [])
    return replace(found, sentence=f"Cannot tell: {'; '.join(reasons)}.") if reasons else found


def with_printed_interval(record: Record, reading: Reading) -> Reading:
    """Return a reading with the interval printed in the report.

    A reading with too few items for an interval is unchanged.
    """
    low, high = corrected_interval(record, reading)
    return reading if math.isnan(low) else replace(reading, low=low, high=high)


def _unread_groups(columns: Sequence[str], axes: Sequence[str]) -> list[Note]:
    """Return a note about the first unused column with a name that suggests groups."""
    likely = next((name for name in columns if name.lower() in {*OF_GROUPS, *axes}), None)
    said = f"groups were found by words in the texts; give group={likely} to use the column '{likely}' instead"
    return [Note("audit", said)] if likely else []


def _with_rule(
    found: dict[str, AnyClassifier], rows: LabelledRows, settings: Settings, record: Record
) -> dict[str, AnyClassifier]:
    """Fit a decision rule, write it to the run folder, and return the model without and with the rule.

    Raises:
        FairlabError: There are several models, there are no rows to fit on, or the rows to fit on are also audited.
    """
    if len(found) > 1:
        raise FairlabError("mend= takes one model; give model=MODEL")
    if settings.fit is None:
        raise FairlabError(f"mend={settings.mend} needs fit=FILE, a file of labelled rows that are not audited")
    (model,) = found.values()
    fit = read_labelled(settings.fit, settings, model, rows.labels)
    seen = set(map(tuple, rows.fields))
    if shared := sum(tuple(fields) in seen for fields in fit.fields):
        raise FairlabError(
            f"{shared} texts of fit are also audited, so the result would be too optimistic; remove them from fit"
        )
    if not fit.groups:
        fit.groups.update(groups_of_people(fit.fields, settings.axis))
    rule = fit_rule(settings.mend or "threshold", model, fit, settings.keep, settings.threshold)
    if lost := len(fit.fields) - rule.rows:
        text = f"{model.name} failed on {lost} of {len(fit.fields)} rows of fit, which are left out"
        record.add_notes([Note("audit", text)])
    rule.save(record.folder / RULE)
    return {"plain": model, "mended": mended(model, rule)}


class _Digested:
    """Wrapper with which the benchmark runner treats every classifier as a different model."""

    def __init__(self, model: AnyClassifier) -> None:
        self.model = model

    def digest(self) -> str:
        """Return a value that is unique to the wrapped classifier."""
        return f"{self.model.name} {id(self)}"


def _classifiers(models: Mapping[str, Any], settings: Settings, record: Record) -> dict[str, AnyClassifier]:
    served = dict(settings.llm or {}) | ({"api_key_env": settings.api_key_env} if settings.api_key_env else {})
    if settings.question is not None:
        questions = read_questions(settings.question)
        record.provenance["question"] = questions.get("", questions)
        return prompted(models, questions, settings.answers or settings.labels, served)
    if settings.answers:
        raise FairlabError("answers= is used only with question=; give question=FILE, or leave answers out")
    if settings.llm and not any(map(is_address, models.values())):
        raise FairlabError("llm= is used only for an endpoint or with question=; leave llm out, or give question=FILE")
    refuse_other_servers(models.values(), served.get("api_key_env"))
    found = {label: as_classifier(model, served) for label, model in models.items()}
    columns = settings.label
    if isinstance(columns, str) or settings.labels:
        return found
    return {label: only_labels(model, columns) for label, model in found.items()}


def read_labelled(data: Any, settings: Settings, model: AnyClassifier, names: Sequence[str] = ()) -> LabelledRows:
    """Read labelled rows, with the columns given in the settings of an audit.

    Args:
        data: Rows, in any form that :func:`fairlab.audit.data.read_source` accepts.
        settings: Settings of the audit.
        model: Classifier that predicts the labels of the rows.
        names: Names of the labels, used if the settings do not name the labels. If empty, the names come from the model
            or, if it has none, from the data.

    Raises:
        FairlabError: The data does not fit.
    """
    name, rows = read_source(data, settings.field)
    return label_rows(name, evenly(rows, settings.limit), settings, model, names)


def label_rows(
    name: str, rows: Sequence[Row], settings: Settings, model: AnyClassifier, names: Sequence[str] = ()
) -> LabelledRows:
    """Add labels and groups to rows, with the columns given in the settings of an audit.

    Raises:
        FairlabError: The data does not fit.
    """
    labels = tuple(map(str, settings.labels or names)) or model.labels
    if settings.labels and model.labels and len(settings.labels) != len(model.labels):
        raise FairlabError(
            f"labels has {len(settings.labels)} names, but {model.name} has {len(model.labels)} labels "
            f"({listed_names(model.labels)}); name each of them"
        )
    own = [label_meant(label, model.labels) for label in labels]
    reordered = set(own) == set(model.labels) and own != list(model.labels)
    if reordered and settings.question is None and is_address(model.name):  # it sends the names with the scores
        raise FairlabError(f"{model.name} returns the labels {listed_names(model.labels)}, in this order; omit labels=")
    kind = "score" if settings.labels is not None and not settings.labels else model.kind
    return labelled(name, rows, settings.label, settings.group, labels, kind)
