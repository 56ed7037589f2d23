"""Texts on which an audited classifier fails: they are left out for all models, and the answer says so.

Shapes: N is the number of texts, L the number of labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.any_classifier import AnyClassifier, Fields
from fairlab.audit.data import only_rows
from fairlab.audit.measuring import Audit
from fairlab.audit.outputs import SHOWN, Outputs, answered
from fairlab.audit.pairs import Pair, Pairs

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Classified:
    """Audit without the texts on which a model failed.

    Attributes:
        audit: Audit of the other rows and pairs.
        models: Models by label, which return the outputs that they gave before.
        failures: Sentence about the failures of each model, by label; models without failures are omitted.
    """

    audit: Audit
    models: dict[str, AnyClassifier]
    failures: dict[str, str]


def classify(audit: Audit, models: Mapping[str, AnyClassifier]) -> Classified:
    """Classify all texts of an audit, and leave out those on which a model fails.

    A row is left out if a model fails on its text, and a pair if a model fails on one of its three texts, so that all
    models are audited on the same rows and pairs.

    Raises:
        FairlabError: A model fails on more texts than :data:`~fairlab.audit.outputs.MOST_FAILED`, or does not return
            probabilities.
    """
    data = audit.data
    found: dict[str, Outputs] = {}
    remembered: dict[str, AnyClassifier] = {}
    for label, model in models.items():
        texts = audit.texts_to_classify(model)
        found[label] = answered(model, texts, data.kind, data.labels)
        remembered[label] = _remembering(model, texts, found[label])
    failed = np.any([one.failed for one in found.values()], axis=0)
    if not failed.any():
        return Classified(audit, remembered, {})
    n, p = len(data.fields), sum(map(len, audit.pairs))
    rows, sides, right = failed[:n], failed[n : n + 3 * p].reshape(3, p), failed[n + 3 * p :]
    said = _left_out(audit.pairs, rows, sides)
    failures = {label: f"{_failed(models[label], one)}; {said}" for label, one in found.items() if one.failures}
    return Classified(_only(audit, ~rows, ~sides.any(axis=0), ~right), remembered, failures)


def _remembering(model: AnyClassifier, texts: Sequence[Fields], found: Outputs) -> AnyClassifier:
    """Return a model that gives the outputs of texts without classifying them again."""
    outputs = dict(zip(map(tuple, texts), found.values, strict=True))
    return replace(model, call=lambda some: np.stack([outputs[tuple(fields)] for fields in some]), at_once=0)


def _failed(model: AnyClassifier, found: Outputs) -> str:
    text, reason = next(iter(found.failures.items()))
    texts = "text" if found.texts == 1 else "texts"
    first = f"first on '{text[:SHOWN]}': {reason}" if len(found.failures) > 1 else f"'{text[:SHOWN]}': {reason}"
    return f"{model.name} failed on {len(found.failures)} of {found.texts} {texts} ({first})"


def _left_out(pairs: Sequence[Pairs], rows: Mask, sides: Mask) -> str:
    """Return the number of rows and pairs that are left out, and how much this can change a share of predictions."""
    lost: Mask = np.logical_or.reduce(sides)
    before, after, control = sides.sum(axis=1)
    of_axes = np.split(lost, np.cumsum([len(one) for one in pairs])[:-1])
    most = 100 * max(float(one.mean()) for one in [rows, *of_axes] if one.size)
    return (
        f"{rows.sum()} of {len(rows)} rows and {lost.sum()} of {len(lost)} pairs are left out ({before} by the text, "
        f"{after} by the changed text, {control} by the control), which can change a share by up to {most:.2g} points"
    )


def _only(audit: Audit, rows: Mask, pairs: Mask, right: Mask) -> Audit:
    """Return the audit of those rows (N,), pairs of all axes and corrected texts of the sheet that the masks keep."""
    place = np.cumsum(rows) - 1
    kept, parts = iter(pairs), []
    moved: dict[int, Pair] = {}
    for one in audit.pairs:
        some = [pair for pair in one.pairs if next(kept)]
        moved |= {id(pair): replace(pair, row=int(place[pair.row])) for pair in some}
        people = one.people - sum(not rows[pair.row] for pair in one.pairs)
        parts.append(replace(one, pairs=[moved[id(pair)] for pair in some], people=people, rows=int(rows.sum())))
    classified = iter(right)
    sheet = [
        (moved[id(pair)], fixed)
        for pair, fixed in audit.sheet
        if (fixed is None or next(classified)) and id(pair) in moved
    ]
    return Audit(only_rows(audit.data, rows), parts, audit.threshold, sheet)
