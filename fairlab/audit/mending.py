"""Post-processing that makes the decisions of a trained classifier fairer: thresholds per label, or equalized odds.

The resulting decision rule is stored as numbers in a file. To change the training instead, use
``fairlab.train +experiment=fairtune``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.any_classifier import AnyClassifier, Fields
from fairlab.audit.data import LabelledRows, only_rows
from fairlab.audit.group_rates import members_of
from fairlab.audit.odds import OTHER, Chances, chance_of, fit_chances
from fairlab.audit.outputs import answered, cuts_of, only_labels, outputs_of
from fairlab.audit.people import attributes_of, people_column
from fairlab.audit.thresholds import chosen_cuts
from fairlab.checks.foreign import read_object, require_form
from fairlab.files import write_whole
from fairlab.lexicons import lexicon_axes
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError

Array = NDArray[np.float64]
Way = Literal["threshold", "odds"]
FILE = "mended.json"


class _Form(TypedDict):
    way: Way
    kind: Literal["one", "several"]
    labels: list[str]
    cuts: dict[str, float]
    column: str | None
    chances: dict[str, dict[str, Chances]]
    rows: int


@dataclass(frozen=True)
class Rule:
    """Decision rule that is applied to a classifier's outputs and consists only of numbers.

    Attributes:
        way: Kind of rule, ``threshold`` or ``odds``.
        kind: Whether a text has ``one`` label or ``several``.
        labels: Names of the labels, in the order of the outputs.
        cuts: Threshold of each label; empty for odds.
        column: Column of the groups, ``people_AXIS`` for groups that a lexicon finds in the text, or None for
            thresholds.
        chances: Probability of predicting each label, by label and group; empty for thresholds.
        rows: Number of rows that the rule was fitted on.
    """

    way: Way
    kind: Literal["one", "several"]
    labels: list[str]
    cuts: dict[str, float] = field(default_factory=dict)
    column: str | None = None
    chances: dict[str, dict[str, Chances]] = field(default_factory=dict)
    rows: int = 0

    def save(self, path: Path) -> None:
        """Write the rule to a JSON file."""
        write_whole(path, json.dumps(asdict(self), indent=1) + "\n")


def read_rule(path: Path) -> Rule:
    """Load a rule from a file.

    Raises:
        FairlabError: The file is missing, or does not contain a complete rule.
    """
    content = read_object(path)
    require_form(path, content, _Form)
    rule = Rule(**content)
    odds, cuts = rule.way == "odds", set() if rule.way == "odds" else set(rule.labels)
    decided = set(rule.labels[1:] if rule.kind == "one" else rule.labels) if odds else set()
    if (
        len(rule.labels) < (2 if rule.kind == "one" else 1)
        or (set(rule.cuts), set(rule.chances), rule.column is not None) != (cuts, decided, odds)
        or any(OTHER not in chances for chances in rule.chances.values())
    ):
        raise FairlabError(
            f"{path} is not a complete rule for the labels that it lists ({listed_names(rule.labels)}); create it "
            "again with mend=threshold or mend=odds"
        )
    return rule


def split_rule(name: str) -> tuple[str, Path | None]:
    """Return the name of a model without ``@`` and the rule after it, and the path of the rule or None.

    Raises:
        FairlabError: There is no name before the rule.
    """
    base, at, rule = name.rpartition("@")
    if not at or not (rule.endswith(".json") or Path(rule).exists()) or Path(name).exists():
        return name, None
    if not base:
        raise FairlabError(f"model={name} names no model; write the model's name before '@'")
    return base, Path(rule)


def with_rule(model: AnyClassifier, path: Path) -> AnyClassifier:
    """Return a classifier whose decisions follow the rule in a file, or in the file ``mended.json`` of a folder.

    Raises:
        FairlabError: There is no rule, it was fitted for another model, or the model has a rule already.
    """
    path = path / FILE if path.is_dir() else path
    rule = read_rule(path)
    _refuse_second_rule(model)
    model = only_labels(model, rule.labels)
    reordered = set(model.labels) == set(rule.labels) and list(model.labels) != rule.labels
    if model.kind not in (None, rule.kind) or reordered or len(model.labels) not in (0, len(rule.labels)):
        raise FairlabError(
            f"{path} was fitted for {rule.kind} of the labels {listed_names(rule.labels)}, but {model.name} returns "
            f"{model.kind or 'one'} of {listed_names(model.labels, 'a score')}; give the rule that was fitted for this "
            "model"
        )
    return mended(model, rule)


def _refuse_second_rule(model: AnyClassifier) -> None:
    if model.column or model.by_chance:
        raise FairlabError(f"{model.name}: a rule is already applied; give the model without it")


def fit_rule(way: Way, model: AnyClassifier, data: LabelledRows, keep: float, threshold: float = 0.5) -> Rule:
    """Fit a decision rule for a classifier.

    Args:
        way: Kind of rule. ``threshold`` selects one threshold per label for all groups. Of the thresholds that lose at
            most ``keep`` points of accuracy, it selects the threshold with the smallest gap in error rates. ``odds``
            gives each group of the first column its own probabilities of predicting a label, with equalized odds.
        model: Classifier.
        data: Rows with labels and groups, which must not be the rows to measure on. Rows on which the model fails are
            left out.
        keep: Largest loss of accuracy on these rows, in points; not used by ``odds``.
        threshold: Threshold of labels for which the model has no threshold of its own.

    Raises:
        FairlabError: The data has scores, fewer than two groups have 20 rows, or ``odds`` is used with three or more
            exclusive labels.
    """
    _refuse_second_rule(model)
    if data.kind == "score":
        raise FairlabError("mend= changes decisions, and the model gives scores; use +experiment=fairtune instead")
    kind, labels = data.kind, list(data.labels)
    given = answered(model, data.fields, kind, labels)
    data, outputs = only_rows(data, ~given.failed), given.values[~given.failed]
    if way == "threshold":
        columns = [found for groups in data.groups.values() if len((found := members_of(groups)).names) > 1]
        if not columns:
            raise FairlabError("fewer than two groups of fit have 20 rows, so no gap can be reduced; give more rows")
        start = cuts_of(model, labels, threshold)
        cuts = chosen_cuts(data, outputs, columns, start, keep / 100)
        return Rule("threshold", kind, labels, dict(zip(labels, cuts.tolist(), strict=True)), rows=len(outputs))
    if data.kind == "one" and len(labels) != 2:
        raise FairlabError(f"mend=odds needs two labels, or several per text, not {len(labels)}; use mend=threshold")
    column = next(iter(data.groups), "")
    if not column:
        raise FairlabError("mend=odds needs groups, but fit has no group column; give group=COLUMN")
    places = [1] if data.kind == "one" else range(len(labels))
    chances = {}
    for place in places:
        truth = data.truth if data.kind == "one" else data.truth[:, place]
        chances[labels[place]] = fit_chances(truth, outputs[:, place], data.groups[column], labels[place])
    return Rule("odds", kind, labels, column=column, chances=chances, rows=len(outputs))


def mended(model: AnyClassifier, rule: Rule) -> AnyClassifier:
    """Return a classifier whose decisions follow the rule.

    Raises:
        FairlabError: The rule needs an axis that fairlab does not have.
    """
    name = f"{model.name} with the rule {rule.way}"
    if rule.way == "threshold":
        cuts = tuple(rule.cuts.items())
        return replace(model, name=name, labels=tuple(rule.labels), kind=rule.kind, thresholds=cuts)
    axis = next((axis for axis in lexicon_axes() if people_column(axis) == rule.column), None)

    def call(texts: Sequence[Fields]) -> Array:
        plain = list(texts) if axis else [fields[:-1] for fields in texts]
        groups = attributes_of(plain, [axis])[axis] if axis else [fields[-1] for fields in texts]
        outputs = outputs_of(model, plain, rule.kind, rule.labels)
        found = outputs.copy()
        for label, chances in rule.chances.items():
            place = rule.labels.index(label)
            found[:, place] = chance_of(outputs[:, place], groups, chances)
        if rule.kind == "one":
            found[:, 0] = 1 - found[:, 1]
        return found

    return AnyClassifier(
        name,
        call,
        tuple(rule.labels),
        rule.kind,
        column="" if axis else rule.column or "",
        by_chance=True,
    )
