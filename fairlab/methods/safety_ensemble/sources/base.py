"""Base class of source classifiers, which compute named scores for texts.

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
LONGEST = 20_000  # maximum number of scored characters of a text; a classifier reads far fewer
LISTS = Path(__file__).parent / "lists"  # word lists that come with fairlab


class Source(ABC):
    """Classifier whose scores the ensemble learns from.

    Attributes:
        title: Readable name of the source.
        limits: One or two sentences about the limitations of the scores.
        citation: BibTeX entry of the publication, or a sentence that credits the authors.
        paths: Settings that name files or folders.
        copied: Settings among ``paths`` whose files are small and are copied into an exported ensemble.
        hub: Setting that names a folder or a model on the hub; None if there is no such setting.
        built_in: Values of ``paths`` and ``hub`` that name files or models included in fairlab.
        secret: Settings, such as an address, that must come from the command and are never read from an exported
            ensemble. Otherwise the author of the folder could have a key sent to any address.
        asks_of_turned: Whether the source scores rewrites to reference groups. If not, the score of the original text
            is used, for example because scores cost money or exist only for certain texts.
        own_limit: Whether the source sets its own time limit per request, for example because it queries a server.
        name: Name of the source, unique within an ensemble.
        version: Version of the weights or of the provider of the scores; scores of different versions are never mixed.
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
    asks_of_turned: bool = True
    own_limit: bool = False
    name: str
    version: str
    outputs: tuple[str, ...]

    @classmethod
    def settings(cls) -> set[str]:
        """Return the names of the constructor's arguments."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return {name for name, one in inspect.signature(cls).parameters.items() if one.kind in kinds}

    def covers(self, texts: Sequence[str]) -> bool:
        """Return whether the source may have a score for any of the texts.

        False means that the source certainly has no score.
        """
        return True

    @abstractmethod
    def score(self, texts: Sequence[str]) -> Array:
        """Return the scores (N, F) of the texts, with a row of NaN for texts without scores."""
