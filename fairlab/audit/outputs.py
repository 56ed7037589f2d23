"""Validated outputs of a classifier, and the predictions that follow from them.

Shapes: N is the number of texts, L the number of labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairlab.audit.any_classifier import AnyClassifier, Fields, Kind
from fairlab.audit.returned import as_numbers
from fairlab.text.fields import SEPARATOR
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError

Array = NDArray[np.float64]
OFF = 0.01  # largest accepted distance of a sum of probabilities from 1
PERCENT = 100
EVEN = 0.5  # probability from which a label is predicted


def outputs_of(model: AnyClassifier, texts: Sequence[Fields], kind: Kind, labels: Sequence[str]) -> Array:
    """Return the model's probabilities (N, L) or scores (N, 1).

    Each distinct text is classified once. A single probability per text belongs to the second of two labels.

    Raises:
        FairlabError: The model fails on a text, or does not return probabilities.
    """
    distinct = list(dict.fromkeys(tuple(fields) for fields in texts))
    found = _checked(
        model, _shaped(model, _called(model, distinct, labels), len(distinct), labels, kind), distinct, kind
    )
    place = {fields: k for k, fields in enumerate(distinct)}
    return found[[place[tuple(fields)] for fields in texts]]


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

    Args:
        model: Classifier.
        texts: Fields of each text, whose hashes are the seeds of sampling.
        outputs: Outputs, as for :func:`predicted`.
        kind: Kind of the outputs.
        cuts: Minimum probability for predicting each label, (L,).
    """
    if not model.by_chance:
        return predicted(outputs, kind, cuts)
    draws = np.array([[_draw(fields, place) for place in range(outputs.shape[1])] for fields in texts])
    return (outputs > draws).astype(np.float64) if kind == "several" else (outputs > draws)[:, 1].astype(np.float64)


def _draw(fields: Fields, place: int) -> float:
    """Return a pseudo-random number in [0, 1) that depends only on the text and the label's position."""
    return int.from_bytes(hashlib.sha256(f"{place}:{SEPARATOR.join(fields)}".encode()).digest()[:6]) / 2**48


def cuts_of(model: AnyClassifier, labels: Sequence[str], threshold: float) -> Array:
    """Return the minimum probability for predicting each label: the model's own threshold, else the given value."""
    own = dict(model.thresholds)
    return np.array([own.get(label, threshold) for label in labels])


def _called(model: AnyClassifier, texts: Sequence[Fields], labels: Sequence[str]) -> Array:
    try:
        return as_numbers(model.name, model.call(texts), labels)
    except FairlabError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        for fields in texts:
            try:
                model.call([fields])
            except Exception:
                shown = " | ".join(fields)[:80]
                raise FairlabError(
                    f"{model.name} fails on the text '{shown}' ({said}); fix the model, or remove the text"
                ) from error
        raise FairlabError(f"{model.name} fails ({said}) on several texts together; fix the model") from error


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


def _checked(model: AnyClassifier, outputs: Array, texts: Sequence[Fields], kind: Kind) -> Array:
    bad = ~np.isfinite(outputs).all(axis=1)
    if bad.any():
        shown = " | ".join(texts[int(bad.argmax())])[:80]
        raise FairlabError(f"{model.name} returns no number for the text '{shown}'; fix the model, or remove the text")
    if kind == "score":
        return outputs
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
    return outputs
