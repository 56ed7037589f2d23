"""Common form of all classifiers: a function from texts to probabilities or scores.

Shape letters: N texts, L labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["one", "several", "score"]
Fields = Sequence[str]


@dataclass(frozen=True)
class AnyClassifier:
    """Classifier with its labels.

    Attributes:
        name: Name for the record.
        call: Function from texts (each a list of fields) to outputs (N, L), or (N,) for one output.
        labels: Names of the labels, in the order of the outputs; empty if they are unknown.
        kind: ``one`` label per text, ``several`` independent labels, a ``score`` without labels, or None if the data
            decides.
        thresholds: Probability from which a label is predicted, by label; 0.5 for labels that are not listed.
        column: Column of the data whose value the model reads as a last field; empty if it reads only texts.
        by_chance: Whether the outputs are chances of giving a label; a draw seeded by the text's hash then decides.
        weights: Folder or hub name that a transformers classifier was loaded from, from which it can be trained
            further; empty for other models.
    """

    name: str
    call: Callable[[Sequence[Fields]], Any]
    labels: tuple[str, ...] = ()
    kind: Kind | None = None
    thresholds: tuple[tuple[str, float], ...] = ()
    column: str = ""
    by_chance: bool = False
    weights: str = ""
