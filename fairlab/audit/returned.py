"""Conversion of the return values of a user's function (arrays, labels, tables, mappings by label) to numbers.

Shapes: N is the number of texts, L the number of labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlab.text.labels import label_meant
from fairlab.text.naming import listed_names
from fairlab.types import FairlabError

Array = NDArray[np.float64]


def as_numbers(name: str, returned: Any, labels: Sequence[str]) -> Array:
    """Convert return values to probabilities or scores (N, L) or (N,), with columns in the order of the labels.

    Args:
        name: Name of the model, for messages.
        returned: Array or nested lists of numbers; labels, which get a probability of 1; a DataFrame with a column per
            label, or a mapping from label to column; a mapping from label to probability per text; or the output of a
            transformers pipeline with ``top_k=None``, a list of ``{"label": ..., "score": ...}`` per text.
        labels: Names of the labels.

    Raises:
        FairlabError: A label is unknown or missing, or the return value has another form.
    """
    if returned is None:
        raise FairlabError(f"{name} returns None; return one row of numbers per text")
    if hasattr(returned, "detach"):  # a tensor of torch
        returned = returned.detach().cpu().double().numpy()
    if hasattr(returned, "__next__"):  # a generator
        returned = list(returned)
    if isinstance(returned, Mapping):
        return np.stack([np.asarray(one, dtype=np.float64) for one in _by_label(name, returned, labels)], axis=-1)
    if hasattr(returned, "iloc") and getattr(returned, "ndim", 1) > 1:
        known = {label_meant(column, labels): column for column in returned.columns}
        if labels and set(labels) <= set(known):
            returned = returned[[known[label] for label in labels]]
        return np.asarray(returned, dtype=np.float64)
    found = [returned] if isinstance(returned, str) or not hasattr(returned, "__len__") else list(returned)
    first = found[0] if found else None
    if isinstance(first, str):
        return np.stack([_of_label(name, str(one), labels) for one in found])
    if isinstance(first, Mapping) or (isinstance(first, list) and first and isinstance(first[0], Mapping)):
        return np.array([_of_mapping(name, one, labels) for one in found])
    try:
        return np.asarray(found if np.ndim(returned) else returned, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FairlabError(
            f"{name} returns a {type(returned).__name__} of {type(first).__name__}; return a row of numbers per text"
        ) from error


def _of_label(name: str, label: str, labels: Sequence[str]) -> Array:
    meant = label_meant(label, labels)
    if meant is None:
        raise FairlabError(
            f"{name} returns the label '{listed_names([label])}', but the data has {listed_names(labels)}; give "
            "labels=[...]"
        )
    return np.eye(len(labels))[list(labels).index(meant)]


def _by_label(name: str, returned: Mapping[Any, Any], labels: Sequence[str]) -> list[Any]:
    """Return the values of a mapping in the order of the labels, and raise if a label is missing or unknown."""
    known = {label_meant(label, labels): values for label, values in returned.items()}
    if absent := [label for label in labels if label not in known]:
        raise FairlabError(f"{name} returns no probability for '{absent[0]}'; return one for each label")
    return [known[label] for label in labels]


def _of_mapping(name: str, one: Any, labels: Sequence[str]) -> list[float]:
    """Return the probabilities of one text in the order of the labels."""
    scores = one if isinstance(one, Mapping) else {part["label"]: part["score"] for part in one}
    if set(scores) == {"label", "score"}:
        raise FairlabError(
            f"{name} returns only the likeliest label; return the probability of each (top_k=None of a transformers "
            "pipeline)"
        )
    return [float(score) for score in _by_label(name, scores, labels)]
