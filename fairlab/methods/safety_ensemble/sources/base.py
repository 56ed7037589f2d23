"""Base of source classifiers: texts to named scores, whatever makes them.

Shape letters: N texts, F scores of a source.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LONGEST = 20_000  # characters of a text that are scored; a classifier reads far fewer
LISTS = Path(__file__).parent / "lists"  # word lists that come with fairlab


class Source(ABC):
    """Classifier whose scores the ensemble learns from.

    Attributes:
        title: Name of the source for people.
        limits: What its scores do not show, in one or two sentences.
        citation: BibTeX entry of its publication, or a sentence that says whose work it is.
        paths: Settings that name files or folders.
        copied: Those of ``paths`` whose files are small, and are copied into an exported ensemble.
        hub: Setting that names a folder, or else a model of the hub; None if there is no such setting.
        built_in: Values of ``paths`` and ``hub`` that name what comes with fairlab.
        secret: Settings that are never read from an exported ensemble, such as an address: the folder's author could
            direct a key to it. The command gives them.
        name: Name of the source, unique within an ensemble.
        version: Version of its weights, or of whoever makes the scores; scores of two versions are never mixed.
        outputs: Names of the F scores.
    """

    title: str
    limits: str
    citation: str
    paths: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    hub: str | None = None
    built_in: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    name: str
    version: str
    outputs: tuple[str, ...]

    @classmethod
    def settings(cls) -> set[str]:
        """Return the names of the arguments that an instance is made with."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return {name for name, one in inspect.signature(cls).parameters.items() if one.kind in kinds}

    @abstractmethod
    def score(self, texts: Sequence[str]) -> Array:
        """Return scores (N, F); a row of nan for a text that has none."""
