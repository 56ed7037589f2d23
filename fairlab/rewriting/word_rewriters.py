"""Rewriters of one person in a text, given a word for the person and a target attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fairlab.protocols import Rewriter
from fairlab.rewriting.by_llm.llm_rewriter import NotRewritten


@dataclass(frozen=True)
class Selection:
    """Selected word and target attribute for the person that it refers to, an element of K in algorithm 1.

    Attributes:
        start: Offset of the word's first character.
        word: Word as written in the text.
        axis: Axis of the two attributes, such as ``gender``.
        source: Attribute that the word marks.
        target: Another attribute of the axis; on the axis gender, ``neutral`` corresponds to PANDA's non-binary.

    Source: Qian et al. 2022, "Perturbation Augmentation for Fairer NLP", section 2.
    """

    start: int
    word: str
    axis: str
    source: str
    target: str


class WordRewriter(Rewriter, Protocol):
    """Interface of the rewriters used by perturbation."""

    @property
    def provenance(self) -> dict[str, Any]:
        """Return the columns that describe how a row was produced, such as ``rewriter`` and a seed or a model."""
        ...

    def rewrite_words(self, texts: Sequence[str], selections: Sequence[Selection]) -> list[str | NotRewritten]:
        """Return every text with the person meant by its selected word rewritten, or the reason for failure."""
        ...


class ByAxis:
    """Combination of word rewriters, one per axis."""

    def __init__(self, rewriters: Mapping[str, WordRewriter]) -> None:
        self.rewriters = rewriters

    @property
    def provenance(self) -> dict[str, Any]:
        """Return the provenance of the first axis's rewriter; the rewriters of all axes are of the same class."""
        return next(iter(self.rewriters.values())).provenance

    def rewrite_words(self, texts: Sequence[str], selections: Sequence[Selection]) -> list[str | NotRewritten]:
        """Return every text rewritten by the rewriter of its selection's axis, in order."""
        made: dict[int, str | NotRewritten] = {}
        for axis, rewriter in self.rewriters.items():
            places = [k for k, selection in enumerate(selections) if selection.axis == axis]
            if places:
                found = rewriter.rewrite_words([texts[k] for k in places], [selections[k] for k in places])
                made |= dict(zip(places, found, strict=True))
        return [made[k] for k in range(len(texts))]
