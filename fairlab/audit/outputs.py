"""Validated outputs of a classifier, and the predictions that follow from them.

Shapes: N is the number of texts, L the number of labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.any_classifier import AnyClassifier, Fields, Kind
from fairlab.audit.returned import as_numbers
from fairlab.checks.foreign import error_text
from fairlab.checks.progress import with_progress
from fairlab.text.fields import SEPARATOR
from fairlab.text.labels import label_meant
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError

Array = NDArray[np.float64]
OFF = 0.01  # largest accepted distance of a sum of probabilities from 1
PERCENT = 100
MOST_FAILED = 0.02  # largest share of texts on which an audited model may fail
AT_ONCE = 32  # texts that are classified together after a failure
SHOWN = 80  # characters of a text that messages show
EVEN = 0.5  # probability from which a label is predicted


class ModelFailed(FairlabError):
    """Failure of a model on one or more texts.

    Attributes:
        reason: Reason for the failure, without the name of the model and the remedy.
        remedy: Remedy of the failure.
    """

    def __init__(self, message: str, reason: str, remedy: str = "fix the model") -> None:
        super().__init__(message)
        self.reason, self.remedy = reason, remedy


@dataclass(frozen=True)
class Outputs:
    """Outputs of a model for texts.

    Attributes:
        values: Probabilities (N, L) or scores (N, 1), with NaN for texts on which the model failed.
        failed: Whether the model failed on each text, (N,).
        texts: Number of distinct texts.
        failures: Reason of the failure on each distinct text, by text.
    """

    values: Array
    failed: NDArray[np.bool_]
    texts: int
    failures: dict[str, str]


def only_labels(model: AnyClassifier, names: Sequence[str]) -> AnyClassifier:
    """Return a classifier with only those of its several labels that have these names, in any case.

    The classifier is returned unchanged if it lacks one of the names.
    """
    wanted = {name.casefold() for name in names}
    places = [place for place, label in enumerate(model.labels) if label.casefold() in wanted]
    if model.kind != "several" or len(places) != len(wanted):
        return model

    def call(texts: Sequence[Fields]) -> Array:
        return as_numbers(model.name, model.call(texts), model.labels)[:, places]

    labels = tuple(model.labels[place] for place in places)
    thresholds = tuple((label, cut) for label, cut in model.thresholds if label.casefold() in wanted)
    return replace(model, call=call, labels=labels, thresholds=thresholds)


def outputs_of(model: AnyClassifier, texts: Sequence[Fields], kind: Kind, labels: Sequence[str]) -> Array:
    """Return the model's probabilities (N, L) or scores (N, 1).

    Each distinct text is classified once. A single probability per text belongs to the second of two labels.

    Raises:
        FairlabError: The model fails on a text, or does not return probabilities.
    """
    return answered(model, texts, kind, labels, most=0.0).values


def answered(
    model: AnyClassifier, texts: Sequence[Fields], kind: Kind, labels: Sequence[str], *, most: float = MOST_FAILED
) -> Outputs:
    """Return the model's outputs as :func:`outputs_of` does, but allow failures on a small share of the texts.

    A text for which the model returns no number has failed as well. ``most`` is the largest share of distinct texts on
    which the model may fail.

    Raises:
        FairlabError: The model fails on more texts, or does not return probabilities.
    """
    distinct = list(dict.fromkeys(tuple(fields) for fields in texts))
    asking = _Asking(model, kind, labels, len(distinct), most)
    size = model.at_once or max(1, len(distinct))
    parts = [distinct[k : k + size] for k in range(0, len(distinct), size)]
    shown = with_progress(parts, "classifying") if model.at_once else parts
    found = np.concatenate([asking.outputs(part) for part in shown])
    place = {fields: k for k, fields in enumerate(distinct)}
    values = found[[place[tuple(fields)] for fields in texts]]
    return Outputs(values, np.isnan(values).any(axis=1), len(distinct), asking.failures)


class _Asking:
    """Classification of ``count`` texts by a model, which may fail on at most the share ``most`` of them."""

    def __init__(self, model: AnyClassifier, kind: Kind, labels: Sequence[str], count: int, most: float) -> None:
        self.model, self.kind, self.labels = model, kind, labels
        self.count, self.most = count, most
        self.failures: dict[str, str] = {}

    def outputs(self, texts: Sequence[Fields]) -> Array:
        """Return the outputs for texts, with NaN for texts on which the model fails.

        After a failure, smaller and smaller parts are classified, to find these texts.

        Raises:
            FairlabError: The model fails on too many texts, or does not return probabilities.
        """
        try:
            found = _shaped(self.model, _called(self.model, texts, self.labels), len(texts), self.labels, self.kind)
        except ModelFailed as error:
            if len(texts) == 1:
                self._fail(texts[0], error.reason, error.remedy)
                return np.full((1, 1 if self.kind == "score" else len(self.labels)), np.nan)
            size = min(AT_ONCE, (len(texts) + 1) // 2)
            return np.concatenate([self.outputs(texts[k : k + size]) for k in range(0, len(texts), size)])
        bad = ~np.isfinite(found).all(axis=1)
        for k in np.flatnonzero(bad).tolist():
            self._fail(texts[k], "it returns no number")
        found[bad] = np.nan
        _refuse_other_outputs(self.model, found[~bad], self.kind)
        return found

    def _fail(self, fields: Fields, reason: str, remedy: str = "fix the model") -> None:
        self.failures[" | ".join(fields)] = reason
        if len(self.failures) <= self.most * self.count:
            return
        text, reason = next(iter(self.failures.items()))
        what, removed = f"the text '{text[:SHOWN]}' ({reason})", "the text"
        if allowed := int(self.most * self.count):
            what, removed = f"more than {allowed} of {self.count} texts, first on {what}", "these texts"
        raise ModelFailed(f"{self.model.name} fails on {what}; {remedy}, or remove {removed}", reason)


def predicted(outputs: Array, kind: Kind, cuts: Array) -> Array:
    """Return the predictions for given outputs.

    Of three or more exclusive labels, the label whose probability exceeds its threshold most is predicted. With equal
    thresholds, this is the most probable label.

    Args:
        outputs: Probabilities (N, L) or scores (N, 1).
        kind: Kind of the outputs.
        cuts: Minimum probability for predicting each label, (L,). For two exclusive labels, only the second value is
            used.

    Returns:
        Positions of the labels (N,), 0 or 1 for each label (N, L), or scores (N,).
    """
    if kind == "score":
        return outputs[:, 0]
    if kind == "several":
        return (outputs >= cuts).astype(np.float64)
    if outputs.shape[1] == 2:
        return (outputs[:, 1] >= cuts[1]).astype(np.float64)
    return (outputs - cuts).argmax(axis=1).astype(np.float64)


def decided(model: AnyClassifier, texts: Sequence[Fields], outputs: Array, kind: Kind, cuts: Array) -> Array:
    """Return the model's predictions, as :func:`predicted` does, or sample them if the model is ``by_chance``.

    The hash of a text is the seed of sampling.
    """
    if not model.by_chance:
        return predicted(outputs, kind, cuts)
    draws = np.array([[_draw(fields, place) for place in range(outputs.shape[1])] for fields in texts])
    return (outputs > draws).astype(np.float64) if kind == "several" else (outputs > draws)[:, 1].astype(np.float64)


def _draw(fields: Fields, place: int) -> float:
    """Return a pseudo-random number in [0, 1) that depends only on the text and the label's position."""
    return int.from_bytes(hashlib.sha256(f"{place}:{SEPARATOR.join(fields)}".encode()).digest()[:6]) / 2**48


def cuts_of(model: AnyClassifier, labels: Sequence[str], threshold: float) -> Array:
    """Return the minimum probability for predicting each label: the model's own threshold, else the given value.

    Raises:
        FairlabError: The model has a threshold for another label, which would be ignored.
    """
    own = {label_meant(name, labels): cut for name, cut in model.thresholds}
    if other := [name for name, _ in model.thresholds if label_meant(name, labels) is None]:
        raise FairlabError(
            f"{model.name} has a threshold for '{other[0]}', but the labels are {listed_names(labels)}; leave "
            "labels=[...] out, and write the labels in the data as in the model"
        )
    return np.array([own.get(label, threshold) for label in labels])


def _called(model: AnyClassifier, texts: Sequence[Fields], labels: Sequence[str]) -> Array:
    try:
        return as_numbers(model.name, model.call(texts), labels)
    except FairlabError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error_text(error)}"
        raise ModelFailed(f"{model.name} fails ({said}); fix the model", said) from error


def _shaped(model: AnyClassifier, found: Array, n: int, labels: Sequence[str], kind: Kind) -> Array:
    outputs = found.reshape(len(found), -1) if found.ndim else found.reshape(1, 1)
    if len(outputs) != n:
        raise FairlabError(f"{model.name} gives {len(outputs)} outputs for {n} texts; return one row per text")
    if outputs.shape[1] == 1 and len(labels) == 2 and kind == "one":
        outputs = np.concatenate([1 - outputs, outputs], axis=1)
    wanted = 1 if kind == "score" else len(labels)
    if outputs.shape[1] != wanted:
        scores = ", or labels=[] if they are scores" if outputs.shape[1] == 1 and kind == "one" else ""
        raise FairlabError(
            f"{model.name} gives {outputs.shape[1]} outputs per text, and there are {wanted} labels "
            f"({listed_names(labels, 'a score')}); give labels=[...] in the order of its outputs"
            f"{scores}"
        )
    return outputs


def _refuse_other_outputs(model: AnyClassifier, outputs: Array, kind: Kind) -> None:
    """Raise an error if outputs that should be probabilities are none."""
    if kind == "score" or not len(outputs):
        return
    if outputs.min() < -1e-6 or outputs.max() > 1 + 1e-6:
        kinds, remedy = "logits", "apply softmax (one label per text) or sigmoid (several)"
        if outputs.min() >= 0 and outputs.max() <= PERCENT:
            kinds, remedy = "logits or percentages", f"{remedy} to logits, or divide percentages by {PERCENT}"
        raise FairlabError(
            f"{model.name} gives values from {outputs.min():.3g} to {outputs.max():.3g}, which are {kinds}, not "
            f"probabilities; {remedy}"
        )
    sums = outputs.sum(axis=1)
    if kind == "one" and (off := np.abs(sums - 1)).max() > OFF:
        raise FairlabError(
            f"the probabilities of {model.name} sum to {sums[int(off.argmax())]:.3g}, not to 1; normalise them, or "
            "give several labels per text, as lists or as one column each"
        )
