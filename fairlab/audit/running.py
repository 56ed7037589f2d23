"""Running an audit: data and model in, readings and answer in the record out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fairlab.audit.answer import answer_of
from fairlab.audit.classifiers import AnyClassifier, as_classifier
from fairlab.audit.data import LabelledRows, labelled, read_source
from fairlab.audit.measuring import Audit
from fairlab.audit.pairs import Pairs, make_pairs, refuse_without_people
from fairlab.audit.rates_by_group import FOUND
from fairlab.audit.sheet import FILE, drawn_for_sheet, read_rewrites, write_rewrites
from fairlab.benchmarks.readings import evenly
from fairlab.benchmarks.runner import measure_models
from fairlab.lexicons import load_lexicon
from fairlab.record import Record
from fairlab.rewriting.perturbable_words import PerturbableWords
from fairlab.text.fields import join_fields
from fairlab.types import FairlabError

TWO = 2  # attributes that make groups


@dataclass(frozen=True)
class Settings:
    """Settings of an audit, as in ``conf/audit.yaml``.

    Attributes:
        field: Column of the text, or two columns for pairs.
        label: Column of the label or score, or a column per label.
        group: Column of groups, or several; None takes groups that the lexicons find.
        axis: Axes along which people change.
        labels: Names of the model's labels, in the order of its outputs; None takes the model's own.
        threshold: Probability from which a label is predicted.
        margin: Largest gap in points that counts as alike, or None.
        sheet: Number of rewrites to write to a reading sheet, or path of a filled one, or None.
        mode: Way of finding people: ``syntax`` or ``lexical``.
        limit: Maximum number of rows, spread evenly, or None.
        seed: Seed of the drawn people and targets.
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


def audit_models(models: dict[str, Any], data: Any, settings: Settings, record: Record) -> None:
    """Audit classifiers on the same rows, the later ones compared with the first.

    Args:
        models: Classifiers by label, as :func:`fairlab.audit.classifiers.as_classifier` takes them; the label of a
            single one is empty.
        data: Rows, as :func:`fairlab.audit.data.read_source` takes them.
        settings: Settings of the audit.
        record: The run's record, which receives readings, comparisons and the answers.

    Raises:
        FairlabError: The data, a model or a setting does not fit.
    """
    if not 0 < settings.threshold < 1:
        raise FairlabError(f"threshold must be between 0 and 1, not {settings.threshold}")
    found = {label: as_classifier(model) for label, model in models.items()}
    rows = _rows(data, settings, next(iter(found.values())))
    for model in found.values():
        if model.kind not in (None, rows.kind):
            raise FairlabError(f"{model.name} gives {model.kind} and the data holds {rows.kind}; give one of its kind")
    name = str(data) if isinstance(data, str | Path) else f"this {type(data).__name__}"
    pairs = [make_pairs(rows.fields, axis, mode=settings.mode, seed=settings.seed) for axis in settings.axis]
    if not rows.groups:
        refuse_without_people(pairs, name)
        rows.groups.update(groups_of_people(rows.fields, settings.axis))
    every = [pair for one in pairs for pair in one.pairs]
    sheet = read_rewrites(Path(settings.sheet), every) if isinstance(settings.sheet, str) else []
    audit = Audit(rows, pairs, settings.threshold, sheet)
    callers: list[Any] = [(label, _Digested(model)) for label, model in found.items()]
    measure_models([audit], callers, record)
    if isinstance(settings.sheet, int):
        _write_sheets(record.folder, pairs, rows.ids, settings.sheet)
    record.provenance["answers"] = {
        label: vars(answer_of([one for one in record.readings if one.phase == label], settings.margin, rows.labels))
        for label in found
    }


class _Digested:
    """Classifier as the runner of benchmarks takes a model: no two are known to be the same."""

    def __init__(self, model: AnyClassifier) -> None:
        self.model = model

    def digest(self) -> str:
        """Return a value that differs between any two classifiers."""
        return f"{self.model.name} {id(self)}"


def _rows(data: Any, settings: Settings, model: AnyClassifier) -> LabelledRows:
    name, rows = read_source(data, settings.field)
    kept = evenly(rows, settings.limit)
    labels = tuple(map(str, settings.labels or ())) or model.labels
    if settings.labels and model.labels and len(settings.labels) != len(model.labels):
        raise FairlabError(
            f"labels names {len(settings.labels)} labels and {model.name} has {len(model.labels)} "
            f"({', '.join(model.labels)}); name each of them"
        )
    return labelled(name, kept, settings.label, settings.group, labels, model.kind)


def groups_of_people(fields: Sequence[Sequence[str]], axes: Sequence[str]) -> dict[str, list[str]]:
    """Return the attribute of the people in each text by axis; empty for none, or for several attributes."""
    lexicons = [load_lexicon(axis) for axis in axes]
    words = PerturbableWords(lexicons, "lexical")
    counts = [words.attributes(join_fields(some)) for some in fields]
    found = {}
    for lexicon in lexicons:
        groups = [_only(one, lexicon.axis, lexicon.attributes) for one in counts]
        if len(set(filter(None, groups))) >= TWO:
            found[f"{FOUND}_{lexicon.axis}"] = groups
    return found


def _only(counts: Counter[str], axis: str, attributes: Sequence[str]) -> str:
    held = [name for name in attributes if counts[f"{axis}/{name}"]]
    return held[0] if len(held) == 1 else ""


def _write_sheets(folder: Path, pairs: Sequence[Pairs], ids: Sequence[str], count: int) -> None:
    """Write a sheet with as many pairs of each axis."""
    drawn = [pair for one in pairs for pair in drawn_for_sheet(one.pairs, ids, count)]
    write_rewrites(folder / FILE, drawn, ids)
