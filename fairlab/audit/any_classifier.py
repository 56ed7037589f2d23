"""Common representation of all classifiers: a function from texts to probabilities or scores.

Shapes: N is the number of texts, L the number of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["one", "several", "score"]
Fields = Sequence[str]


@dataclass(frozen=True)
class AnyClassifier:
    """Classifier of any kind, with its labels and decision rule.

    Attributes:
        name: Name of the classifier in the record.
        call: Function from texts (each a list of fields) to outputs (N, L), or (N,) for a single output.
        labels: Names of the labels, in the order of the outputs; empty if they are unknown.
        kind: ``one`` label per text, ``several`` independent labels, a ``score`` without labels, or None if the data
            determines the kind.
        thresholds: Pairs of a label and the minimum probability for predicting it; labels that are not listed use the
            threshold of the audit.
        column: Column of the data whose value is passed to the model as the last field; empty if the model reads only
            texts.
        by_chance: Whether each label is sampled with the output as its probability and the text's hash as the seed.
        weights: Folder or hub name from which a transformers classifier was loaded, and from which it can be trained
            further; empty for other models.
        at_once: Number of texts per call, or 0 for all in one call.
    """

    name: str
    call: Callable[[Sequence[Fields]], Any]
    labels: tuple[str, ...] = ()
    kind: Kind | None = None
    thresholds: tuple[tuple[str, float], ...] = ()
    column: str = ""
    by_chance: bool = False
    weights: str = ""
    at_once: int = 0
